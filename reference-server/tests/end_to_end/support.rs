//! A folder with a store and a clock, servers that use them, and raw lines to and fro.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use reference_server::execution::verification::disagreements;
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

/// When every test begins, in Unix seconds.
pub(crate) const T0: i64 = 1_790_035_200;
/// The bound on every reply and every exit. It is far above what any of them takes.
const REPLY_BOUND: Duration = Duration::from_secs(30);
const NEW: &str = "2026-07-28";

/// One test's folder: a store, and a clock that the test moves.
pub(crate) struct Bench {
    folder: TempDir,
    log_may_lie: Cell<bool>,
}

/// After every test: the event log of every execution, folded, comes to what the rows say.
impl Drop for Bench {
    fn drop(&mut self) {
        if self.log_may_lie.get() || thread::panicking() || !self.store().is_file() {
            return;
        }
        let connection = self.connection();
        let table = "SELECT count(*) FROM sqlite_schema WHERE name = 'execution_events'";
        if connection
            .query_row(table, [], |row| row.get::<_, i64>(0))
            .is_ok_and(|found| found == 1)
        {
            assert_eq!(disagreements(&connection).unwrap(), [""; 0]);
        }
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        let bench = Self {
            folder: tempfile::tempdir().unwrap(),
            log_may_lie: Cell::new(false),
        };
        bench.set_clock(T0);
        bench
    }

    /// For a planted defect that makes the log tell what cannot be.
    pub(crate) fn log_may_lie(&self) {
        self.log_may_lie.set(true);
    }

    /// The path of a file in the test's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store.sqlite3")
    }

    pub(crate) fn clock(&self) -> PathBuf {
        self.folder.path().join("clock")
    }

    pub(crate) fn set_clock(&self, seconds: i64) {
        let next = self.folder.path().join("clock.next");
        fs::write(&next, format!("{seconds}\n")).unwrap();
        fs::rename(next, self.clock()).unwrap();
    }

    /// A launch with the settings that every test begins with; the caller's environment is not passed.
    pub(crate) fn launch(&self) -> Launch {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reference-server"));
        command
            .arg("serve")
            .env_clear()
            .env("GUARD_DATABASE", self.store())
            .env("GUARD_CLOCK", format!("file:{}", self.clock().display()))
            .env("GUARD_PRINCIPAL", "alice")
            .env("GUARD_BACKEND", "sqlite:test")
            .env("GUARD_STATE_KEY", "5a".repeat(32))
            .env("GUARD_FINGERPRINT_KEY", "A5".repeat(32));
        Launch { command }
    }

    pub(crate) fn start(&self) -> Server {
        self.launch().start()
    }

    /// A server whose stderr is kept.
    pub(crate) fn start_with_stderr(&self) -> Server {
        self.launch().start_heard()
    }

    pub(crate) fn start_with(&self, name: &str, value: &str) -> Server {
        self.launch().env(name, value).start()
    }

    /// Runs an operator's command on the store, with the environment that a server has.
    pub(crate) fn operator(&self, arguments: &[&str]) -> Said {
        self.launch_of(arguments).said()
    }

    /// The same onto a device that takes nothing.
    pub(crate) fn operator_unheard(&self, arguments: &[&str]) -> Said {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut launch = self.launch_of(arguments);
        let output = launch.command.stdin(Stdio::null()).stdout(full).output().unwrap();
        Said {
            code: output.status.code().unwrap(),
            stdout: String::new(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// A launch of another command, with the environment that a server has.
    pub(crate) fn launch_of(&self, arguments: &[&str]) -> Launch {
        let mut launch = self.launch();
        let environment: Vec<_> = launch
            .command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        launch.command = Command::new(env!("CARGO_BIN_EXE_reference-server"));
        launch.command.env_clear().envs(environment).args(arguments);
        launch
    }

    /// Every file of the folder, by name, with its bytes.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.folder.path()).unwrap().map(Result::unwrap);
        entries
            .map(|entry| {
                (
                    entry.file_name().into_string().unwrap(),
                    fs::read(entry.path()).unwrap(),
                )
            })
            .collect()
    }

    pub(crate) fn connection(&self) -> Connection {
        Connection::open(self.store()).unwrap()
    }

    /// A connection that holds the store's write lock until it is dropped.
    pub(crate) fn lock(&self) -> Connection {
        let connection = self.connection();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        connection
    }

    pub(crate) fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        self.connection().query_row(&sql, [], |row| row.get(0)).unwrap()
    }

    /// The first column of every row, as text.
    pub(crate) fn column(&self, sql: &str) -> Vec<String> {
        let connection = self.connection();
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }
}

/// What a command said, and its exit code.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A server that is about to be started.
pub(crate) struct Launch {
    command: Command,
}

impl Launch {
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub(crate) fn flag(mut self, name: &str, value: &str) -> Self {
        self.command.args([name, value]);
        self
    }

    /// Runs with a closed stdin until it ends by itself.
    pub(crate) fn output(mut self) -> Output {
        self.command.stdin(Stdio::null()).output().unwrap()
    }

    /// The same, and what it said.
    pub(crate) fn said(self) -> Said {
        let output = self.output();
        Said {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) fn start(self) -> Server {
        self.start_with(Stdio::null())
    }

    /// The same with its stderr kept.
    pub(crate) fn start_heard(self) -> Server {
        self.start_with(Stdio::piped())
    }

    fn start_with(mut self, stderr: Stdio) -> Server {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        Server {
            child,
            stdin,
            lines,
            next_id: 1,
        }
    }
}

/// A running server. It is killed when dropped.
pub(crate) struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Server {
    pub(crate) fn send(&mut self, message: &Value) {
        let mut line = message.to_string();
        line.push('\n');
        self.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    pub(crate) fn receive(&mut self) -> Value {
        let line = self.lines.recv_timeout(REPLY_BOUND).expect("a reply within the bound");
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request of the new era and does not wait; gives its id.
    pub(crate) fn begin(&mut self, method: &str, params: &Value, capabilities: &Value) -> u64 {
        let mut params = params.clone();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": NEW,
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        self.begin_as_is(method, &params)
    }

    /// Sends a request with exactly these parameters and does not wait; gives its id.
    pub(crate) fn begin_as_is(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Waits for the reply to `id`, which must be the next line.
    pub(crate) fn reply_to(&mut self, id: u64) -> Value {
        let reply = self.receive();
        assert_eq!(reply["id"], json!(id), "{reply}");
        reply
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params, &json!({ "elicitation": {} }));
        self.reply_to(id)
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// The first round of `write`: gives the issued state.
    pub(crate) fn first_round(&mut self, write: &Value) -> String {
        let reply = self.call("create_issue", write);
        assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
        reply["result"]["requestState"].as_str().unwrap().to_owned()
    }

    /// A continuation of `write`.
    pub(crate) fn continuation(&mut self, write: &Value, state: &str, responses: &Value) -> Value {
        self.request("tools/call", &continuation(write, state, responses))
    }

    /// A continuation that answers with `body`.
    pub(crate) fn answer(&mut self, write: &Value, state: &str, body: &str) -> Value {
        self.continuation(write, state, &accept(body))
    }

    /// Both rounds of `write`: gives the state and the structured result.
    pub(crate) fn write(&mut self, write: &Value, body: &str) -> (String, Value) {
        let state = self.first_round(write);
        let reply = self.answer(write, &state, body);
        assert_eq!(reply["result"]["isError"], false, "{reply}");
        (state, structured(&reply))
    }

    pub(crate) fn status(&mut self, operation_id: &str) -> Value {
        let reply = self.call("get_operation_status", &json!({ "operation_id": operation_id }));
        assert_eq!(reply["result"]["isError"], false, "{reply}");
        structured(&reply)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name, as in `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([format!("-{name}"), pid]).status().unwrap();
        assert!(sent.success());
    }

    /// SIGKILL, and nothing else before it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn close(mut self) -> ExitStatus {
        self.stdin = None;
        self.ended()
    }

    /// Waits for the end; gives what was written to stderr too.
    pub(crate) fn ended_with_complaint(mut self) -> (ExitStatus, String) {
        let mut stderr = self.child.stderr.take().unwrap();
        let status = self.ended();
        let mut complaint = String::new();
        stderr.read_to_string(&mut complaint).unwrap();
        (status, complaint)
    }

    /// Waits for the end; unread replies are dropped.
    pub(crate) fn ended(mut self) -> ExitStatus {
        loop {
            match self.lines.recv_timeout(REPLY_BOUND) {
                Ok(_unread) => {}
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap(),
                Err(RecvTimeoutError::Timeout) => panic!("the server did not end within the bound"),
            }
        }
    }
}

pub(crate) fn issue(operation_id: &str) -> Value {
    json!({ "operation_id": operation_id, "title": "Title" })
}

/// A write whose second step fails, and so does its compensation.
pub(crate) fn partial(operation_id: &str) -> Value {
    json!({ "operation_id": operation_id, "title": "Title", "mode": "partial" })
}

/// `state` with another character in its middle.
pub(crate) fn middle_changed(state: &str) -> String {
    let mut bytes = state.as_bytes().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] = if bytes[middle] == b'A' { b'B' } else { b'A' };
    String::from_utf8(bytes).unwrap()
}

/// Sends both rounds and waits for the failpoint's exit; gives the state.
#[track_caller]
pub(crate) fn die(mut server: Server, write: &Value, code: i32) -> String {
    let state = server.first_round(write);
    let params = continuation(write, &state, &accept("alpha"));
    server.begin("tools/call", &params, &json!({ "elicitation": {} }));
    assert_eq!(server.ended().code(), Some(code));
    state
}

pub(crate) fn accept(body: &str) -> Value {
    json!({ "body": { "action": "accept", "content": { "body": body } } })
}

/// The parameters of a continuation.
pub(crate) fn continuation(write: &Value, state: &str, responses: &Value) -> Value {
    json!({ "name": "create_issue", "arguments": write, "inputResponses": responses, "requestState": state })
}

pub(crate) fn structured(reply: &Value) -> Value {
    let structured = reply["result"]["structuredContent"].clone();
    assert!(structured.is_object(), "{reply}");
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(text).unwrap(),
        structured,
        "text and structure differ"
    );
    structured
}

/// A result without the one field in which a replay differs.
pub(crate) fn stored(result: &Value) -> Value {
    let mut stored = result.clone();
    stored.as_object_mut().unwrap().remove("replayed").unwrap();
    stored
}

/// Checks that `reply` is a refusal by the operation, with `reason`, which tells nothing but what the caller said.
#[track_caller]
pub(crate) fn assert_refused(reply: &Value, reason: &str) {
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    let refusal = structured(reply);
    assert_eq!(refusal["reason"], reason, "{reply}");
    let names: Vec<&String> = refusal.as_object().unwrap().keys().collect();
    assert_eq!(names, ["operation_id", "reason", "message"], "{reply}");
}

/// Checks that `reply` is a protocol error with `code`, and `reason` where one is defined.
#[track_caller]
pub(crate) fn assert_error(reply: &Value, code: i64, reason: Option<&str>) {
    assert_eq!(reply["error"]["code"], code, "{reply}");
    assert_eq!(reply["error"]["data"]["reason"].as_str(), reason, "{reply}");
}
