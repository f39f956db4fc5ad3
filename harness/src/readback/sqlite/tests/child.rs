//! A server's part, played by another process: this test binary run again, with one connection and no busy timeout.
//!
//! Must not be told to do anything but what comes over its standard input, one line each.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rusqlite::Connection;

const STORE: &str = "HARNESS_TEST_STORE";
const THIS_TEST: &str = "readback::sqlite::tests::child::part";
const REPLY: &str = "reply:";

/// A process that has a store open. Killed when dropped.
pub(super) struct Server {
    process: Child,
    orders: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl Server {
    pub(super) fn start(store: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", THIS_TEST, "--nocapture"])
            .env(STORE, store)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = process.stdin.take().unwrap();
        let replies = BufReader::new(process.stdout.take().unwrap());
        Self {
            process,
            orders,
            replies,
        }
    }

    /// Starts a process and has it run these statements.
    pub(super) fn with(store: &Path, sql: &str) -> Self {
        let mut server = Self::start(store);
        server.run(sql);
        server
    }

    /// Runs statements, which must succeed.
    pub(super) fn run(&mut self, sql: &str) {
        assert_eq!(self.ask(&format!("run {sql}")), "done", "{sql}");
    }

    /// The single value of a statement, or the error.
    pub(super) fn value(&mut self, sql: &str) -> String {
        self.ask(&format!("value {sql}"))
    }

    /// Makes so many commits and says how many failed.
    pub(super) fn commits(&mut self, commits: u32) -> String {
        self.ask(&format!("commits {commits}"))
    }

    /// Closes its connection as a well-behaved server does at its end.
    pub(super) fn close(&mut self) {
        assert_eq!(self.ask("close"), "done");
    }

    /// SIGKILL, and wait until it is dead.
    pub(super) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    fn ask(&mut self, order: &str) -> String {
        assert!(!order.contains('\n'), "one order is one line");
        writeln!(self.orders, "{order}").unwrap();
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(
                self.replies.read_line(&mut line).unwrap(),
                0,
                "the server ended instead of: {order}"
            );
            if let Some((_, reply)) = line.trim_end().split_once(REPLY) {
                return reply.to_owned();
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The other process; does nothing when run as a test.
#[test]
fn part() {
    let Some(store) = std::env::var_os(STORE) else {
        return;
    };
    let mut connection = Some(Connection::open(store).unwrap());
    connection.as_ref().unwrap().busy_timeout(Duration::ZERO).unwrap();
    for line in io::stdin().lock().lines() {
        let reply = obey(&mut connection, &line.unwrap());
        writeln!(io::stdout().lock(), "{REPLY}{reply}").unwrap();
    }
}

fn obey(connection: &mut Option<Connection>, line: &str) -> String {
    let (order, rest) = line.split_once(' ').unwrap_or((line, ""));
    if order == "close" {
        connection.take().unwrap().close().unwrap();
        return "done".into();
    }
    let connection = connection.as_ref().unwrap();
    let result = match order {
        "run" => connection.execute_batch(rest).map(|()| "done".to_owned()),
        "value" => connection.query_row(rest, [], |row| row.get(0)),
        "commits" => Ok(failed_commits(connection, rest.parse().unwrap())),
        other => Ok(format!("unknown order {other}")),
    };
    result.unwrap_or_else(|error| format!("error: {error}"))
}

fn failed_commits(connection: &Connection, commits: u32) -> String {
    let failed = (0..commits)
        .filter(|_| {
            connection
                .execute("INSERT INTO notes (note) VALUES ('m1')", [])
                .is_err()
        })
        .count();
    format!("{failed} failed")
}
