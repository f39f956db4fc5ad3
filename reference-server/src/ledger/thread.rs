//! The thread that owns the store, and the handle by which tools talk to it: a bounded queue in, one answer out.
//!
//! A blocking store on the runtime's own thread would starve the reading of requests. The thread outlives a panic in a request.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::messages::{LedgerError, Observation, Write, Written};
use super::schema::OpenError;
use super::store::Store;
use crate::execution::messages::{Ask, Told};
use crate::settings::Settings;

/// How many requests may wait for the ledger. One more is refused as busy.
const QUEUE_LENGTH_MAX: usize = 256;

enum Request {
    Write(Box<Write>, oneshot::Sender<Result<Written, LedgerError>>),
    Observe {
        operation_id: String,
        tool: &'static str,
        answer: oneshot::Sender<Result<Observation, LedgerError>>,
    },
    Execution(Box<Ask>, oneshot::Sender<Result<Told, LedgerError>>),
    /// Asked by defects only, as is the next one.
    Reserve {
        operation_id: String,
        tool: &'static str,
        answer: oneshot::Sender<Result<bool, LedgerError>>,
    },
    Forget {
        operation_id: String,
    },
    Arrival,
}

/// Talks to the ledger's thread. Clones share it.
#[derive(Debug, Clone)]
pub struct Ledger {
    queue: mpsc::Sender<Request>,
}

impl Ledger {
    /// Decides about `write` and does it.
    pub async fn write(&self, write: Write) -> Result<Written, LedgerError> {
        let (answer, answered) = oneshot::channel();
        self.queue
            .try_send(Request::Write(Box::new(write), answer))
            .map_err(not_queued)?;
        answered.await.map_err(|_panicked| LedgerError::NoAnswer)?
    }

    /// What the ledger says of an operation to the configured principal.
    pub async fn observe(&self, operation_id: String, tool: &'static str) -> Result<Observation, LedgerError> {
        let (answer, answered) = oneshot::channel();
        self.queue
            .try_send(Request::Observe {
                operation_id,
                tool,
                answer,
            })
            .map_err(not_queued)?;
        answered.await.map_err(|_panicked| LedgerError::NoAnswer)?
    }

    /// Submits, observes or cancels an execution.
    pub async fn ask(&self, ask: Ask) -> Result<Told, LedgerError> {
        let (answer, answered) = oneshot::channel();
        self.queue
            .try_send(Request::Execution(Box::new(ask), answer))
            .map_err(not_queued)?;
        answered.await.map_err(|_panicked| LedgerError::NoAnswer)?
    }

    /// Reserves an identity on its first round: a defect does this. Says whether it was free.
    pub async fn reserve(&self, operation_id: String, tool: &'static str) -> Result<bool, LedgerError> {
        let (answer, answered) = oneshot::channel();
        self.queue
            .try_send(Request::Reserve {
                operation_id,
                tool,
                answer,
            })
            .map_err(not_queued)?;
        answered.await.map_err(|_panicked| LedgerError::NoAnswer)?
    }

    /// Drops an operation's ledger row, after what is queued: a defect does this when a request was cancelled.
    pub fn forget(&self, operation_id: String) {
        let _full = self.queue.try_send(Request::Forget { operation_id });
    }

    /// Says that some request has arrived: a defect commits then what it held back.
    pub fn note_arrival(&self) {
        // A full queue holds requests that do the same.
        let _full = self.queue.try_send(Request::Arrival);
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is passed to `map_err`, which gives the error by value"
)]
fn not_queued(error: mpsc::error::TrySendError<Request>) -> LedgerError {
    match error {
        mpsc::error::TrySendError::Full(_) => LedgerError::Busy,
        mpsc::error::TrySendError::Closed(_) => LedgerError::NoAnswer,
    }
}

/// The running thread. It ends when every [`Ledger`] is dropped.
#[derive(Debug)]
pub struct LedgerThread {
    /// Nothing is sent through it; it is dropped when the thread has closed the store.
    closed: Receiver<()>,
}

impl LedgerThread {
    /// Opens the store on the caller's thread, so that a refusal is the caller's, and starts the thread that owns it.
    pub fn start(settings: &Settings) -> Result<(Ledger, Self), OpenError> {
        let store = Store::open(settings)?;
        let (queue, mut requests) = mpsc::channel(QUEUE_LENGTH_MAX);
        let (open, closed) = sync_channel(0);
        thread::spawn(move || {
            while let Some(request) = requests.blocking_recv() {
                serve(&store, request);
            }
            do_held(&store);
            drop(store);
            drop(open);
        });
        Ok((Ledger { queue }, Self { closed }))
    }

    /// Waits, at most `bound`, until the thread has done what was queued and has closed the store. Every [`Ledger`] must have
    /// been dropped. What is left undone after that is as after a crash: not begun, or rolled back by the next opener.
    pub fn close(self, bound: Duration) {
        let _closed_or_late = self.closed.recv_timeout(bound);
    }
}

/// Does one request. A panic rolls its transaction back, drops its answer (which the asker sees), and ends here.
fn serve(store: &Store, request: Request) {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
        do_held(store);
        match request {
            // An asker that has gone away changes nothing: what is committed is committed.
            Request::Write(write, answer) => drop(answer.send(store.write(&write))),
            Request::Observe {
                operation_id,
                tool,
                answer,
            } => drop(answer.send(store.observe(&operation_id, tool))),
            Request::Execution(ask, answer) => drop(answer.send(store.ask(&ask))),
            Request::Reserve {
                operation_id,
                tool,
                answer,
            } => drop(answer.send(store.reserve(&operation_id, tool))),
            Request::Forget { operation_id } => complain_of(store.forget(&operation_id)),
            Request::Arrival => {}
        }
    }));
    // The panic hook has printed where it was.
    drop(outcome);
}

fn do_held(store: &Store) {
    complain_of(store.do_held());
}

/// What a defect does on the side has nobody to answer to.
fn complain_of(outcome: Result<(), LedgerError>) {
    if let Err(error) = outcome {
        crate::command::complain(&format!("a planted defect failed: {error}"));
    }
}
