//! The tables of durable execution, and the triggers that keep the log append-only.

/// The tables. No unique key stops two leases or two effects of one execution: what must not happen has to be possible, or it
/// could not be seen. The one on (namespace, tool, key) is the promise of the submission itself.
pub const EXECUTIONS: &str = "
CREATE TABLE executions (
    number          INTEGER PRIMARY KEY AUTOINCREMENT,
    execution_id    TEXT    NOT NULL UNIQUE,
    namespace       TEXT    NOT NULL,
    tool            TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    principal       TEXT    NOT NULL,
    arguments       TEXT    NOT NULL,
    state           TEXT    NOT NULL CHECK (state IN ('ready', 'running', 'retry_wait', 'completed', 'failed', 'cancelled')),
    attempts        INTEGER NOT NULL DEFAULT 0,
    last_token      INTEGER NOT NULL DEFAULT 0,
    issue_id        INTEGER,
    result          TEXT,
    error           TEXT,
    submitted_at    INTEGER NOT NULL,
    changed_at      INTEGER NOT NULL,
    replay_until    INTEGER,
    UNIQUE (namespace, tool, idempotency_key),
    CHECK (state <> 'completed' OR result NOTNULL),
    CHECK (state <> 'failed' OR error NOTNULL),
    CHECK ((state IN ('completed', 'failed', 'cancelled')) = (replay_until NOTNULL))
) STRICT;

CREATE INDEX executions_ready ON executions (number) WHERE state = 'ready';

CREATE TABLE leases (
    lease_id     INTEGER PRIMARY KEY AUTOINCREMENT,
    execution_id TEXT    NOT NULL REFERENCES executions (execution_id),
    token        INTEGER NOT NULL,
    worker_id    TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('held', 'completed', 'failed', 'expired', 'given_back', 'cancelled')),
    granted_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT;

CREATE INDEX leases_of_execution ON leases (execution_id, token);
CREATE INDEX leases_held ON leases (expires_at) WHERE state = 'held';

CREATE TABLE retries (
    execution_id TEXT    NOT NULL REFERENCES executions (execution_id),
    attempt      INTEGER NOT NULL,
    backoff_s    INTEGER NOT NULL,
    due_at       INTEGER NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('scheduled', 'promoted', 'cancelled')),
    PRIMARY KEY (execution_id, attempt)
) STRICT, WITHOUT ROWID;

CREATE INDEX retries_scheduled ON retries (due_at) WHERE state = 'scheduled';

CREATE TABLE execution_events (
    execution_id TEXT    NOT NULL REFERENCES executions (execution_id),
    seq          INTEGER NOT NULL,
    position     INTEGER NOT NULL UNIQUE,
    event        TEXT    NOT NULL,
    token        INTEGER,
    worker_id    TEXT,
    detail       TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    PRIMARY KEY (execution_id, seq)
) STRICT, WITHOUT ROWID;
";

/// What makes the log append-only. `REPLACE` deletes the row it replaces without asking the trigger on DELETE, so the trigger on
/// INSERT admits no number but the next one: of the execution (`seq`) and of the whole log (`position`).
pub const LOG_GUARDS: &str = "
CREATE TRIGGER execution_events_are_never_updated BEFORE UPDATE ON execution_events
BEGIN SELECT RAISE(ABORT, 'the event log is append-only: no event is updated'); END;

CREATE TRIGGER execution_events_are_never_deleted BEFORE DELETE ON execution_events
BEGIN SELECT RAISE(ABORT, 'the event log is append-only: no event is deleted'); END;

CREATE TRIGGER execution_events_are_only_appended BEFORE INSERT ON execution_events
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM execution_events WHERE execution_id = NEW.execution_id)
  OR NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM execution_events)
BEGIN SELECT RAISE(ABORT, 'the event log is append-only: an event stands at the next number'); END;
";

/// What takes the guards away again: a defect does this.
pub(crate) const WITHOUT_LOG_GUARDS: &str = "
DROP TRIGGER IF EXISTS execution_events_are_never_updated;
DROP TRIGGER IF EXISTS execution_events_are_never_deleted;
DROP TRIGGER IF EXISTS execution_events_are_only_appended;
";
