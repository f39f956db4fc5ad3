//! One case of a page: its verdict in a sentence, and behind it the picture, checks, counts, events and commands.

use super::checks;
use super::counts;
use super::gather::Gathered;
use super::list;
use super::markup::Markup;
use super::page::command;
use super::picture::{self, Named};
use crate::case::{Case, Check};
use crate::counted::counted;
use crate::record::CaseVerdict;
use crate::report::overview::{CaseGlance, case_word};
use crate::report::printer::Style;
use crate::report::story::Findings;

/// One case, or the handshake, as far as the evidence has it.
#[derive(Debug)]
pub struct HtmlCase<'a> {
    /// In short.
    pub glance: &'a CaseGlance,
    /// As the evidence defines it, where that can be read.
    pub case: Option<&'a Case>,
    /// What was concluded, where it was.
    pub verdict: Option<&'a CaseVerdict>,
    /// What it is, where it is no case.
    pub about: Option<&'a str>,
    /// The command that shows it.
    pub show: &'a str,
    /// How to look at it again: what it shows, and the command.
    pub again: &'a [(&'static str, String)],
}

/// Writes the section of a case. `id` is its name in the page.
pub(super) fn write(markup: &mut Markup, of: &HtmlCase<'_>, gathered: &Gathered, id: &str, is_open: bool) {
    let heading = format!("{id}-heading");
    markup.element(
        "section",
        &[("class", "case"), ("aria-labelledby", &heading)],
        |markup| {
            write_head(markup, of, &heading);
            let says = says(of, gathered);
            markup.prose("p", &[("class", "sentence")], &says);
            let mut attributes = vec![("class", "all")];
            if is_open {
                attributes.push(("open", ""));
            }
            markup.element("details", &attributes, |markup| {
                let summary = format!("Picture, checks, counts and events of {}", of.glance.case);
                markup.leaf("summary", &[], &summary);
                // A link to a place inside opens what it is in.
                markup.element("div", &[("id", id), ("class", "anchor")], |_| {});
                write_body(markup, of, gathered, id, &says);
            });
        },
    );
    markup.line_end();
}

fn write_head(markup: &mut Markup, of: &HtmlCase<'_>, heading: &str) {
    let glance = of.glance;
    markup.element("div", &[("class", "case-head")], |markup| {
        if of.about.is_none() {
            badge(markup, glance);
        }
        markup.leaf("h2", &[("id", heading)], &glance.case);
        let number = glance.number.map(|number| format!("{number:02}"));
        let parts: Vec<&str> = glance.family.as_deref().into_iter().chain(number.as_deref()).collect();
        markup.leaf("p", &[("class", "aside")], &parts.join(" · "));
    });
    if let Some(title) = glance.title.as_deref().or(of.about) {
        markup.prose("p", &[("class", "case-title")], title);
    }
}

/// The word of a case, with a sign, so that colour says nothing alone.
pub(super) fn badge(markup: &mut Markup, glance: &CaseGlance) {
    let (word, style) = case_word(glance);
    let (sign, class) = match style {
        Style::Good => ("✓", "badge good"),
        Style::Bad => ("✗", "badge bad"),
        Style::Odd => ("!", "badge odd"),
        Style::Dim | Style::Plain | Style::Bold => ("–", "badge dim"),
    };
    markup.element("span", &[("class", class)], |markup| {
        markup.leaf("span", &[("aria-hidden", "true")], sign);
        markup.text(&format!(" {word}"));
    });
}

fn findings<'a>(of: &HtmlCase<'a>, gathered: &'a Gathered) -> Option<Findings<'a>> {
    Some(Findings {
        case: of.case,
        contract: gathered.plan.as_ref().map(|plan| &plan.contract),
        spoken: gathered.spoken,
        verdict: of.verdict?,
    })
}

fn says(of: &HtmlCase<'_>, gathered: &Gathered) -> String {
    if let Some(findings) = findings(of, gathered) {
        let sentence = findings.sentence();
        let control = findings
            .control()
            .map_or(String::new(), |control| format!(" {control}"));
        return capital(&format!("{sentence}{control}"));
    }
    let glance = of.glance;
    if of.about.is_some() {
        return "Which protocol era and revision the server speaks, decided before any case.".to_owned();
    }
    if let Some(problem) = &glance.problem {
        return format!("Its record cannot be read: {problem}");
    }
    if let Some(summary) = &glance.verdict {
        let reason = summary.reason.as_deref().unwrap_or("no reason is given");
        return format!(
            "{} ({reason}). Its verdict.json is not there, or cannot be read.",
            capital(summary.verdict.name())
        );
    }
    match &glance.record {
        None => "The run did not come to it.".to_owned(),
        Some(record) => {
            let step = record.last_step.as_deref().unwrap_or("the first step");
            format!("There is no verdict in the evidence: the run was cut off. The record ends in: {step}")
        }
    }
}

fn write_body(markup: &mut Markup, of: &HtmlCase<'_>, gathered: &Gathered, id: &str, says: &str) {
    if let Some(case) = of.case {
        markup.element("dl", &[("class", "facts")], |markup| {
            fact_in_prose(markup, "Proves", &case.proves);
            fact_in_prose(markup, "Matters", &case.matters);
        });
    }
    if !gathered.scene.marks.is_empty() {
        write_picture(markup, of, gathered, id, says);
    }
    if gathered.is_begun
        && let Some(verdict) = of.verdict
    {
        let contract = gathered.plan.as_ref().map(|plan| &plan.contract);
        let whose = |check: &Check| contract?.whose(check, gathered.spoken);
        checks::write(markup, of.case, &whose, verdict);
    }
    counts::write(markup, &gathered.observations, of.case, of.verdict, id);
    write_remarks(markup, of);
    if !gathered.items.is_empty() {
        markup.leaf("h3", &[], "Step by step");
        if !gathered.has_ended && of.about.is_none() {
            let text = "The record ends without saying how the case ended.";
            markup.leaf("p", &[("class", "odd")], text);
        }
        markup.element("details", &[("class", "list")], |markup| {
            let entries = counted(gathered.items.len() + gathered.left_out, "line", "lines");
            let frames = counted(gathered.frames, "frame", "frames");
            markup.leaf("summary", &[], &format!("{entries}, with {frames} to open"));
            list::write(markup, gathered, id, of.show);
        });
    }
    markup.leaf("h3", &[], "To look again");
    markup.element("dl", &[("class", "commands")], |markup| {
        for (what, line) in of.again {
            command(markup, what, line);
        }
    });
}

fn write_picture(markup: &mut Markup, of: &HtmlCase<'_>, gathered: &Gathered, id: &str, says: &str) {
    markup.leaf("h3", &[], "What happened");
    let name = of.glance.case.as_str();
    let title = format!("Sequence of {name}");
    let description = format!("{says} The list “Step by step” below says in order everything that is drawn.");
    let label = format!("Picture of {name}");
    let hint = "Wider than this screen: the store, and what was counted in it, is at the right edge. Scroll the picture sideways, \
                or turn the device.";
    let class = if picture::is_wide(&gathered.scene) {
        "aside sideways wide"
    } else {
        "aside sideways"
    };
    markup.leaf("p", &[("class", class)], hint);
    let attributes = [
        ("class", "scroll"),
        ("tabindex", "0"),
        ("role", "group"),
        ("aria-label", label.as_str()),
    ];
    markup.element("div", &attributes, |markup| {
        let named = Named {
            id,
            title: &title,
            description: &description,
        };
        picture::draw(markup, &gathered.scene, &named);
    });
    let text = "Time runs down. → and ← are frames, [N] in the list; a broken arrow never arrived; ⊗ is a kill, ⊤ an end; \
                flags say what read-back counted.";
    markup.leaf("p", &[("class", "aside legend")], text);
}

fn write_remarks(markup: &mut Markup, of: &HtmlCase<'_>) {
    let Some(verdict) = of.verdict.filter(|it| !(it.warnings.is_empty() && it.notes.is_empty())) else {
        return;
    };
    markup.leaf("h3", &[], "Beside");
    markup.element("ul", &[("class", "remarks")], |markup| {
        let warnings = verdict.warnings.iter().map(|text| ("label odd", "warning", text));
        let notes = verdict.notes.iter().map(|text| ("label", "note", text));
        for (class, label, text) in warnings.chain(notes) {
            markup.element("li", &[], |markup| {
                markup.leaf("span", &[("class", class)], label);
                markup.text(" ");
                markup.prose("span", &[], text);
            });
        }
    });
}

/// A term and what it is.
pub(super) fn fact(markup: &mut Markup, term: &str, text: &str) {
    markup.element("div", &[], |markup| {
        markup.leaf("dt", &[], term);
        markup.leaf("dd", &[], text);
    });
}

/// A term and what our own words say of it.
fn fact_in_prose(markup: &mut Markup, term: &str, text: &str) {
    markup.element("div", &[], |markup| {
        markup.leaf("dt", &[], term);
        markup.prose("dd", &[], text);
    });
}

/// The text with a capital letter at its beginning, where a name of a check does not begin it.
fn capital(text: &str) -> String {
    let is_name = text.split(' ').next().is_some_and(|word| word.contains('-'));
    let mut chars = text.chars();
    match chars.next().filter(|_| !is_name) {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::capital;

    #[test]
    fn a_sentence_begins_with_a_capital_and_a_name_stays_a_name() {
        assert_eq!(capital("all 3 checks hold"), "All 3 checks hold");
        assert_eq!(capital("one-effect is broken"), "one-effect is broken");
        assert_eq!(capital(""), "");
    }
}
