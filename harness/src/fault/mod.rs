//! Faults: one file per fault, all behind one small trait.
//!
//! A fault is a small object that answers two questions with an enum. It touches no process and no store: the driver
//! tells it what was seen, and does what it says.

mod withhold_reply;

pub use withhold_reply::WithholdReply;

/// Whether the store could be read beside the living server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sight {
    /// It could.
    Clear,
    /// It could not: locked, being written, or too large.
    #[default]
    Blocked,
}

impl Sight {
    /// That it could, or not.
    pub fn of(is_read: bool) -> Self {
        if is_read { Self::Clear } else { Self::Blocked }
    }

    fn is_clear(self) -> bool {
        self == Self::Clear
    }
}

/// What the driver has seen since the request was sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Effects counted before the request was sent.
    pub effects_before: usize,
    /// Effects counted now; nothing while the store could not be read.
    pub effects_now: Option<usize>,
    /// Whether the store could be read before the request was sent.
    pub store_before: Sight,
    /// Whether this look could read it.
    pub store_now: Sight,
    /// Whether the whole reply lies in our pipe.
    pub reply_is_whole: bool,
    /// Whether the server's standard output has ended.
    pub stream_ended: bool,
    /// Milliseconds since the request was sent.
    pub elapsed_ms: u64,
}

/// Whether frames reach the client side while a fault is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// They do.
    Deliver,
    /// They are recorded, and kept back.
    Withhold,
}

/// What the driver does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Look again.
    Wait,
    /// The moment has come: SIGKILL for the whole tree.
    KillTree(Moment),
    /// The moment was missed, and why.
    Missed(String),
}

/// What marked the moment of a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The effect was seen in the living store.
    Effect,
    /// The whole reply lay in our pipe, because nobody could read the store beside the living server.
    Reply,
}

/// A fault at one request.
pub trait Fault {
    /// Whether frames reach the client side meanwhile.
    fn delivery(&self) -> Delivery;

    /// What to do, given what was seen.
    fn next(&mut self, seen: Seen) -> Act;
}
