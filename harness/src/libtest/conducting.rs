//! The one run behind all trials, on a thread of its own: conducts it, and writes on the board what became of each case.

use std::path::PathBuf;
use std::sync::Arc;

use super::board::{Board, Told};
use crate::baseline::{self, EntryOutcome, EntryReport};
use crate::case::Case;
use crate::conduct::{Progress, Request, conduct};
use crate::drive::guard::Interrupts;
use crate::record::{ExpectedFailures, RunState, Verdict};
use crate::report::{
    CaseReport, ControlReport, Printer, RunReport, show_baseline, show_case, show_effect, show_end, show_server,
    show_target,
};

/// What a run is done with, and how its verdicts count.
pub(super) struct Conducting {
    pub(super) request: Request,
    pub(super) board: Arc<Board>,
    pub(super) allow_unguarded: bool,
}

/// Ends the waiting of the trials, also when the thread panics.
struct EndsBoard(Arc<Board>);

impl Drop for EndsBoard {
    fn drop(&mut self) {
        let text = "the harness itself failed, and came to no verdict; its own message stands on standard error";
        self.0.end(text.to_owned(), text);
    }
}

impl Conducting {
    /// Starts the run.
    pub(super) fn start(self) -> std::io::Result<std::thread::JoinHandle<()>> {
        std::thread::Builder::new()
            .name("conduct".to_owned())
            .spawn(move || self.run())
    }

    fn run(self) {
        let board = Arc::clone(&self.board);
        let _ends = EndsBoard(Arc::clone(&board));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return board.end(format!("start the runtime: {error}"), "the run did not begin"),
        };
        let evidence = self.request.evidence.clone();
        runtime.block_on(async {
            let mut interrupts = match Interrupts::listen() {
                Ok(interrupts) => interrupts,
                Err(error) => return board.end(format!("listen for signals: {error}"), "the run did not begin"),
            };
            let list = self.request.baseline.expected_failures.clone();
            let mut teller = Teller {
                board: &board,
                list: list.as_ref(),
                allow_unguarded: self.allow_unguarded,
                head: String::new(),
                controls: Vec::new(),
            };
            let mut tell = |progress: Progress<'_>| teller.hear(&progress);
            let conducted = Box::pin(conduct(self.request, &mut interrupts, &mut tell)).await;
            let head = teller.head;
            match conducted {
                Ok((report, state)) => say_why(&board, &head, &report, state),
                Err(error) => board.end(format!("{head}{error}\n{}", place(evidence)), &error.to_string()),
            }
        });
    }
}

/// Why the cases that are not on the board are not.
fn say_why(board: &Board, head: &str, report: &RunReport, state: RunState) {
    let short = match (&report.did_not_start, &report.blind, state) {
        (Some(reason), ..) => format!("the server did not start: {reason}"),
        (None, Some(reason), _) => format!("nothing was run: {reason}"),
        (None, None, RunState::Interrupted) => "the run was interrupted".to_owned(),
        (None, None, RunState::Running | RunState::Finished) => "the run did not come to this case".to_owned(),
    };
    let end = Printer::captured(|printer| show_end(printer, report));
    board.end(format!("{short}\n{head}{end}"), &short);
}

/// What a case lacks: one surface with what to do about it, several by name.
fn lacks(report: &CaseReport) -> String {
    match (report.missing.as_slice(), &report.verdict.reason) {
        ([] | [_], Some(reason)) => format!("unsupported: {reason}"),
        (names, _) => format!("unsupported: the target lacks {}", names.join(", ")),
    }
}

fn place(evidence: Option<PathBuf>) -> String {
    evidence.map_or(String::new(), |path| format!("evidence  {}", path.display()))
}

/// Turns what happens into what trials say.
struct Teller<'a> {
    board: &'a Board,
    list: Option<&'a ExpectedFailures>,
    allow_unguarded: bool,
    /// What stands above every case: target and server.
    head: String,
    /// What failed controls came to, by id: whatever is not believed because of one shows it.
    controls: Vec<(String, String)>,
}

impl Teller<'_> {
    fn hear(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Begins(report) => {
                self.head += &Printer::captured(|printer| show_target(printer, &report.target));
            }
            Progress::Probed(report) => self.head += &Printer::captured(|printer| show_server(printer, report)),
            Progress::EffectFound(selector) => {
                self.head += &Printer::captured(|printer| show_effect(printer, selector));
            }
            // What every case should be read with stands above each of them.
            Progress::Warning(warning) => {
                self.head.extend(["warning   ", warning, "\n"]);
            }
            Progress::Running(_) => {}
            Progress::CaseJudged(case, report, control) => self.judged(case, report, *control),
        }
    }

    fn judged(&mut self, case: &Case, report: &CaseReport, control: Option<&ControlReport>) {
        let shown = Printer::captured(|printer| show_case(printer, case, report, control));
        let failed_controls = self.controls.iter().filter(|(id, _)| case.controls.contains(id));
        let above: String = failed_controls.map(|(_, text)| text.as_str()).collect();
        let whole = || format!("{}{above}{shown}", self.head);
        let verdict = &report.verdict;
        let reason = || {
            let reason = verdict.reason.clone();
            reason.map_or_else(
                || verdict.verdict.name().to_owned(),
                |reason| format!("{}: {reason}", verdict.verdict.name()),
            )
        };
        let told = match (self.stale(report), report.counts_as) {
            (Some(stale), _) => Told::Failed(format!("{stale}{}", whole())),
            (None, None) => Told::Ignored(format!("fails, as the list of expected failures says; {}", reason())),
            (None, Some(Verdict::Pass)) => Told::Passed,
            (None, Some(Verdict::Unsupported)) => Told::Lacks(lacks(report)),
            (None, Some(Verdict::Unguarded)) if self.allow_unguarded => Told::Ignored(reason()),
            (None, Some(Verdict::Fail | Verdict::Unguarded | Verdict::Inconclusive)) => Told::Failed(whole()),
        };
        if control.is_some() && verdict.verdict != Verdict::Pass {
            self.controls.push((case.id.clone(), shown));
        }
        self.board.tell(&case.id, told);
    }

    /// What is wrong with the entries of this case, as the console says it; nothing where they are as they should be.
    fn stale(&self, report: &CaseReport) -> Option<String> {
        let list = self.list?;
        let mut of_case = baseline::of_list(list, [&report.verdict]);
        let is_wrong = |entry: &EntryReport| entry.outcome == EntryOutcome::Passes || entry.past_its_date;
        let case = &report.verdict.case;
        of_case
            .entries
            .retain(|entry| entry.entry.case == *case && is_wrong(entry));
        of_case.unexpected.clear();
        let is_empty = of_case.entries.is_empty();
        (!is_empty).then(|| Printer::captured(|printer| show_baseline(printer, &of_case)))
    }
}
