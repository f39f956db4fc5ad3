//! Read-back: what really happened, read from the server's own store and never from its replies.
//!
//! Must not write to a store that a server owns, must not repair it, and must not disturb a server that is using it.
//!
//! | file | for |
//! |---|---|
//! | [`query`] | the question and its bounded answer, the same for every kind of store that speaks SQL |
//! | [`selector`] | what counts as an effect, whatever kind of store it is in |
//! | [`ask`] | one query, asked of a frozen or a living store of any kind |
//! | [`error`] | why a question got no answer |
//! | [`sqlite`] | SQLite: reading beside a living server, freezing after a death, the doctored copy of the control |
//! | [`files`] | JSON, JSON Lines, text and folders: the same, and the queries that are not SQL |
//! | [`mod@scan`] | the `auto` read-back: the places of a marker in a whole store, and one effect as their growth |
//! | [`marker`] | the marker, and how often it stands in bytes |
//!
//! One folder or file per kind of store. The next kinds (PostgreSQL, a command) answer with
//! [`Rows`] and fail with [`ReadError`] too, so that nothing above this room knows which kind it was.

pub mod ask;
pub mod error;
pub mod files;
pub mod marker;
pub mod query;
pub mod scan;
pub mod selector;
pub mod sqlite;

pub use ask::{Doubling, FrozenReader, LiveStore, ask_doubled, ask_frozen, ask_tampered};
pub use error::{Bound, ReadError};
pub use files::answer::FileAnswer;
pub use files::query::{FileKeys, FileQuery, FileQueryError};
pub use files::read::{LiveFiles, observe_live_files, query_tree, set_aside};
pub use files::tree::{FrozenDatabase, FrozenTree, Shape, freeze_tree};
pub use files::walk::{Stranger, TREE_DEPTH_MAX, TREE_ENTRIES_MAX};
pub use marker::{Marker, MarkerError};
pub use query::{Rows, SqlQuery};
pub use scan::calibration::{Calibration, CalibrationError, Counted, Disagreement, Growth};
pub use scan::place::{Inside, Place, Places, Sighting};
pub use scan::search::{ScanError, scan};
pub use selector::{Query, Selector};
pub(crate) use sqlite::cells::each_cell;
pub use sqlite::cells::table_counts;
pub use sqlite::doctor::{DoctorError, Doctored, DoubledTable, duplicate_marked_rows};
pub use sqlite::freeze::{FROZEN_BYTES_MAX, FreezeError, Frozen, FrozenFile, freeze, recover};
pub(crate) use sqlite::is_being_written;
pub use sqlite::live::{LiveReader, Poll, observe_live};
pub use sqlite::read_copy::query_read_copy;
pub use sqlite::recognise::is_sqlite;
pub use sqlite::tamper::Tampering;
