//! SHA-256 as lower-case hex, the only digest that this crate's formats use.

use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

/// How much of a file is read at a time, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// The most files that a folder may hold to be digested.
const TREE_FILES_MAX: usize = 100_000;

/// The digest of `bytes`.
pub fn sha256_hex(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes))
}

/// The digest of a file's content, read in pieces.
pub fn sha256_file(path: &Path) -> std::io::Result<String> {
    let mut file = crate::plain_file::open(path)?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(base16ct::lower::encode_string(&hasher.finalize()));
        }
        hasher.update(&chunk[..read]);
    }
}

/// The digest of a file, or of a folder: that of its sorted list of `digest  path` lines, as `sha256sum` prints it.
/// Links are not followed.
pub fn sha256_tree(path: &Path) -> std::io::Result<String> {
    if !path.is_dir() {
        return sha256_file(path);
    }
    let mut lines = Vec::new();
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let inside = entry.path();
                let name = inside.strip_prefix(path).unwrap_or(&inside).display().to_string();
                lines.push((name, sha256_file(&inside)?));
            }
            if lines.len() > TREE_FILES_MAX {
                return Err(std::io::Error::other(format!(
                    "it holds more than {TREE_FILES_MAX} files"
                )));
            }
        }
    }
    lines.sort();
    let text: String = lines
        .into_iter()
        .map(|(name, sha256)| format!("{sha256}  {name}\n"))
        .collect();
    Ok(sha256_hex(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_told_by_names_and_bytes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("inside")).expect("a folder");
        std::fs::write(folder.path().join("inside/a"), "1").expect("write");
        let first = sha256_tree(folder.path()).expect("read");
        std::fs::rename(folder.path().join("inside/a"), folder.path().join("a")).expect("rename");
        assert_ne!(sha256_tree(folder.path()).expect("read"), first);
        std::fs::write(folder.path().join("a"), "2").expect("write");
        assert_ne!(sha256_tree(folder.path()).expect("read"), first);
    }

    #[test]
    fn the_digest_of_nothing_is_the_published_one() {
        let expected = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256_hex(b""), expected);
    }

    #[test]
    fn a_file_has_the_digest_of_its_bytes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("file");
        let bytes = vec![7_u8; 3 * CHUNK_BYTES + 1];
        std::fs::write(&path, &bytes).expect("write");
        assert_eq!(sha256_file(&path).expect("read"), sha256_hex(&bytes));
    }
}
