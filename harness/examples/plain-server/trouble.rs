//! Everything that `--misbehave` does. A server to copy from has no such file.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::elicitation::Client;
use crate::options::Options;
use crate::protocol::Request;
use crate::say;
use crate::store::{Order, Outcome, Store};

/// The mistakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Say something on standard error and exit with code 7 before anything is answered
    DieAtStart,
    /// The first start on a store is good, every later one fails
    RestartFails,
    /// Exit when the first request is not `initialize`, as some servers of the legacy era do
    ExitOnDiscover,
    /// Answer `initialize` with 2024-11-05, whatever was asked for
    OtherRevision,
    /// Answer nothing at all
    NeverAnswer,
    /// Answer everything but writes, and write nothing
    NeverAnswerWrites,
    /// Answer a write, but not its repetition
    NeverAnswerRetry,
    /// Greet people on standard output
    BannerOnStdout,
    /// Log to standard output as JSON, a line before each reply
    JsonLogs,
    /// Begin the first reply behind a greeting, on the same line
    GluedBanner,
    /// Answer everything with the id as a text
    TextIds,
    /// Refuse every write, and say why
    RefuseWrites,
    /// Work without a pause for as long as somebody else holds the store, then refuse the write
    WorkThenRefuse,
    /// Say something on standard error and exit with code 9 when a write comes
    DieOnWrite,
    /// Send notifications before each reply, with errors and numbers in them
    NotificationBeforeReply,
    /// Send notifications before each reply, several on a line, as 2025-03-26 allows and no other revision
    BatchBeforeReply,
    /// Send a line of 50 MiB when a write comes
    BigLine,
    /// Leave a child that has gone into a session of its own and keeps standard output open
    ForkChild,
    /// Send each reply twice
    ReplyTwice,
    /// Send a false reply whose id is the right number as a text, then the right one
    DecoyReply,
    /// Send replies to writes whose id is the right number as a text, and exit
    WrongIdType,
    /// Put control sequences and false lines into everything that a person may see
    HostileText,
    /// Write into another file than the one that was named
    WriteElsewhere,
    /// Write into the file that was named at the first start, and into another one after a restart
    WriteElsewhereLater,
    /// Replace the order by an equal one when a write is repeated
    RewriteOnRetry,
    /// When a write is repeated, write the order into another file of the same folder
    CopyOnRetry,
    /// When a write is repeated, count that in a table of its own, without saying of which order
    TallyOnRetry,
    /// Answer a repeated write with the same number, written as a fraction
    FractionOnRetry,
    /// When a write is repeated, leave a child that writes it again once this process has ended
    LateWriter,
    /// Put a pipe where the rollback journal would be, after a write
    PipeBesideStore,
    /// Put bytes that are no database where the database should be, and keep the orders in memory
    GarbageStore,
    /// Reply first, and commit when the next request comes or standard input ends
    AsynchronousWrite,
    /// Leave half an order in the file at the end
    TearAtEnd,
    /// Reply first, and let a thread commit a moment later; what it has not committed at the end is committed then
    CommitBehind,
    /// Exit after a commit, before its reply
    ExitAfterCommit,
    /// Ask also a client that declared no answers
    AskUndeclared,
    /// Send every other kind of request to the client before a write, and wait for each answer
    AskEverything,
}

/// Control sequences, line ends, and what build logs read as commands.
const HOSTILE: &str = "\u{1b}[2J\u{1b}[1;31mPASS\u{7}\r\n::error::forged\nPASS  forged\u{9b}2K\u{202e}\u{8}\
    </title></style></pre><script>document.title='forged'</script><img src=x onerror=alert(1)>\" onload=\"x' --><!-- ]]> &lt;";

const BIG_LINE_BYTES: usize = 50 * 1024 * 1024;

/// After so long the child that was left behind ends by itself.
const CHILD_LIFE_MAX: Duration = Duration::from_secs(120);

/// So long after the reply the thread commits.
const BEHIND: Duration = Duration::from_millis(200);

/// Tells the child that was left behind what it is.
const CHILD_VARIABLE: &str = "PLAIN_SERVER_CHILD";

/// The mistakes to make here.
#[derive(Debug)]
pub(crate) struct Trouble {
    kinds: Vec<Kind>,
}

impl Trouble {
    /// None, where `--only-in` names another place.
    pub(crate) fn of(options: &Options) -> Self {
        let here = options.database.display().to_string().contains(&options.only_in);
        Self {
            kinds: if here { options.misbehave.clone() } else { Vec::new() },
        }
    }

    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// The name by which the server introduces itself.
    pub(crate) fn name(&self) -> String {
        let name = "plain-server";
        if self.has(Kind::HostileText) {
            format!("{name}{HOSTILE}")
        } else {
            name.to_owned()
        }
    }

    /// The revision that the answer to `initialize` names.
    pub(crate) fn revision(&self, revision: String) -> String {
        if self.has(Kind::OtherRevision) {
            "2024-11-05".to_owned()
        } else {
            revision
        }
    }

    /// The file that is really written.
    pub(crate) fn database(&self, options: &Options) -> PathBuf {
        let is_later = self.has(Kind::WriteElsewhereLater) && options.database.exists();
        if self.has(Kind::WriteElsewhere) || is_later {
            options.database.with_extension("elsewhere")
        } else if self.has(Kind::GarbageStore) {
            PathBuf::from(":memory:")
        } else {
            options.database.clone()
        }
    }

    /// What goes wrong before the first request.
    pub(crate) fn at_start(&self, options: &Options) -> Result<(), Box<dyn Error>> {
        match std::env::var_os(CHILD_VARIABLE) {
            Some(order) if order != "1" => write_late(options, &order.to_string_lossy())?,
            Some(_) => outlive(),
            None => {}
        }
        if self.has(Kind::HostileText) {
            writeln!(std::io::stderr(), "{HOSTILE}")?;
        }
        if self.has(Kind::DieAtStart) {
            writeln!(
                std::io::stderr(),
                "reading the configuration\n\nno licence: cannot go on"
            )?;
            exit(7);
        }
        if self.has(Kind::RestartFails) && options.database.exists() {
            return Err("the store is there already, and that was not foreseen".into());
        }
        if self.has(Kind::WriteElsewhere) {
            drop(Store::open(&options.database, options)?);
        }
        if self.has(Kind::GarbageStore) {
            std::fs::write(&options.database, "this is no database\n".repeat(100))?;
        }
        if self.has(Kind::BannerOnStdout) {
            let mut stdout = std::io::stdout().lock();
            writeln!(stdout, "plain-server: ready\n\n{{\"listening\": true}}\n[1,\n{{")?;
            stdout.flush()?;
        }
        if self.has(Kind::GluedBanner) {
            let mut stdout = std::io::stdout().lock();
            write!(stdout, "hello ")?;
            stdout.flush()?;
        }
        if self.has(Kind::ForkChild) {
            leave_child(&options.database)?;
        }
        Ok(())
    }

    /// What is sent before a write is looked at.
    pub(crate) fn before_write(&self) -> Result<(), Box<dyn Error>> {
        if self.has(Kind::DieOnWrite) {
            writeln!(std::io::stderr(), "Traceback\nno space left for orders")?;
            exit(9);
        }
        if self.has(Kind::BigLine) {
            big_line()?;
        }
        Ok(())
    }

    /// Whether somebody else held the store, who has given it back by now. Nothing was done but to look, again and again.
    pub(crate) fn worked_beside_a_lock(&self, options: &Options) -> Result<bool, Box<dyn Error>> {
        if !self.has(Kind::WorkThenRefuse) {
            return Ok(false);
        }
        let store = rusqlite::Connection::open(&options.database)?;
        store.busy_timeout(Duration::ZERO)?;
        let mut looks = 0_u64;
        while store.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_err() {
            looks += 1;
        }
        Ok(looks > 0)
    }

    /// What is asked before a write is done.
    pub(crate) fn ask_everything(&self, client: &mut Client) -> Result<(), Box<dyn Error>> {
        if self.has(Kind::AskEverything) {
            for method in ["ping", "roots/list", "sampling/createMessage", "no/such"] {
                client.ask(method, &json!({}))?;
            }
            let page =
                json!({"mode": "url", "url": "https://example.com", "elicitationId": "1", "message": "Go there"});
            client.ask("elicitation/create", &page)?;
        }
        Ok(())
    }

    /// What is sent before a reply.
    pub(crate) fn before_reply(&self, request: &Request) -> Result<(), Box<dyn Error>> {
        let text = request.id.to_string();
        if self.has(Kind::ExitOnDiscover) && request.method == "server/discover" {
            exit(1);
        }
        if self.has(Kind::JsonLogs) {
            say(&json!({"level": "info", "msg": request.method}))?;
        }
        if self.has(Kind::BatchBeforeReply) {
            let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            say(&json!([changed, changed]))?;
        }
        if self.has(Kind::NotificationBeforeReply) {
            say(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))?;
            let params = json!({"level": "error", "data": {"id": request.id, "error": "internal error"}});
            say(&json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}))?;
        }
        if (self.has(Kind::DecoyReply) || self.has(Kind::WrongIdType)) && request.is_write() {
            let result = json!({"content": [], "structuredContent": {"order_id": -1}, "isError": true});
            say(&json!({"jsonrpc": "2.0", "id": text, "result": result}))?;
        }
        if self.has(Kind::WrongIdType) && request.is_write() {
            exit(0);
        }
        Ok(())
    }

    /// What is sent in the place of a reply.
    pub(crate) fn instead_of(&self, request: &Request, mut reply: Value) -> Value {
        if self.has(Kind::TextIds) {
            reply["id"] = request.id.to_string().into();
        }
        reply
    }

    /// What is sent after a reply.
    pub(crate) fn after_reply(&self, request: &Request, reply: &Value) -> Result<(), Box<dyn Error>> {
        if self.has(Kind::ReplyTwice) && request.method == "tools/call" {
            say(reply)?;
        }
        Ok(())
    }

    /// What goes wrong between the commit and the reply.
    pub(crate) fn after_commit(&self, outcome: &Outcome, note: &str, options: &Options) -> Result<(), Box<dyn Error>> {
        let is_retry = matches!(outcome, Outcome::Replayed(_));
        if self.has(Kind::ExitAfterCommit) && !is_retry {
            exit(0);
        }
        if self.has(Kind::RewriteOnRetry) && is_retry {
            Store::open(&options.database, options)?.rewrite(note)?;
        }
        if self.has(Kind::CopyOnRetry) && is_retry {
            std::fs::write(options.database.with_extension("again"), note)?;
        }
        if self.has(Kind::TallyOnRetry) && is_retry {
            let tally = "CREATE TABLE IF NOT EXISTS payments (amount INTEGER); INSERT INTO payments VALUES (100)";
            rusqlite::Connection::open(&options.database)?.execute_batch(tally)?;
        }
        if self.has(Kind::LateWriter) && is_retry {
            leave_writer(&options.database, note)?;
        }
        if self.has(Kind::PipeBesideStore) && !is_retry {
            let mut pipe = options.database.clone().into_os_string();
            pipe.push("-journal");
            nix::unistd::mkfifo(Path::new(&pipe), nix::sys::stat::Mode::S_IRWXU)?;
        }
        Ok(())
    }

    /// A result with something odd in it.
    pub(crate) fn spoil(&self, mut result: Value, is_retry: bool) -> Value {
        if self.has(Kind::FractionOnRetry) && is_retry {
            result["order_id"] = result["order_id"].as_f64().into();
        }
        if self.has(Kind::HostileText) {
            result["said"] = HOSTILE.into();
            result[HOSTILE] = 1.into();
        }
        result
    }
}

/// Commits orders on a thread of its own, behind the replies; ends, with everything committed, when it is dropped.
#[derive(Debug)]
pub(crate) struct Behind {
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Behind {
    /// The thread, with a connection of its own.
    pub(crate) fn start(path: &Path, options: &Options) -> rusqlite::Result<Self> {
        let mut store = Store::open(path, options)?;
        let (orders, taken) = mpsc::channel::<Order>();
        let thread = std::thread::spawn(move || {
            for order in taken {
                let (_keep, nothing) = mpsc::channel::<()>();
                let _ = nothing.recv_timeout(BEHIND);
                if let Err(error) = store.create(&order) {
                    let _ = writeln!(std::io::stderr(), "plain-server: commit behind the reply: {error}");
                }
            }
        });
        Ok(Self {
            orders: Some(orders),
            thread: Some(thread),
        })
    }

    pub(crate) fn commit(&self, order: Order) {
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[expect(clippy::exit, reason = "a server that dies is the part it plays")]
fn exit(code: i32) -> ! {
    std::process::exit(code)
}

fn big_line() -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..BIG_LINE_BYTES / piece.len() {
        stdout.write_all(&piece)?;
    }
    stdout.write_all(b"\n")?;
    stdout.flush()
}

fn leave_child(database: &Path) -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--database").arg(database).env(CHILD_VARIABLE, "1");
    command.stdin(Stdio::null()).spawn().map(drop)
}

/// Starts a process that writes the order again after this one has ended: it reads until its standard input does.
fn leave_writer(database: &Path, note: &str) -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--database").arg(database).env(CHILD_VARIABLE, note);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    // The end of this process closes it.
    std::mem::forget(child.stdin.take());
    Ok(())
}

fn write_late(options: &Options, note: &str) -> Result<(), Box<dyn Error>> {
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Store::open(&options.database, options)?.write_again(note)?;
    exit(0)
}

/// The life of the child that was left behind.
fn outlive() -> ! {
    // It was just forked, so it leads no group and may leave its session.
    let _ = rustix::process::setsid();
    let (_keep, nothing) = mpsc::channel::<()>();
    let _ = nothing.recv_timeout(CHILD_LIFE_MAX);
    exit(0)
}
