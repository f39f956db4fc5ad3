//! Properties of the guard and its ledger, over random histories: no identity ever has two effects, and no repeat ever gets
//! another result than the first one, whatever is sent, in whatever order, however late, and however often the store is reopened.
//!
//! The tools and the store are the real ones; the oracle is a model of a dozen lines that knows no SQL. That the property can
//! fail is a test too: the same machine, started with a planted defect, must find a history that shows it.

#![expect(
    clippy::unwrap_used,
    reason = "a machine that cannot go on has failed, and the place says why"
)]

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{RngAlgorithm, TestError, TestRng, TestRunner};
use reference_server::clock::Clock;
use reference_server::defect::{Defect, Planted};
use reference_server::execution::settings::ExecutionSettings;
use reference_server::failpoint::Failpoints;
use reference_server::guard::fingerprint::FingerprintKey;
use reference_server::guard::request_state::StateSeal;
use reference_server::ledger::thread::LedgerThread;
use reference_server::settings::{Limits, Settings};
use reference_server::tools::{Answer, Call, CallError, Tools, create_issue, get_operation_status};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

const T0: i64 = 1_790_035_200;
const STATE_TTL_S: i64 = 60;
const AUTHORITY_S: i64 = 40;
const RETENTION_S: i64 = 20;
/// The last of them writes in two steps.
const OPERATIONS: [&str; 3] = ["op-1", "op-2", "op-partial"];
const BODIES: [&str; 2] = ["alpha", "beta"];
const STEPS_MAX: usize = 40;
const CLOSE_BOUND: Duration = Duration::from_secs(30);

/// One thing that happens. An index picks among what there is at that moment.
#[derive(Debug, Clone)]
enum Step {
    FirstRound { operation: usize },
    Continue { state: Index, body: usize },
    RepeatLast,
    AskStatus { operation: usize },
    Wait { seconds: i64 },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..OPERATIONS.len()).prop_map(|operation| Step::FirstRound { operation }),
        6 => (any::<Index>(), 0..BODIES.len()).prop_map(|(state, body)| Step::Continue { state, body }),
        3 => Just(Step::RepeatLast),
        1 => (0..OPERATIONS.len()).prop_map(|operation| Step::AskStatus { operation }),
        2 => (1..=25_i64).prop_map(|seconds| Step::Wait { seconds }),
        1 => Just(Step::Reopen),
    ]
}

fn history() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 1..STEPS_MAX)
}

/// A continuation, as far as it decides anything: which issuance it brings back, and what it answers.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    operation: usize,
    issuance: usize,
    issued_at_s: i64,
    body: usize,
}

/// The first continuation of each operation that was applied, and when.
type Model = BTreeMap<usize, (Asked, i64)>;

/// The model: what must come of `asked` at `now_s`.
fn expected(model: &mut Model, asked: &Asked, now_s: i64) -> &'static str {
    let first = model.get(&asked.operation);
    match first {
        _ if now_s >= asked.issued_at_s + STATE_TTL_S => "request_state_expired",
        Some((first, _)) if first != asked => "operation_conflict",
        _ if now_s >= asked.issued_at_s + AUTHORITY_S => "operation_authority_expired",
        Some((_, at_s)) if now_s >= at_s + RETENTION_S => "operation_retention_expired",
        Some(_) => "replayed",
        None => {
            model.insert(asked.operation, (asked.clone(), now_s));
            "applied first"
        }
    }
}

/// The real thing, the model beside it, and the history so far.
struct Machine {
    folder: TempDir,
    settings: Settings,
    runtime: tokio::runtime::Runtime,
    open: Option<(Tools, LedgerThread)>,
    now_s: i64,
    states: Vec<(Asked, String)>,
    last: Option<(Asked, String)>,
    model: Model,
    results: BTreeMap<usize, Value>,
}

impl Machine {
    fn new(planted: Planted) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            database: folder.path().join("store.sqlite3"),
            clock: Clock::File(folder.path().join("clock")),
            principal: "alice".to_owned(),
            backend: "sqlite:test".to_owned(),
            tool_version: "1.0".to_owned(),
            state_seal: StateSeal::new(vec![1; 32]).unwrap(),
            fingerprint_key: FingerprintKey::new(vec![2; 32]).unwrap(),
            limits: Limits {
                state_ttl_s: STATE_TTL_S,
                authority_s: AUTHORITY_S,
                retention_s: RETENTION_S,
                busy_timeout_ms: 2_000,
            },
            workers: 0,
            execution: ExecutionSettings::default(),
            failpoints: Failpoints::default(),
            planted,
        };
        let mut machine = Self {
            folder,
            settings,
            runtime: tokio::runtime::Builder::new_current_thread().build().unwrap(),
            open: None,
            now_s: T0,
            states: Vec::new(),
            last: None,
            model: Model::new(),
            results: BTreeMap::new(),
        };
        machine.wait(0);
        machine.reopen();
        machine
    }

    fn wait(&mut self, seconds: i64) {
        self.now_s += seconds;
        fs::write(self.folder.path().join("clock"), self.now_s.to_string()).unwrap();
    }

    fn reopen(&mut self) {
        self.close();
        let (ledger, thread) = LedgerThread::start(&self.settings).unwrap();
        let settings = self.settings.clone();
        self.open = Some((Tools { settings, ledger }, thread));
    }

    fn close(&mut self) {
        if let Some((tools, thread)) = self.open.take() {
            drop(tools);
            thread.close(CLOSE_BOUND);
        }
    }

    fn call(&self, tool: &str, call: &Call) -> Result<Answer, CallError> {
        let (tools, _) = self.open.as_ref().unwrap();
        self.runtime.block_on(tools.call(tool, call))
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::FirstRound { operation } => self.first_round(*operation)?,
            Step::Continue { state, body } if !self.states.is_empty() => {
                let (issued, sealed) = state.get(&self.states).clone();
                self.continue_with(Asked { body: *body, ..issued }, &sealed)?;
            }
            Step::RepeatLast => {
                if let Some((asked, sealed)) = self.last.clone() {
                    self.continue_with(asked, &sealed)?;
                }
            }
            Step::AskStatus { operation } => self.ask_status(*operation)?,
            Step::Wait { seconds } => self.wait(*seconds),
            Step::Reopen => self.reopen(),
            Step::Continue { .. } => {}
        }
        Ok(())
    }

    fn first_round(&mut self, operation: usize) -> Result<(), TestCaseError> {
        let answer = self.call(create_issue::NAME, &call(operation));
        let Ok(Answer::AskInput(input)) = answer else {
            return Err(TestCaseError::fail(format!(
                "a first round was answered with {answer:?}"
            )));
        };
        let asked = Asked {
            operation,
            issuance: self.states.len(),
            issued_at_s: self.now_s,
            body: 0,
        };
        self.states.push((asked, input.request_state));
        Ok(())
    }

    fn continue_with(&mut self, asked: Asked, sealed: &str) -> Result<(), TestCaseError> {
        let responses = json!({ "body": { "action": "accept", "content": { "body": BODIES[asked.body] } } });
        let call = Call {
            input_responses: responses.as_object().cloned(),
            request_state: Some(sealed.to_owned()),
            ..call(asked.operation)
        };
        let answer = self.call(create_issue::NAME, &call);
        let expected = expected(&mut self.model, &asked, self.now_s);
        prop_assert_eq!(word_for(&answer), expected, "{:?}", answer);
        if let Ok(Answer::Done(mut result)) = answer {
            result.as_object_mut().unwrap().remove("replayed");
            let first = self.results.entry(asked.operation).or_insert_with(|| result.clone());
            prop_assert_eq!(&result, &*first, "another result than the first");
        }
        self.last = Some((asked, sealed.to_owned()));
        self.count()
    }

    fn ask_status(&self, operation: usize) -> Result<(), TestCaseError> {
        let arguments = json!({ "operation_id": OPERATIONS[operation] }).as_object().cloned();
        let call = Call {
            arguments: arguments.unwrap(),
            ..Call::default()
        };
        let Ok(Answer::Done(status)) = self.call(get_operation_status::NAME, &call) else {
            return Err(TestCaseError::fail("there is no status"));
        };
        let stored = self.results.get(&operation).unwrap_or(&Value::Null);
        prop_assert_eq!(&status["result"], stored);
        Ok(())
    }

    /// Each identity has one effect where the model says that it was applied, and none elsewhere; whoever asks the store.
    fn count(&self) -> Result<(), TestCaseError> {
        let connection = Connection::open(&self.settings.database).unwrap();
        for (index, operation) in OPERATIONS.iter().enumerate() {
            let sql = "SELECT count(*) FROM issues WHERE operation_id = ?1";
            let effects: i64 = connection.query_row(sql, [operation], |row| row.get(0)).unwrap();
            prop_assert_eq!(
                effects,
                i64::from(self.model.contains_key(&index)),
                "effects of {}",
                operation
            );
        }
        Ok(())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.close();
    }
}

/// A call with one title for all, so that equal data is nothing special.
fn call(operation: usize) -> Call {
    let operation_id = OPERATIONS[operation];
    let mode = if operation_id == "op-partial" {
        "partial"
    } else {
        "atomic"
    };
    let arguments = json!({ "operation_id": operation_id, "title": "Title", "mode": mode });
    Call {
        arguments: arguments.as_object().cloned().unwrap(),
        continues: true,
        shows_forms: true,
        ..Call::default()
    }
}

fn word_for(answer: &Result<Answer, CallError>) -> &str {
    match answer {
        Ok(Answer::Done(result)) if result["replayed"] == true => "replayed",
        Ok(Answer::Done(_)) => "applied first",
        Ok(Answer::Refused(refusal)) => refusal["reason"].as_str().unwrap_or("refused without a reason"),
        Ok(Answer::AskInput(_)) => "asked again",
        Ok(Answer::Task(_)) => "made a task",
        Err(CallError::Invalid { reason, .. }) => reason.unwrap_or("invalid without a reason"),
        Err(CallError::FormsNotDeclared | CallError::Internal(_)) => "failed",
    }
}

/// Goes through `steps`, and compares after each continuation.
fn drive(steps: &[Step], planted: Planted) -> Result<(), TestCaseError> {
    let mut machine = Machine::new(planted);
    steps.iter().try_for_each(|step| machine.take(step))
}

proptest! {
    #[test]
    fn no_history_has_two_effects_or_two_results(steps in history()) {
        drive(&steps, Planted(None))?;
    }
}

/// Each of these breaks what the property says, in a process that is only reopened, never killed.
#[test]
fn a_planted_defect_is_found_by_the_same_machine() {
    for defect in [
        Defect::NoLedger,
        Defect::MemoryLedger,
        Defect::DedupeByContent,
        Defect::SameReplyTwoEffects,
        Defect::UnboundInput,
        Defect::UnboundState,
        Defect::ReservesOnFirstRound,
        Defect::NoStateTtl,
        Defect::NoAuthorityDeadline,
        Defect::NoRetentionDeadline,
        Defect::PurgedTombstone,
        Defect::ReplayRecomputesResult,
    ] {
        assert!(counterexample(defect, 0).is_some(), "{defect} was not found");
    }
}

/// What is left of a history that shows `memory-ledger`: write, reopen, repeat.
#[test]
fn a_counterexample_is_small() {
    let steps = counterexample(Defect::MemoryLedger, 2_000).expect("it is found");
    let shape: Vec<&str> = steps.iter().map(name).collect();
    assert_eq!(shape, ["first round", "continue", "reopen", "continue"], "{steps:?}");
}

fn name(step: &Step) -> &'static str {
    match step {
        Step::FirstRound { .. } => "first round",
        Step::Continue { .. } => "continue",
        Step::RepeatLast => "repeat the last",
        Step::AskStatus { .. } => "ask for the status",
        Step::Wait { .. } => "wait",
        Step::Reopen => "reopen",
    }
}

/// A history that shows `defect`, made smaller in at most `shrinks` tries. The seed is fixed.
fn counterexample(defect: Defect, shrinks: u32) -> Option<Vec<Step>> {
    let config = ProptestConfig {
        cases: 256,
        failure_persistence: None,
        max_shrink_iters: shrinks,
        ..ProptestConfig::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    match runner.run(&history(), |steps| drive(&steps, Planted(Some(defect)))) {
        Err(TestError::Fail(_, steps)) => Some(steps),
        Err(TestError::Abort(_)) | Ok(()) => None,
    }
}
