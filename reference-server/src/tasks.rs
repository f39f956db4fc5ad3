//! Tasks, the extension `io.modelcontextprotocol/tasks`: an execution as the protocol's later revisions name it. The task's id is
//! the execution's, so that a task is as durable as its row, also over a restart.
//!
//! It must not keep anything: every answer is read from the store.

use rmcp::model::{
    CreateTaskResult, DetailedTask, ErrorData, GetTaskResult, JsonObject, MetaObject, Task, TaskPayload, TaskStatus,
};
use serde_json::Value;

use crate::clock::rfc3339_or_number;
use crate::execution::event::State;
use crate::execution::messages::{Ask, Snapshot, Told};
use crate::ledger::messages::LedgerError;
use crate::server::structured_result;
use crate::tools::Tools;

/// How long a client had better wait between two looks, in milliseconds, where the engine looks more often.
const POLL_INTERVAL_MS_MIN: u64 = 50;

/// The result of a call that became a task.
pub(crate) fn created(tools: &Tools, snapshot: &Snapshot, meta: Option<MetaObject>) -> CreateTaskResult {
    let mut result = CreateTaskResult::new(task(tools, snapshot));
    result.meta = meta;
    result
}

/// How the task stands; with the call's result once there is one.
pub(crate) async fn get(tools: &Tools, task_id: String, meta: Option<MetaObject>) -> Result<GetTaskResult, ErrorData> {
    let snapshot = ask(tools, Ask::Observe { execution_id: task_id }).await?;
    let mut result = GetTaskResult::new(DetailedTask::new(task(tools, &snapshot), payload(&snapshot)?));
    result.meta = meta;
    Ok(result)
}

/// Cancels the task, unless it has ended.
pub(crate) async fn cancel(tools: &Tools, task_id: String) -> Result<(), ErrorData> {
    ask(tools, Ask::Cancel { execution_id: task_id }).await.map(drop)
}

/// No task asks for input, so there is nothing to take; but the task must be there.
pub(crate) async fn update(tools: &Tools, task_id: String) -> Result<(), ErrorData> {
    ask(tools, Ask::Observe { execution_id: task_id }).await.map(drop)
}

async fn ask(tools: &Tools, ask: Ask) -> Result<Snapshot, ErrorData> {
    match tools.ledger.ask(ask).await {
        Ok(Told::Execution { snapshot, .. }) => Ok(snapshot),
        Ok(Told::Unknown | Told::Conflict | Told::RetentionExpired | Told::Found { .. }) => {
            Err(ErrorData::invalid_params("there is no such task", None))
        }
        Err(error @ LedgerError::Busy) => Err(ErrorData::internal_error(format!("{error}; ask again"), None)),
        Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
    }
}

fn task(tools: &Tools, snapshot: &Snapshot) -> Task {
    let poll = u64::try_from(tools.settings.execution.poll.as_millis()).unwrap_or(u64::MAX);
    let created = rfc3339_or_number(snapshot.submitted_at_s);
    let changed = rfc3339_or_number(snapshot.changed_at_s);
    Task::new(&snapshot.execution_id, status(snapshot.state), created, changed)
        .with_status_message(snapshot.state.name())
        .with_poll_interval_ms(poll.max(POLL_INTERVAL_MS_MIN))
}

/// A failed execution is a call that ended with an error of the tool, which for a task is an end like any other: `failed` is
/// said of protocol errors only.
fn status(state: State) -> TaskStatus {
    match state {
        State::Completed | State::Failed => TaskStatus::Completed,
        State::Cancelled => TaskStatus::Cancelled,
        State::Submitted | State::Ready | State::Running | State::Interrupted | State::Failing | State::RetryWait => {
            TaskStatus::Working
        }
    }
}

fn payload(snapshot: &Snapshot) -> Result<TaskPayload, ErrorData> {
    Ok(match snapshot.state {
        State::Completed | State::Failed => TaskPayload::Completed {
            result: call_result(snapshot)?,
        },
        State::Cancelled => TaskPayload::Cancelled,
        State::Submitted | State::Ready | State::Running | State::Interrupted | State::Failing | State::RetryWait => {
            TaskPayload::Working
        }
    })
}

fn call_result(snapshot: &Snapshot) -> Result<JsonObject, ErrorData> {
    let result = structured_result(snapshot.to_value(), snapshot.state == State::Failed, true);
    match serde_json::to_value(result) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) | Err(_) => Err(ErrorData::internal_error("the task's result cannot be written", None)),
    }
}
