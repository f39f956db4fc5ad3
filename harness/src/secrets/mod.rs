//! Secrets in evidence: found before somebody else gets it, and masked where that is wanted.
//!
//! Must not print, store or return what it found: a find has a place, a kind, two characters and a length.
//!
//! - [`wanted`]: the values that are looked for, in every spelling.
//! - [`shapes`]: what credentials usually look like.
//! - `view`: bytes with their escapes undone, and the way back.
//! - [`search`]: the finds in the bytes of one file; pure.
//! - [`folder`]: the finds in a folder of evidence: contents, cells of databases, names.
//! - [`mask`]: the bytes of one file without what was found; pure.
//! - `wal`: the checksums of a write-ahead log whose pages were masked; pure.
//! - [`redact`]: a folder of evidence copied without what was found.

pub mod folder;
pub mod mask;
pub mod redact;
pub mod search;
pub mod shapes;
mod view;
mod wal;
pub mod wanted;

pub(crate) use folder::search_values;
pub use folder::{FileFind, Place, SearchError, SearchedFolder, search_folder};
pub use redact::{RedactError, Redacted, redact_into};
pub use search::Finder;
pub use wanted::{Secret, Unsought, Wanted};
