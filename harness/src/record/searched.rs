//! The store in which the effect of a write was looked for, as it stands in `searched.json` beside its frozen copy.

use serde::{Deserialize, Serialize};

use crate::readback::FrozenTree;

/// The version of this format that this harness writes.
pub const SEARCHED_FORMAT: u32 = 1;

/// What was frozen and searched: a reviewer searches it again, and must find the same selector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Searched {
    /// [`SEARCHED_FORMAT`].
    pub format: u32,
    /// What stood there, file by file.
    pub store: FrozenTree,
}
