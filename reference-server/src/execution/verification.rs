//! Folds every log of a store and compares what it comes to with what the rows say. Read-only.

use rusqlite::Connection;

use super::event::{State, fold};
use super::log;
use crate::ledger::messages::LedgerError;

/// What the rows say of one execution.
struct Said {
    execution_id: String,
    state: Option<State>,
    attempts: i64,
    last_token: i64,
    changed_at_s: i64,
    held: i64,
}

/// Every disagreement between the log and the rows of the store, as sentences; none where all is well.
pub fn disagreements(connection: &Connection) -> Result<Vec<String>, LedgerError> {
    let mut statement = connection.prepare(
        "SELECT execution_id, state, attempts, last_token, changed_at,
                (SELECT count(*) FROM leases WHERE leases.execution_id = executions.execution_id AND state = 'held')
         FROM executions ORDER BY number",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Said {
            execution_id: row.get(0)?,
            state: State::named(&row.get::<_, String>(1)?),
            attempts: row.get(2)?,
            last_token: row.get(3)?,
            changed_at_s: row.get(4)?,
            held: row.get(5)?,
        })
    })?;
    let mut found = Vec::new();
    for said in rows {
        let said = said?;
        let id = &said.execution_id;
        match fold(&log::read(connection, id)?) {
            Err(error) => found.push(format!("execution {id}: {error}")),
            Ok(told) => {
                let row = (said.state, said.attempts, said.last_token, said.changed_at_s);
                let log = (Some(told.state), told.attempts, told.token, told.changed_at_s);
                if row != log {
                    found.push(format!("execution {id}: the row says {row:?}, and the log {log:?}"));
                }
                if said.held != i64::from(told.state == State::Running) {
                    found.push(format!(
                        "execution {id} is {}, with {} leases held",
                        told.state.name(),
                        said.held
                    ));
                }
            }
        }
    }
    let orphans =
        "SELECT count(*) FROM execution_events WHERE execution_id NOT IN (SELECT execution_id FROM executions)";
    if connection.query_row(orphans, [], |row| row.get::<_, i64>(0))? > 0 {
        found.push("the log tells of an execution that has no row".to_owned());
    }
    Ok(found)
}
