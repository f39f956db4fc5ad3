//! The tools, one file each, and the words that they share with the protocol glue.
//!
//! A tool must not know the protocol's types: it gets a [`Call`] and gives an [`Answer`] or a [`CallError`].
//!
//! - [`arguments`]: the checked reading of arguments
//! - [`create_issue`]: asks for a body in a second round, then writes
//! - [`get_operation_status`]: reads what the ledger says
//! - [`submit_issue`]: writes an execution down for a worker
//! - [`execution`]: looks at an execution, and cancels one
//! - [`get_submission_status`]: finds an execution by the key it was submitted under
//! - `observation`: what both status tools tell

pub mod arguments;
pub mod create_issue;
pub mod execution;
pub mod get_operation_status;
pub mod get_submission_status;
mod observation;
pub mod submit_issue;

use serde_json::{Map, Value};

use crate::execution::messages::Snapshot;
use crate::guard::request_state::StateRefusal;
use crate::ledger::thread::Ledger;
use crate::settings::Settings;

/// What every tool may use: the settings as resolved, and the ledger.
#[derive(Debug, Clone)]
pub struct Tools {
    /// The settings as resolved.
    pub settings: Settings,
    /// The ledger's handle.
    pub ledger: Ledger,
}

/// A tool call, freed from the protocol.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// The arguments as received.
    pub arguments: Map<String, Value>,
    /// The responses to input requests, if the call carries any.
    pub input_responses: Option<Map<String, Value>>,
    /// The continuation state that the call brings back, if any.
    pub request_state: Option<String>,
    /// Whether the client speaks a revision with Multi Round-Trip Requests (2026-07-28 or later).
    pub continues: bool,
    /// Whether the client declared that it can show a form.
    pub shows_forms: bool,
    /// Whether the client takes a task for an answer: it declared the extension, in a revision that has it.
    pub takes_tasks: bool,
    /// The request's `_meta`.
    pub meta: Map<String, Value>,
}

/// How a tool says what it is; the protocol glue makes the listing from it.
#[derive(Debug, Clone)]
pub struct Description {
    /// The name by which it is called.
    pub name: &'static str,
    /// A short name for people.
    pub title: &'static str,
    /// What it does, for people and models.
    pub text: &'static str,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The JSON Schema of its structured results, refusals included.
    pub output_schema: Value,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Whether a repeat with the same arguments changes nothing more.
    pub idempotent: bool,
}

/// A tool's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It is done; the structured result.
    Done(Value),
    /// The operation says no; the structured refusal.
    Refused(Value),
    /// It needs input first.
    AskInput(InputRequest),
    /// It will be done; how it stands now.
    Task(Snapshot),
}

/// One form to show to the user, and the state to bring back with the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRequest {
    /// The key under which the response is expected.
    pub key: &'static str,
    /// What to ask.
    pub message: String,
    /// The form's JSON Schema.
    pub schema: Value,
    /// The sealed state.
    pub request_state: String,
}

/// A call that gets a protocol error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The request is wrong (−32602); the reason is for programs, the message for people.
    Invalid {
        /// What is wrong.
        message: String,
        /// The machine-readable reason, where one is defined.
        reason: Option<&'static str>,
    },
    /// The client did not declare that it can show a form (−32021).
    FormsNotDeclared,
    /// This server failed (−32603).
    Internal(String),
}

impl CallError {
    fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid {
            message: message.into(),
            reason: None,
        }
    }
}

impl From<StateRefusal> for CallError {
    fn from(refusal: StateRefusal) -> Self {
        let reason = match refusal {
            StateRefusal::Expired => "request_state_expired",
            StateRefusal::Missing
            | StateRefusal::NotOurs
            | StateRefusal::OtherPrincipal
            | StateRefusal::OtherTool
            | StateRefusal::OtherOperation => "request_state_invalid",
        };
        Self::Invalid {
            message: refusal.to_string(),
            reason: Some(reason),
        }
    }
}

impl From<crate::clock::ClockError> for CallError {
    fn from(error: crate::clock::ClockError) -> Self {
        Self::Internal(format!("the clock tells no time: {error}"))
    }
}

impl Tools {
    /// What the tools say of themselves, in the order of the listing.
    pub fn descriptions() -> [Description; 6] {
        [
            create_issue::description(),
            get_operation_status::description(),
            submit_issue::description(),
            execution::get_description(),
            execution::cancel_description(),
            get_submission_status::description(),
        ]
    }

    /// Calls the tool `name`.
    pub async fn call(&self, name: &str, call: &Call) -> Result<Answer, CallError> {
        self.settings
            .failpoints
            .panic_at(crate::failpoint::Failpoint::PanicInTool);
        match name {
            create_issue::NAME => create_issue::call(self, call).await,
            get_operation_status::NAME => get_operation_status::call(self, call).await,
            submit_issue::NAME => submit_issue::call(self, call).await,
            execution::GET => execution::get(self, call).await,
            execution::CANCEL => execution::cancel(self, call).await,
            get_submission_status::NAME => get_submission_status::call(self, call).await,
            unknown => Err(CallError::invalid(format!(
                "there is no tool {unknown:?}; the tools are {}",
                Self::descriptions().map(|tool| tool.name).join(", ")
            ))),
        }
    }
}
