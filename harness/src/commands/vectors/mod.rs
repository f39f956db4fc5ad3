//! `harness vectors`: the built-in implementation, or any other one, against the vectors that all of them share.

mod built_in;
mod show;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::target_arguments::split_words;
use super::{ExitStatus, Format, refuse};
use crate::drive::guard::Run as GuardedRun;
use crate::report::Printer;
use crate::vectors::{Adapter, Difference, Set, Suite, Vector, compare};

/// How long an adapter is waited for, in seconds, where the user says nothing else.
const ANSWER_S: &str = "10";

/// Check the shared vectors: fingerprints, recovery, continuations
#[derive(Debug, Args)]
#[command(
    after_help = "An adapter is a program that reads one question as a line of JSON on standard input and writes one answer as a \
                  line of JSON on standard output, again and again; vectors/README.md says what is asked, and \
                  vectors/adapter.py is one.\n\n\
                  Exit codes: 0 every answer is as expected; 1 an answer differs; 2 usage; 3 nothing was checked, or the \
                  adapter could not be asked to the end."
)]
pub(super) struct VectorsArguments {
    /// Files to check against instead of the vectors that this binary carries
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The command of an implementation to check instead of the built-in one
    #[arg(long, value_name = "COMMAND")]
    adapter: Option<String>,
    /// Check only this set. May be repeated
    #[arg(long = "set", value_name = "SET", value_enum, value_delimiter = ',')]
    sets: Vec<SetWord>,
    /// No answer of an adapter is waited for longer than this many seconds
    #[arg(long, value_name = "SECONDS", default_value = ANSWER_S, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SetWord {
    /// Canonical form and fingerprint of a request
    Fingerprint,
    /// What a client may do after a lost reply
    Recovery,
    /// What a request that follows another one comes to
    Continuation,
}

impl SetWord {
    fn set(self) -> Set {
        match self {
            Self::Fingerprint => Set::Fingerprint,
            Self::Recovery => Set::Recovery,
            Self::Continuation => Set::Continuation,
        }
    }
}

/// What became of one vector.
#[derive(Debug, Clone, Serialize)]
struct Checked {
    set: &'static str,
    name: String,
    /// Whose policy it is, where the file says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
enum Outcome {
    Equal,
    Differs {
        differences: Vec<Difference>,
    },
    /// There was no answer to compare.
    Unanswered {
        problem: String,
        /// The last lines of the adapter's standard error.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        last_words: Vec<String>,
    },
    /// It was not asked: an earlier one was not answered, or there is nobody to ask.
    NotAsked,
}

/// What the check came to.
#[derive(Debug, Serialize)]
struct VectorsReport {
    implementation: String,
    vectors: Vec<Checked>,
    equal: usize,
    differ: usize,
    unanswered: usize,
    not_asked: usize,
    notes: Vec<String>,
    exit: u8,
}

/// What is checked, as resolved.
struct Request<'a> {
    suites: Vec<Suite>,
    /// Program and arguments.
    adapter: Option<Vec<String>>,
    arguments: &'a VectorsArguments,
}

impl VectorsArguments {
    /// Whether a program is started, so that a guard has to watch over it.
    pub(super) fn starts_a_program(&self) -> bool {
        self.adapter.is_some()
    }
}

/// Checks the vectors; `guarded` is there where an adapter was named.
pub(super) fn vectors(arguments: &VectorsArguments, guarded: Option<&GuardedRun>, printer: &mut Printer) -> ExitStatus {
    let request = match request(arguments) {
        Ok(request) => request,
        Err(message) => return refuse(arguments.format, &message, ExitStatus::Usage, printer),
    };
    let mut report = VectorsReport {
        implementation: arguments.adapter.clone().unwrap_or_else(|| built_in::NAME.to_owned()),
        vectors: Vec::new(),
        equal: 0,
        differ: 0,
        unanswered: 0,
        not_asked: 0,
        notes: Vec::new(),
        exit: 0,
    };
    show::begin(arguments.format, &report, printer);
    if let (Some(words), Some(guarded)) = (&request.adapter, guarded) {
        if let Err(message) = ask_adapter(&request, words, guarded, &mut report, printer) {
            printer.error(&message);
            return ExitStatus::Inconclusive;
        }
    } else {
        ask_built_in(&request, &mut report, printer);
    }
    let status = report.status();
    report.exit = status.code();
    show::end(arguments.format, &report, printer);
    status
}

fn request(arguments: &VectorsArguments) -> Result<Request<'_>, String> {
    let adapter = arguments.adapter.as_deref().map(|line| split_words("--adapter", line));
    let is_asked_for = |set: Set| arguments.sets.is_empty() || arguments.sets.iter().any(|word| word.set() == set);
    let suites = if arguments.files.is_empty() {
        Set::ALL
            .into_iter()
            .filter(|set| is_asked_for(*set))
            .map(Suite::embedded)
            .collect()
    } else {
        let mut suites = Vec::new();
        for file in &arguments.files {
            let suite = Suite::read(file).map_err(|error| error.to_string())?;
            if !is_asked_for(suite.set) {
                return Err(format!(
                    "{}: it is of the set {}, which --set leaves out",
                    file.display(),
                    suite.set
                ));
            }
            suites.push(suite);
        }
        suites
    };
    Ok(Request {
        suites,
        adapter: adapter.transpose()?,
        arguments,
    })
}

fn each(suites: &[Suite]) -> impl Iterator<Item = (&Suite, &Vector)> {
    suites
        .iter()
        .flat_map(|suite| suite.vectors.iter().map(move |vector| (suite, vector)))
}

fn compared(vector: &Vector, answer: &serde_json::Value) -> Outcome {
    let differences = compare(&vector.expected, answer);
    if differences.is_empty() {
        Outcome::Equal
    } else {
        Outcome::Differs { differences }
    }
}

fn ask_built_in(request: &Request<'_>, report: &mut VectorsReport, printer: &mut Printer) {
    for suite in &request.suites {
        let missing = built_in::missing(suite.set);
        report
            .notes
            .extend(missing.map(|reason| format!("{}: {reason}", suite.set)));
        for vector in &suite.vectors {
            let outcome = match built_in::answer(suite.set, &vector.question) {
                _ if missing.is_some() => Outcome::NotAsked,
                Ok(answer) => compared(vector, &answer),
                Err(problem) => Outcome::Unanswered {
                    problem,
                    last_words: Vec::new(),
                },
            };
            report.add(suite.set, vector, outcome, request.arguments.format, printer);
        }
    }
}

fn ask_adapter(
    request: &Request<'_>,
    words: &[String],
    guarded: &GuardedRun,
    report: &mut VectorsReport,
    printer: &mut Printer,
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("start the runtime: {error}"))?;
    let (program, arguments) = words
        .split_first()
        .ok_or("--adapter is empty: name the command that answers")?;
    runtime.block_on(async {
        let stderr = guarded.scratch().join("adapter.stderr");
        let bound = Duration::from_secs(request.arguments.timeout);
        let adapter = Adapter::start(program, arguments, stderr, bound);
        let mut adapter = adapter.map_err(|error| error.to_string())?;
        let mut is_usable = true;
        for (suite, vector) in each(&request.suites) {
            let outcome = if is_usable {
                match adapter.ask(&vector.question).await {
                    Ok(answer) => compared(vector, &answer),
                    Err(unusable) => {
                        is_usable = false;
                        Outcome::Unanswered {
                            problem: unusable.to_string(),
                            last_words: adapter.last_words().await,
                        }
                    }
                }
            } else {
                Outcome::NotAsked
            };
            report.add(suite.set, vector, outcome, request.arguments.format, printer);
        }
        if is_usable {
            match adapter.end().await {
                Ok(note) => report.notes.extend(note),
                // Its answers may then not have been those to our questions, so none of them counts as checked.
                Err(unusable) => {
                    report.unanswered += 1;
                    report.notes.push(unusable.to_string());
                }
            }
        }
        Ok(())
    })
}

impl VectorsReport {
    fn add(&mut self, set: Set, vector: &Vector, outcome: Outcome, format: Format, printer: &mut Printer) {
        match &outcome {
            Outcome::Equal => self.equal += 1,
            Outcome::Differs { .. } => self.differ += 1,
            Outcome::Unanswered { .. } => self.unanswered += 1,
            Outcome::NotAsked => self.not_asked += 1,
        }
        let checked = Checked {
            set: set.name(),
            name: vector.name.clone(),
            kind: vector.kind.clone(),
            outcome,
        };
        show::checked(format, &checked, printer);
        self.vectors.push(checked);
    }

    fn status(&self) -> ExitStatus {
        if self.differ > 0 {
            ExitStatus::Failed
        } else if self.unanswered + self.not_asked > 0 || self.equal == 0 {
            ExitStatus::Inconclusive
        } else {
            ExitStatus::Success
        }
    }
}
