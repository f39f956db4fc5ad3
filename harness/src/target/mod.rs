//! Targets: the profile as written, the target as resolved, placeholders, contract presets.
//!
//! - [`written`]: profile format 1, letter by letter, as serde reads it.
//! - [`resolved`]: the same as types that cannot be wrong; nobody after [`resolve`] reads a raw profile.
//! - [`side`]: what happens beside the server's own process.
//! - [`placeholder`]: `{data}`, `{marker}` and their kin, in strings and in JSON.
//! - [`contract`]: what the presets promise.
//! - [`by_flags`]: a command, described by the flags beside it.
//! - [`flag_words`]: messages in the words of flags.
//! - [`kept`]: a target as evidence keeps it, so that a run can be repeated.
//! - [`launcher`]: programs that start a server elsewhere, and do not own it.
//! - [`locate`]: which target a command line means.

mod by_flags;
mod contract;
mod flag_words;
mod kept;
mod launcher;
mod locate;
mod placeholder;
mod reading;
mod resolve;
mod resolved;
mod side;
mod written;

pub use by_flags::{set_cwd, set_effects, set_kill, set_write};
pub use contract::{Conflict, Contract, Preset};
pub use flag_words::in_flag_words;
pub use kept::{KeptRotation, KeptSecret, KeptTarget};
pub use locate::{BUILT_IN_NAMES, LocateError, TargetWords, built_in, built_in_named, locate};
pub use placeholder::{PlaceholderError, Values, literal};
pub use resolve::{command_only, parse};
pub use resolved::{
    Clock, Identity, Launch, RefusalAt, Replies, Rotated, SecretSource, Seed, SideProcess, Status, Store, StoreKind,
    Submitted, Target, TargetSource, Write,
};
pub(crate) use side::EXECUTION;
pub use written::PROFILE_FORMAT;
#[cfg(test)]
pub(crate) use written::schema;
