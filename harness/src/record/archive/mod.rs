//! Evidence as one file: a ZIP archive of which every byte follows from the paths and the bytes of the evidence.
//!
//! `evidence/README.md` says it byte by byte, for those who write a reader of their own. The format never changes: an archive
//! that was sealed and published has to come out again, byte by byte, from every later version.
//!
//! - `name`: which paths an archive can hold; pure.
//! - `headers`: every byte that is not the evidence's own; pure.
//! - `crc`: the checksum that the format asks for; pure.
//! - `pack`: a folder of evidence, written as an archive.
//! - `directory`: what an archive that somebody else made says that it holds.
//! - `read`: such an archive, checked before anything of it reaches a disk, and unpacked.

mod crc;
mod directory;
mod headers;
mod name;
mod pack;
mod read;

pub use headers::{ARCHIVE_BYTES_MAX, ARCHIVE_FILES_MAX};
pub use pack::{PackError, Packed, pack};
pub use read::{ArchiveError, ArchiveFile};
