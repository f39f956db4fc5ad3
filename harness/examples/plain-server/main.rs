//! A small MCP server over standard input and output, written by hand: one tool that writes in one round, one that reads.
//!
//! It serves two purposes. Read as it stands, without a flag, it is an example of what a server needs so that a retry
//! after a lost reply writes nothing twice: the effect, the key and the result are committed in one transaction, and
//! the reply is written after the commit. With flags it is the other kind of server too: the tests of the harness use
//! it to make every mistake that a server can make.
//!
//! ```text
//! plain-server --database orders.sqlite3
//! harness run --target target.toml          # [launch] command = ["plain-server", "--database", "{data}/orders.sqlite3"]
//! ```
//!
//! | file | for |
//! |---|---|
//! | `main.rs` | the loop: a line in, a line out |
//! | `protocol.rs` | requests and replies in both eras of MCP |
//! | `store.rs` | the orders and the keys, in SQLite |
//! | `files.rs` | the same in files instead |
//! | `elicitation.rs` | asking for input inside a call |
//! | `options.rs` | the flags |
//! | `trouble.rs` | what `--misbehave` does; nothing of it belongs into a server |
//! | `broker.rs` | a daemon that starts this server for others, as container engines do; nothing for a server either |

mod broker;
mod elicitation;
mod files;
mod options;
mod protocol;
mod store;
mod trouble;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use serde_json::Value;

use elicitation::{Client, Filled};
use files::Kept;
use options::Options;
use protocol::{Call, Request};
use store::{Order, Outcome};
use trouble::{Behind, Kind, Trouble};

fn main() -> ExitCode {
    let done = broker::play().unwrap_or_else(|| {
        let options = Options::parse();
        let trouble = Trouble::of(&options);
        trouble.at_start(&options).and_then(|()| serve(&options, &trouble))
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard output belongs to the protocol; what people should read goes to standard error.
            let _ = writeln!(std::io::stderr(), "plain-server: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers requests, one a line, until standard input ends.
fn serve(options: &Options, trouble: &Trouble) -> Result<(), Box<dyn Error>> {
    let mut server = Server {
        options,
        trouble,
        store: Kept::open(&trouble.database(options), options)?,
        postponed: None,
        behind: None,
        revision: None,
        client: Client::new(),
    };
    while let Some(frame) = server.client.next_frame()? {
        server.commit_postponed()?;
        // A notification gets no answer.
        let Some(request) = Request::of(&frame) else { continue };
        if let Some(reply) = server.answer(&request)? {
            let reply = match &server.revision {
                Some(revision) if !request.is_modern => protocol::in_revision(reply, revision),
                Some(_) | None => reply,
            };
            trouble.before_reply(&request)?;
            let reply = trouble.instead_of(&request, reply);
            say(&reply)?;
            trouble.after_reply(&request, &reply)?;
        }
    }
    if trouble.has(Kind::TearAtEnd)
        && let Kept::Files(store) = &server.store
    {
        store.tear()?;
    }
    server.commit_postponed()
}

/// One frame: compact JSON and a line end, then flushed, because the client waits for it.
fn say(frame: &Value) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{frame}")?;
    stdout.flush()
}

struct Server<'a> {
    options: &'a Options,
    trouble: &'a Trouble,
    store: Kept,
    /// An order that was promised and not yet written: only a server that misbehaves has one.
    postponed: Option<Order>,
    /// The thread that commits behind the replies: only a server that misbehaves has one.
    behind: Option<Behind>,
    /// The revision that the handshake of the legacy era came to, once it has been done.
    revision: Option<String>,
    client: Client,
}

impl Server<'_> {
    /// The reply to a request; nothing where a server that misbehaves stays silent.
    fn answer(&mut self, request: &Request) -> Result<Option<Value>, Box<dyn Error>> {
        if self.trouble.has(Kind::NeverAnswer) {
            return Ok(None);
        }
        let era = self.options.era;
        Ok(Some(match request.method.as_str() {
            "server/discover" if era.is_modern() => protocol::discovered(request, &self.trouble.name()),
            "initialize" if era.is_legacy() => {
                let revision = self.trouble.revision(request.revision(&self.options.revisions));
                self.client.declares(request.capabilities());
                let reply = protocol::initialized(request, &self.trouble.name(), &revision);
                self.revision = Some(revision);
                reply
            }
            "ping" => protocol::result(request, &serde_json::json!({})),
            "tools/list" => protocol::tools(request),
            "tools/call" if !self.may_call(request) => protocol::error(
                request,
                protocol::INVALID_REQUEST,
                "no handshake, and no revision in `_meta`",
            ),
            "tools/call" => return self.call(request),
            other => protocol::error(request, protocol::METHOD_NOT_FOUND, &format!("unknown method {other}")),
        }))
    }

    /// A modern request carries its revision; a legacy one comes after the handshake.
    fn may_call(&self, request: &Request) -> bool {
        (self.options.era.is_modern() && request.is_modern) || self.revision.is_some()
    }

    fn call(&mut self, request: &Request) -> Result<Option<Value>, Box<dyn Error>> {
        match request.call() {
            Ok(Call::CreateOrder(order)) => self.create_order(request, order),
            Ok(Call::GetOrderStatus { key }) => Ok(Some(protocol::tool_result(request, &self.store.status(&key)?))),
            Err(message) => Ok(Some(protocol::error(request, protocol::INVALID_PARAMS, &message))),
        }
    }

    fn create_order(&mut self, request: &Request, order: Order) -> Result<Option<Value>, Box<dyn Error>> {
        self.trouble.before_write()?;
        if self.trouble.has(Kind::NeverAnswerWrites) {
            return Ok(None);
        }
        self.trouble.ask_everything(&mut self.client)?;
        if self.trouble.has(Kind::RefuseWrites) || self.trouble.worked_beside_a_lock(self.options)? {
            return Ok(Some(protocol::tool_error(request, "CLOSED", "the warehouse is closed")));
        }
        let order = match self.fill_in(request, order)? {
            Filled::In(order) => order,
            Filled::Declined => return Ok(Some(protocol::tool_error(request, "DECLINED", "the user said no"))),
            Filled::Unasked => {
                let message = "this client asks its user nothing";
                return Ok(Some(protocol::tool_error(request, "NOBODY_TO_ASK", message)));
            }
        };
        if self.trouble.has(Kind::AsynchronousWrite) || self.trouble.has(Kind::CommitBehind) {
            self.promise(order)?;
            return Ok(Some(protocol::tool_result(
                request,
                &serde_json::json!({"order_id": 1}),
            )));
        }
        let outcome = self.store.create(&order)?;
        self.trouble.after_commit(&outcome, &order.note, self.options)?;
        let is_retry = matches!(outcome, Outcome::Replayed(_));
        Ok(match outcome {
            Outcome::Replayed(_) if self.trouble.has(Kind::NeverAnswerRetry) => None,
            Outcome::Created(result) | Outcome::Replayed(result) => {
                Some(protocol::tool_result(request, &self.trouble.spoil(result, is_retry)))
            }
            Outcome::Conflict => Some(protocol::tool_error(
                request,
                "IDEMPOTENCY_CONFLICT",
                "this key was used for another order",
            )),
        })
    }

    /// Asks for what the flags name. The modern era has another way of asking, which this server does not know.
    fn fill_in(&mut self, request: &Request, mut order: Order) -> Result<Filled, Box<dyn Error>> {
        if request.is_modern {
            return Ok(Filled::In(order));
        }
        for field in &self.options.elicit {
            if !self.client.fills_in_forms && !self.trouble.has(Kind::AskUndeclared) {
                return Ok(Filled::Unasked);
            }
            order = match self.client.fill_in(*field, order)? {
                Filled::In(order) => order,
                other @ (Filled::Declined | Filled::Unasked) => return Ok(other),
            };
        }
        Ok(Filled::In(order))
    }

    /// What a server does that misbehaves: it answers, and writes later.
    fn promise(&mut self, order: Order) -> Result<(), Box<dyn Error>> {
        if self.trouble.has(Kind::AsynchronousWrite) {
            self.postponed = Some(order);
            return Ok(());
        }
        let behind = match self.behind.take() {
            Some(behind) => behind,
            None => Behind::start(&self.trouble.database(self.options), self.options)?,
        };
        behind.commit(order);
        self.behind = Some(behind);
        Ok(())
    }

    fn commit_postponed(&mut self) -> Result<(), Box<dyn Error>> {
        if let Some(order) = self.postponed.take() {
            self.store.create(&order)?;
        }
        Ok(())
    }
}
