//! The whole page: policy and style, what was run, the table of verdicts, a section for each case.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

use super::case::{self, HtmlCase, badge, fact};
use super::gather::gather;
use super::markup::Markup;
use crate::counted::counted;
use crate::record::{Line, Observation, Run, RunState, Verdict};
use crate::report::baseline::show_baseline;
use crate::report::console::millis;
use crate::report::frame::cut;
use crate::report::overview::{CaseGlance, RunGlance, incomplete};
use crate::report::printer::Printer;
use crate::report::result::RunTotals;

const STYLE: &str = include_str!("style.css");

/// How many bytes of frames one page holds.
const FRAMES_BYTES_MAX: usize = 48 * 1024 * 1024;

/// So many cases are shown opened, where they did not pass or where the run has no more.
const OPENED_MAX: usize = 12;

/// Of a run for which no more cases than this were asked, all of them are shown opened.
const FEW: usize = 3;

/// How much of a reason stands in the table, in characters.
const REASON_CHARS_MAX: usize = 300;

/// What a page is about, beside its cases.
#[derive(Debug)]
pub struct HtmlOf<'a> {
    /// The run.
    pub glance: &'a RunGlance,
    /// How many of each verdict among the requested cases, as the run counted them.
    pub totals: RunTotals,
    /// The controls that nobody named, which are not counted among them.
    pub uncounted: &'a [String],
    /// What `harness run` exited with, as far as it follows from the evidence, in words.
    pub exit: &'a str,
    /// SHA-256 of `SHA256SUMS`, where it is there.
    pub seal: Option<&'a str>,
    /// The run as a word of a command line.
    pub word: &'a str,
}

/// The cases of a page, one after the other.
#[derive(Debug)]
pub struct HtmlCases<'a> {
    markup: &'a mut Markup,
    cases: usize,
    opened: usize,
    /// The cases that are opened although they are no news.
    few: Vec<String>,
    frames_bytes: usize,
}

impl HtmlCases<'_> {
    /// Adds a case with its record, in the order of the table. `observation` gives what read-back saw under a label, or why that cannot be
    /// read.
    pub fn add(
        &mut self,
        of: &HtmlCase<'_>,
        lines: impl Iterator<Item = Line>,
        observation: impl FnMut(&str, &str) -> Result<Observation, String>,
    ) {
        let gathered = gather(lines, observation, &mut self.frames_bytes);
        let is_open = self.opened < OPENED_MAX
            && of.about.is_none()
            && (self.few.contains(&of.glance.case) || is_worth_a_look(of.glance));
        self.opened += usize::from(is_open);
        let id = if of.about.is_some() {
            "probe".to_owned()
        } else {
            self.cases += 1;
            case_id(self.cases)
        };
        case::write(self.markup, of, &gathered, &id, is_open);
    }
}

/// The page as a text. `write_cases` adds the cases.
pub fn html_page(of: &HtmlOf<'_>, write_cases: impl FnOnce(&mut HtmlCases<'_>)) -> String {
    let mut markup = Markup::default();
    markup.doctype();
    markup.element("html", &[("lang", "en")], |markup| {
        markup.element("head", &[], |markup| write_head(markup, &title(of)));
        markup.line_end();
        markup.element("body", &[], |markup| {
            markup.leaf("a", &[("class", "skip"), ("href", "#verdicts")], "Skip to the verdicts");
            markup.element("header", &[], |markup| write_about(markup, of));
            markup.line_end();
            markup.element("main", &[], |markup| {
                write_verdicts(markup, of);
                write_baseline(markup, of.glance);
                write_cases(&mut HtmlCases {
                    markup,
                    cases: 0,
                    opened: 0,
                    few: few(of.glance),
                    frames_bytes: FRAMES_BYTES_MAX,
                });
            });
            markup.element("footer", &[], |markup| write_foot(markup, of));
        });
    });
    markup.line_end();
    markup.into_text()
}

/// A policy that permits nothing but the one style sheet, by its digest: no script, no network, no frame, no form.
fn policy() -> String {
    let digest = BASE64.encode(Sha256::digest(STYLE.as_bytes()));
    format!("default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
}

fn write_head(markup: &mut Markup, title: &str) {
    markup.void("meta", &[("charset", "utf-8")]);
    let policy = policy();
    markup.void(
        "meta",
        &[("http-equiv", "Content-Security-Policy"), ("content", &policy)],
    );
    let viewport = "width=device-width, initial-scale=1";
    markup.void("meta", &[("name", "viewport"), ("content", viewport)]);
    markup.void("meta", &[("name", "color-scheme"), ("content", "light dark")]);
    markup.void("meta", &[("name", "referrer"), ("content", "no-referrer")]);
    markup.words("title", &[], title);
    markup.style_sheet(STYLE);
}

fn title(of: &HtmlOf<'_>) -> String {
    let run = of.glance.run.as_ref();
    let target = run.map_or("a run that cannot be read", |run| run.target.name.as_str());
    format!("{}: {target}", result(of))
}

/// What the requested cases came to: how many, which word, and how that looks.
fn totals(of: &HtmlOf<'_>) -> Vec<(usize, &'static str, &'static str)> {
    let RunTotals {
        pass,
        fail,
        unguarded,
        unsupported,
        inconclusive,
    } = of.totals;
    let words = [
        (fail, "failed", "bad"),
        (unguarded, "unguarded", "odd"),
        (inconclusive, "inconclusive", "odd"),
        (pass, "passed", "good"),
        (unsupported, "unsupported", "dim"),
    ];
    words.into_iter().filter(|(count, ..)| *count > 0).collect()
}

fn result(of: &HtmlOf<'_>) -> String {
    let totals = totals(of);
    if totals.is_empty() {
        return "nothing was judged".to_owned();
    }
    let parts: Vec<String> = totals
        .iter()
        .map(|(count, word, _)| format!("{count} {word}"))
        .collect();
    parts.join(", ")
}

fn write_result(markup: &mut Markup, of: &HtmlOf<'_>) {
    markup.element("p", &[("class", "result")], |markup| {
        let totals = totals(of);
        if totals.is_empty() {
            markup.text("Nothing was judged");
        }
        for (index, (count, word, class)) in totals.iter().enumerate() {
            if index > 0 {
                markup.text(", ");
            }
            markup.leaf("span", &[("class", class)], &format!("{count} {word}"));
        }
    });
}

fn is_requested(glance: &RunGlance, case: &CaseGlance) -> bool {
    glance.run.as_ref().is_none_or(|run| run.requested.contains(&case.case))
}

/// The cases that were asked for, where they are few.
fn few(glance: &RunGlance) -> Vec<String> {
    let asked = glance.cases.iter().filter(|case| is_requested(glance, case));
    let asked: Vec<String> = asked.map(|case| case.case.clone()).collect();
    if asked.len() > FEW { Vec::new() } else { asked }
}

fn is_worth_a_look(glance: &CaseGlance) -> bool {
    match glance.verdict.as_ref().map(|summary| summary.verdict) {
        Some(Verdict::Fail | Verdict::Unguarded | Verdict::Inconclusive) => true,
        Some(Verdict::Pass | Verdict::Unsupported) => false,
        None => glance.record.is_some(),
    }
}

fn case_id(number: usize) -> String {
    format!("c{number}")
}

fn write_about(markup: &mut Markup, of: &HtmlOf<'_>) {
    let glance = of.glance;
    markup.leaf("p", &[("class", "kicker")], "harness report");
    let name = glance.run.as_ref().map_or("A run", |run| run.target.name.as_str());
    markup.leaf("h1", &[], name);
    write_result(markup, of);
    write_alerts(markup, glance);
    markup.element("dl", &[("class", "facts about")], |markup| {
        if let Some(run) = &glance.run {
            write_target(markup, run);
            write_when(markup, run);
            write_cases_asked(markup, run, of.uncounted);
        }
        fact(markup, "Exit code", of.exit);
        fact(markup, "Evidence", &glance.evidence);
        if let Some(seal) = of.seal {
            fact(markup, "Seal", &format!("SHA-256 of SHA256SUMS {seal}"));
        }
    });
}

/// What a reader must know before anything else: evidence that is not whole.
fn write_alerts(markup: &mut Markup, glance: &RunGlance) {
    let run = glance.run.as_ref();
    let mut alerts: Vec<(&str, String)> = Vec::new();
    if let Some(problem) = &glance.problem {
        alerts.push(("DAMAGED", format!("run.json: {problem}")));
    }
    if !glance.is_complete() {
        let state = run.map(|run| run.state);
        alerts.push(("INCOMPLETE", incomplete(glance.sealed, state).to_owned()));
    }
    if let Some(masked) = &glance.masked {
        alerts.push(("REDACTED", masked.clone()));
    }
    if let Some(nothing) = run.and_then(|run| run.nothing_run.as_ref()) {
        alerts.push((nothing.kind.word(), nothing.reason.clone()));
    }
    for (word, text) in alerts {
        markup.element("p", &[("class", "alert")], |markup| {
            markup.leaf("strong", &[], word);
            markup.text(" ");
            markup.leaf("span", &[], &text);
        });
    }
}

fn write_target(markup: &mut Markup, run: &Run) {
    fact(markup, "Target", &run.target.title());
    if let Some(defect) = &run.defect {
        fact(markup, "Planted defect", defect);
    }
    if let Some(server) = &run.server {
        let name = server.name.as_deref().unwrap_or("a server without a name");
        let version = server.version.as_deref().filter(|version| !version.is_empty());
        let version = version.map_or(String::new(), |version| format!(" {version}"));
        let text = format!("{name}{version}, MCP {}", server.protocol);
        fact(markup, "Says it is", &cut(&text, REASON_CHARS_MAX));
    }
    for artifact in &run.target.artifacts {
        let sha256 = artifact.sha256.as_deref().unwrap_or("could not be read");
        fact(markup, "Artifact", &format!("{} SHA-256 {sha256}", artifact.path));
    }
}

fn write_when(markup: &mut Markup, run: &Run) {
    let ended = run.ended_at.as_ref();
    let until = ended.map_or_else(|| ", not ended".to_owned(), |end| format!(" to {end}"));
    let state = match run.state {
        RunState::Interrupted => ", interrupted",
        RunState::Running | RunState::Finished => "",
    };
    fact(markup, "When", &format!("{}{until}{state}", run.started_at));
    let host = &run.host;
    let kernel = host.kernel.as_deref().unwrap_or_default();
    fact(markup, "Where", &format!("{} {} {kernel}", host.os, host.arch));
    let harness = &run.harness;
    let digest = harness.sha256.as_deref().unwrap_or("not known");
    let text = format!("{}, judge {}, SHA-256 {digest}", harness.version, harness.judge);
    fact(markup, "Harness", &text);
    fact(
        markup,
        "Seed",
        &format!("{}, nonce {}", run.naming.seed, run.naming.nonce),
    );
}

/// How many cases there are, so that the numbers of the heading add up.
fn write_cases_asked(markup: &mut Markup, run: &Run, uncounted: &[String]) {
    let uncounted = uncounted.iter().filter(|id| run.requested.contains(id)).count();
    let controls = match uncounted {
        0 => String::new(),
        1 => ", one of them a control, which is not counted above".to_owned(),
        count => format!(", {count} of them controls, which are not counted above"),
    };
    let catalogue = counted(run.catalogue.len(), "case", "cases");
    let asked = run.requested.len();
    fact(
        markup,
        "Cases",
        &format!("{asked} asked for{controls}; the catalogue has {catalogue}"),
    );
}

fn write_verdicts(markup: &mut Markup, of: &HtmlOf<'_>) {
    let glance = of.glance;
    let attributes = [
        ("class", "verdicts"),
        ("id", "verdicts"),
        ("aria-labelledby", "verdicts-heading"),
    ];
    markup.element("section", &attributes, |markup| {
        markup.leaf("h2", &[("id", "verdicts-heading")], "Verdicts");
        if glance.cases.is_empty() {
            return markup.leaf("p", &[], "No case was begun.");
        }
        markup.element("table", &[], |markup| {
            markup.element("thead", &[], |markup| {
                markup.element("tr", &[], |markup| {
                    for name in ["Verdict", "Case"] {
                        markup.leaf("th", &[("scope", "col")], name);
                    }
                    markup.leaf("th", &[("scope", "col"), ("class", "number time")], "Time");
                });
            });
            markup.element("tbody", &[], |markup| {
                for (index, case) in glance.cases.iter().enumerate() {
                    write_verdict(markup, of, case, &case_id(index + 1));
                }
            });
        });
    });
    markup.line_end();
}

fn write_verdict(markup: &mut Markup, of: &HtmlOf<'_>, case: &CaseGlance, id: &str) {
    markup.element("tr", &[], |markup| {
        markup.element("td", &[], |markup| badge(markup, case));
        markup.element("th", &[("scope", "row")], |markup| {
            let href = format!("#{id}");
            markup.leaf("a", &[("href", &href)], &case.case);
            if let Some(number) = case.number {
                markup.leaf("span", &[("class", "aside")], &format!(" {number:02}"));
            }
            if !is_requested(of.glance, case) {
                markup.leaf("span", &[("class", "aside")], " run as a control");
            } else if of.uncounted.contains(&case.case) {
                markup.leaf("span", &[("class", "aside")], " a control, not counted above");
            }
            if let Some(title) = &case.title {
                markup.prose("p", &[("class", "case-title")], title);
            }
            let reason = case.verdict.as_ref().and_then(|summary| summary.reason.as_ref());
            if let Some(reason) = reason {
                markup.prose("p", &[("class", "say")], &cut(reason, REASON_CHARS_MAX));
            }
        });
        let time = case.verdict.as_ref();
        let time = time.map_or_else(|| "–".to_owned(), |summary| format!("{} ms", millis(summary.micros)));
        markup.leaf("td", &[("class", "number time")], &time);
    });
}

/// Known failures and expected verdicts, in the words of the console.
fn write_baseline(markup: &mut Markup, glance: &RunGlance) {
    let Some(baseline) = &glance.baseline else { return };
    let text = Printer::captured(|printer| show_baseline(printer, baseline));
    markup.element("section", &[("aria-labelledby", "baseline-heading")], |markup| {
        markup.leaf("h2", &[("id", "baseline-heading")], "Beside its baseline");
        markup.element("pre", &[], |markup| markup.lines(text.trim()));
    });
}

fn write_foot(markup: &mut Markup, of: &HtmlOf<'_>) {
    let text = "This page repeats what the evidence says, and checks nothing. That the evidence is whole, and that its counts and \
                verdicts follow from it, is shown by:";
    markup.leaf("p", &[], text);
    markup.element("dl", &[("class", "commands")], |markup| {
        command(markup, "check it", &format!("harness verify {}", of.word));
    });
    let text = "Neither shows that the run took place. Run the cases yourself for that. What is opened here is printed, what is \
                closed is not.";
    markup.leaf("p", &[("class", "aside")], text);
}

/// A command to copy.
pub(super) fn command(markup: &mut Markup, what: &str, line: &str) {
    markup.element("div", &[], |markup| {
        markup.leaf("dt", &[], what);
        markup.element("dd", &[], |markup| markup.leaf("code", &[], line));
    });
}
