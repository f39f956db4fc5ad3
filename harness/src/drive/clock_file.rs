//! The file from which processes read the injected time.
//!
//! They read it whenever they like, so it is replaced, never written in place: nobody may find it empty or half written.

use std::fs;
use std::io;
use std::path::Path;

/// Sets the time that the file tells, in Unix seconds.
pub(super) fn set(path: &Path, now_s: i64) -> io::Result<()> {
    let fresh = path.with_extension("fresh");
    fs::write(&fresh, format!("{now_s}\n"))?;
    fs::rename(&fresh, path)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// A reaper that looked while the file was being written found no time in it, and ended.
    #[test]
    fn who_reads_while_the_time_changes_reads_a_whole_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("clock");
        set(&path, 1_000).expect("a time");
        let mut reader = fs::File::open(&path).expect("a reader");
        set(&path, 2_000).expect("another time");
        let mut read = String::new();
        reader.read_to_string(&mut read).expect("a whole time");
        assert_eq!(read, "1000\n");
        assert_eq!(fs::read_to_string(&path).expect("the other time"), "2000\n");
        let names = fs::read_dir(folder.path()).expect("a folder");
        assert_eq!(names.count(), 1, "nothing is left beside it");
    }
}
