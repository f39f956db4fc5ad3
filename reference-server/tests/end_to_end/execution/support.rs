//! Submissions, workers and reapers for a [`Bench`], and what they left in the store.

use std::path::Path;
use std::time::Duration;

use reference_server::clock::Stop;
use serde_json::{Value, json};

use crate::support::{Bench, Said, Server, structured};

/// How often the store is looked at for what must come, and the pause in between: half a minute in all.
const LOOKS_MAX: u32 = 6_000;
const PAUSE: Duration = Duration::from_millis(5);
/// The pause of workers and reapers between two looks, in milliseconds.
const POLL_MS: &str = "2";

/// A call of `submit_issue` under `key`, as a modern client makes it that declares `capabilities`.
pub(crate) fn submission(key: &str, arguments: &Value, capabilities: &Value) -> Value {
    json!({
        "name": "submit_issue",
        "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "idempotency_key": key,
            "namespace": "tests",
        }
    })
}

pub(crate) fn submit(server: &mut Server, key: &str, arguments: &Value) -> Value {
    let id = server.begin_as_is("tools/call", &submission(key, arguments, &json!({})));
    server.reply_to(id)
}

/// Submits what must be accepted; gives its execution id.
pub(crate) fn submitted(server: &mut Server, key: &str, arguments: &Value) -> String {
    let reply = submit(server, key, arguments);
    assert_eq!(reply["result"]["isError"], false, "{reply}");
    structured(&reply)["execution_id"].as_str().unwrap().to_owned()
}

pub(crate) fn plain_issue() -> Value {
    json!({ "title": "Title", "body": "alpha" })
}

/// An issue that is held until `gate` exists.
pub(crate) fn gated(gate: &Path) -> Value {
    json!({ "title": "Title", "body": "alpha", "gate": gate })
}

pub(crate) fn execution(server: &mut Server, execution_id: &str) -> Value {
    structured(&server.call("get_execution", &json!({ "execution_id": execution_id })))
}

impl Bench {
    /// A worker that runs until it is told to end, or killed.
    pub(crate) fn worker(&self, id: &str) -> Server {
        self.launch_of(&["work", "--worker-id", id, "--poll-ms", POLL_MS])
            .start()
    }

    /// The same with a variable of the environment.
    pub(crate) fn worker_with(&self, id: &str, name: &str, value: &str) -> Server {
        let launch = self.launch_of(&["work", "--worker-id", id, "--poll-ms", POLL_MS]);
        launch.env(name, value).start()
    }

    /// A worker that ends when nothing is ready.
    pub(crate) fn work_until_idle(&self, id: &str) -> Said {
        let said = self.operator(&["work", "--worker-id", id, "--until-idle", "--poll-ms", POLL_MS]);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{said:?}");
        said
    }

    /// One pass of a reaper.
    pub(crate) fn reap(&self) -> String {
        let said = self.operator(&["reap"]);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{said:?}");
        said.stdout
    }

    /// A reaper that runs until it is told to end.
    pub(crate) fn reaper(&self) -> Server {
        self.launch_of(&["reap", "--loop", "--poll-ms", POLL_MS]).start()
    }

    /// Waits until `sql` gives `expected` in its one cell.
    #[track_caller]
    pub(crate) fn wait_for(&self, sql: &str, expected: i64) {
        let connection = self.connection();
        let mut found = None;
        for _ in 0..LOOKS_MAX {
            found = Some(connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap());
            if found == Some(expected) {
                return;
            }
            Stop::default().wait(PAUSE);
        }
        panic!("{sql} gives {found:?}, not {expected}; the log is {:#?}", self.log());
    }

    /// Waits until the log holds `count` events of this kind.
    #[track_caller]
    pub(crate) fn wait_for_events(&self, kind: &str, count: i64) {
        self.wait_for(
            &format!("SELECT count(*) FROM execution_events WHERE event = '{kind}'"),
            count,
        );
    }

    /// The log: each event with its token and its worker, where it has them.
    pub(crate) fn log(&self) -> Vec<String> {
        self.column(
            "SELECT event || coalesce(' ' || token, '') || coalesce(' ' || worker_id, '')
             FROM execution_events ORDER BY position",
        )
    }

    /// Opens the gate: the file `gate` in the test's folder.
    pub(crate) fn open_gate(&self) {
        std::fs::write(self.path("gate"), "").unwrap();
    }

    /// How many leases of one execution overlap in the log: two claims without an end in between.
    pub(crate) fn overlaps(&self) -> i64 {
        let sql = "SELECT count(*) FROM leases AS one JOIN leases AS other
                   ON one.execution_id = other.execution_id AND one.lease_id < other.lease_id
                   WHERE one.ended_at IS NULL";
        let unended: i64 = self.connection().query_row(sql, [], |row| row.get(0)).unwrap();
        let claims =
            self.column("SELECT execution_id || ' ' || event FROM execution_events ORDER BY execution_id, seq");
        let mut held = None;
        let mut twice = 0;
        for line in &claims {
            let (id, event) = line.split_once(' ').unwrap();
            match event {
                "claimed" if held == Some(id) => twice += 1,
                "claimed" => held = Some(id),
                "completed" | "failed" | "lease_expired" | "cancelled" | "ready" => held = None,
                _ => {}
            }
        }
        unended + twice
    }
}

/// Stops the process, as SIGSTOP does, at a moment at which it does not hold the store's write lock. What it has committed is
/// seen by others a moment before it lets the lock go: stopped in between, it would keep everybody out.
#[track_caller]
pub(crate) fn pause(bench: &Bench, worker: &Server) {
    let probe = bench.connection();
    probe.busy_timeout(Duration::ZERO).unwrap();
    for _ in 0..LOOKS_MAX {
        stop(worker);
        if probe.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok() {
            return;
        }
        worker.signal("CONT");
        Stop::default().wait(PAUSE);
    }
    panic!("the worker never lets the store go");
}

#[track_caller]
fn stop(worker: &Server) {
    worker.signal("STOP");
    let stat = format!("/proc/{}/stat", worker.pid());
    for _ in 0..LOOKS_MAX {
        let text = std::fs::read_to_string(&stat).unwrap();
        let state = text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        if state == Some('T') {
            return;
        }
        Stop::default().wait(PAUSE);
    }
    panic!("the worker does not stop");
}
