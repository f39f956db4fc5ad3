//! The flags. Without any but `--database` this is a server that keeps its promises.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::elicitation::Field;
use crate::protocol;
use crate::trouble::Kind;

/// A small MCP server that keeps orders in SQLite
#[derive(Debug, Parser)]
pub(crate) struct Options {
    /// The SQLite file; made when it is not there
    #[arg(long, value_name = "FILE")]
    pub(crate) database: PathBuf,
    /// The era of MCP that is spoken
    #[arg(long, value_enum, default_value = "both")]
    pub(crate) era: Era,
    /// The revisions of the legacy era that are spoken; a client that asks for another one is answered with the first
    #[arg(long, value_delimiter = ',', default_value = protocol::REVISIONS_LEGACY)]
    pub(crate) revisions: Vec<String>,
    /// In what the orders are kept; all but a database are files at the path that `--database` names
    #[arg(long, value_enum, default_value = "database")]
    pub(crate) keep_in: KeepIn,
    /// How SQLite commits
    #[arg(long, value_enum, default_value = "wal")]
    pub(crate) journal: Journal,
    /// Whether others may read while this server lives
    #[arg(long, value_enum, default_value = "normal")]
    pub(crate) locking: Locking,
    /// How long a commit of somebody else is waited for, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5_000)]
    pub(crate) busy_timeout: u64,
    /// Keep a table of all attempts to write, replays and refusals too
    #[arg(long)]
    pub(crate) audit: bool,
    /// So many transactions of their own before each order: steps of a long write
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) commits_before: u32,
    /// By what a repeated order is known
    #[arg(long, value_enum, default_value = "key")]
    pub(crate) dedupe: Dedupe,
    /// What becomes of another order under a used key
    #[arg(long, value_enum, default_value = "refuse")]
    pub(crate) conflict: OnConflict,
    /// What to ask the user for inside the call before an order is written (legacy era), one question each
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) elicit: Vec<Field>,
    /// Mistakes to make, for tests. May be repeated
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) misbehave: Vec<Kind>,
    /// Make them only where the path of the database contains this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) only_in: String,
}

/// The eras of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Era {
    /// 2026-07-28: no handshake, every request carries its revision
    Modern,
    /// 2025-11-25 and older: `initialize` first
    Legacy,
    /// Both
    Both,
}

impl Era {
    pub(crate) fn is_modern(self) -> bool {
        matches!(self, Self::Modern | Self::Both)
    }

    pub(crate) fn is_legacy(self) -> bool {
        matches!(self, Self::Legacy | Self::Both)
    }
}

/// In what the orders are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeepIn {
    /// SQLite
    Database,
    /// A file of JSON Lines
    Lines,
    /// One JSON document
    Document,
    /// A folder with a file for each order
    Notes,
}

/// How SQLite commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Journal {
    /// A write-ahead log
    Wal,
    /// A rollback journal, deleted after each commit
    Delete,
    /// A rollback journal, emptied after each commit
    Truncate,
    /// A rollback journal, its head zeroed after each commit
    Persist,
    /// A rollback journal in memory: a crash can tear the store
    Memory,
}

impl Journal {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wal => "WAL",
            Self::Delete => "DELETE",
            Self::Truncate => "TRUNCATE",
            Self::Persist => "PERSIST",
            Self::Memory => "MEMORY",
        }
    }
}

/// Whether others may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Locking {
    /// The lock is given back after each transaction
    Normal,
    /// The lock is kept: nobody else can read or write
    Exclusive,
}

impl Locking {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Normal => "NORMAL",
            Self::Exclusive => "EXCLUSIVE",
        }
    }
}

/// By what a repeated order is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dedupe {
    /// By the key that the client sends
    Key,
    /// By its content: note and quantity are unique
    Content,
    /// By nothing: every call writes
    None,
}

/// What becomes of another order under a used key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnConflict {
    /// It is refused
    Refuse,
    /// It gets the result of the first one
    Ignore,
    /// It is written too
    Apply,
}
