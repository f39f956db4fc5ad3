//! SHA-256 as lower-case hex, the only digest that this crate's formats use.

use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

/// How much of a file is read at a time, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// The digest of `bytes`.
pub fn sha256_hex(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes))
}

/// The digest of a file's content, read in pieces.
pub fn sha256_file(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
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

#[cfg(test)]
mod tests {
    use super::*;

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
