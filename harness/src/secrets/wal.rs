//! The checksums of an SQLite write-ahead log whose pages were masked. Pure.
//!
//! Every frame has a sum over itself and all before it; a masked page without a new sum would end the log there for whoever
//! reads it, and the rows behind it would be gone. The layout is that of the section "WAL File Format" of SQLite's file format.

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The header of a log begins with this number; with the lowest bit set its sums are made of big-endian words.
const MAGIC: u32 = 0x377f_0682;

/// The sums of a log, as far as it was read.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sums(u32, u32);

impl Sums {
    fn over(self, bytes: &[u8], is_big: bool) -> Self {
        bytes.chunks_exact(8).fold(self, |Self(first, second), pair| {
            let word = |at: usize| {
                let word = [pair[at], pair[at + 1], pair[at + 2], pair[at + 3]];
                if is_big {
                    u32::from_be_bytes(word)
                } else {
                    u32::from_le_bytes(word)
                }
            };
            let first = first.wrapping_add(word(0)).wrapping_add(second);
            Self(first, second.wrapping_add(word(4)).wrapping_add(first))
        })
    }

    fn read(bytes: &[u8], at: usize) -> Self {
        Self(number(bytes, at), number(bytes, at + 4))
    }

    fn write(self, bytes: &mut [u8], at: usize) {
        bytes[at..at + 4].copy_from_slice(&self.0.to_be_bytes());
        bytes[at + 4..at + 8].copy_from_slice(&self.1.to_be_bytes());
    }
}

/// Makes the sums of `masked` right as far as those of `before` were, which has the same length. Nothing is done where it is no log.
pub(super) fn put_right(before: &[u8], masked: &mut [u8]) {
    if before.len() < HEADER || masked.len() != before.len() || number(before, 0) & !1 != MAGIC {
        return;
    }
    let is_big = number(before, 0) & 1 == 1;
    let page = number(before, 8) as usize;
    let mut then = Sums(0, 0).over(&before[..24], is_big);
    if then != Sums::read(before, 24) || page < 512 {
        return;
    }
    let mut now = Sums(0, 0).over(&masked[..24], is_big);
    now.write(masked, 24);
    let salts = before[16..24].to_vec();
    let mut at = HEADER;
    while at + FRAME_HEADER + page <= before.len() {
        let data = at + FRAME_HEADER..at + FRAME_HEADER + page;
        then = then
            .over(&before[at..at + 8], is_big)
            .over(&before[data.clone()], is_big);
        // What stands behind is left from an older log, and nobody reads it.
        if before[at + 8..at + 16] != salts || then != Sums::read(before, at + 16) {
            return;
        }
        now = now
            .over(&masked[at..at + 8], is_big)
            .over(&masked[data.clone()], is_big);
        now.write(masked, at + 16);
        at = data.end;
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SQLite itself reads the masked log, and every row is there.
    #[test]
    fn sqlite_reads_a_masked_log_to_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join("store");
        let open = rusqlite::Connection::open(&store).expect("a store");
        open.execute_batch(
            "PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES ('first hunter2'); INSERT INTO t VALUES ('second');",
        )
        .expect("rows");
        let copy = folder.path().join("copy");
        std::fs::copy(&store, &copy).expect("copy");
        let before = std::fs::read(folder.path().join("store-wal")).expect("a log");
        let mut masked = before.clone();
        while let Some(at) = masked.windows(7).position(|seven| seven == b"hunter2") {
            masked[at..at + 7].fill(b'*');
        }
        assert_ne!(masked, before);
        let rows = |log: &[u8]| {
            std::fs::write(folder.path().join("copy-wal"), log).expect("write");
            let open = rusqlite::Connection::open(&copy).expect("a store");
            let mut asked = open.prepare("SELECT a FROM t")?;
            let rows: rusqlite::Result<Vec<String>> = asked.query_map([], |row| row.get(0))?.collect();
            rows
        };
        let broken = rows(&masked);
        assert!(
            broken.is_err() || broken.is_ok_and(|rows| rows.len() < 2),
            "the sums are needed"
        );
        std::fs::copy(&store, &copy).expect("copy");
        put_right(&before, &mut masked);
        assert_eq!(rows(&masked).expect("rows"), ["first *******", "second"]);
    }

    #[test]
    fn what_is_no_log_is_left_alone() {
        for bytes in [
            b"".to_vec(),
            vec![0; 100],
            MAGIC.to_be_bytes().to_vec(),
            [MAGIC.to_be_bytes().as_slice(), &[9; 60]].concat(),
        ] {
            let mut masked = bytes.clone();
            put_right(&bytes, &mut masked);
            assert_eq!(masked, bytes);
        }
    }
}
