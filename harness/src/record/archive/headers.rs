//! Every byte of an archive that is not the evidence's own: three kinds of records, which follow from paths, sizes and checksums.
//!
//! No field is chosen: there is no time, no owner, no comment, nothing compressed, and no tool's name.

/// Most files of an archive: with more ZIP needs other records.
pub const ARCHIVE_FILES_MAX: usize = 65_534;

/// Largest archive, in bytes: a larger one needs other records.
pub const ARCHIVE_BYTES_MAX: u64 = 0xFFFF_FFFE;

/// A local header begins like that, an entry of the directory, and the end.
pub(super) const LOCAL: u32 = 0x0403_4B50;
pub(super) const CENTRAL: u32 = 0x0201_4B50;
pub(super) const END: u32 = 0x0605_4B50;

/// The bytes of each before its path.
pub(super) const LOCAL_BYTES: usize = 30;
pub(super) const CENTRAL_BYTES: usize = 46;
pub(super) const END_BYTES: usize = 22;

/// By Unix (3), with version 2.0 of the format.
const MADE_BY: u16 = 0x0314;
/// Version 1.0: stored files.
const NEEDED: u16 = 10;
/// Bit 11: paths are UTF-8.
const FLAGS: u16 = 1 << 11;
const STORED: u16 = 0;
/// Midnight, and 1 January 1980, the first day that there is.
const TIME: u16 = 0;
const DATE: u16 = 0x0021;
/// A regular file, `rw-r--r--`, in the upper half as Unix has it.
const ATTRIBUTES: u32 = 0o100_644 << 16;

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) bytes: u32,
    pub(super) crc32: u32,
}

impl Entry {
    /// What stands before the file's bytes.
    pub(super) fn local(&self) -> Vec<u8> {
        let mut header = Vec::with_capacity(LOCAL_BYTES + self.path.len());
        header.extend(LOCAL.to_le_bytes());
        self.shared(&mut header);
        header.extend(self.path.as_bytes());
        header
    }

    /// What the directory says of it, whose local header is at `offset`.
    pub(super) fn central(&self, offset: u32) -> Vec<u8> {
        let mut header = Vec::with_capacity(CENTRAL_BYTES + self.path.len());
        header.extend(CENTRAL.to_le_bytes());
        header.extend(MADE_BY.to_le_bytes());
        self.shared(&mut header);
        let (comment, disk, internal) = (0_u16, 0_u16, 0_u16);
        for field in [comment, disk, internal] {
            header.extend(field.to_le_bytes());
        }
        header.extend(ATTRIBUTES.to_le_bytes());
        header.extend(offset.to_le_bytes());
        header.extend(self.path.as_bytes());
        header
    }

    /// The fields that both have, in the same order.
    fn shared(&self, header: &mut Vec<u8>) {
        for field in [NEEDED, FLAGS, STORED, TIME, DATE] {
            header.extend(field.to_le_bytes());
        }
        for field in [self.crc32, self.bytes, self.bytes] {
            header.extend(field.to_le_bytes());
        }
        let path_bytes = u16::try_from(self.path.len()).expect("paths are bounded");
        let extra = 0_u16;
        header.extend(path_bytes.to_le_bytes());
        header.extend(extra.to_le_bytes());
    }
}

/// The last record: a directory of so many files and bytes, which begins at `offset`.
pub(super) fn end(files: u16, directory_bytes: u32, offset: u32) -> Vec<u8> {
    let mut record = Vec::with_capacity(END_BYTES);
    record.extend(END.to_le_bytes());
    let (this_disk, first_disk, comment) = (0_u16, 0_u16, 0_u16);
    for field in [this_disk, first_disk, files, files] {
        record.extend(field.to_le_bytes());
    }
    record.extend(directory_bytes.to_le_bytes());
    record.extend(offset.to_le_bytes());
    record.extend(comment.to_le_bytes());
    record
}

/// How large the archive of these files is, as paths and sizes in bytes.
pub(super) fn archive_bytes<'a>(files: impl Iterator<Item = (&'a str, u64)>) -> u64 {
    let headers = (LOCAL_BYTES + CENTRAL_BYTES) as u64;
    let of_file = |(path, bytes): (&str, u64)| bytes.saturating_add(headers + 2 * path.len() as u64);
    files.map(of_file).fold(END_BYTES as u64, u64::saturating_add)
}
