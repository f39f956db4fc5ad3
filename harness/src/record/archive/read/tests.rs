//! Archives that were made to do harm, or damaged: nothing leaves the folder, nothing panics, and nothing goes unnoticed.

use proptest::prelude::*;

use super::*;
use crate::record::archive::headers::{CENTRAL_BYTES, LOCAL_BYTES};
use crate::record::archive::pack::pack;

/// An archive as our writer makes it, of these entries in this order, whatever they are called.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (path, content) in files {
        let mut crc = Crc32::new();
        crc.update(content);
        let entry = Entry {
            path: (*path).to_owned(),
            bytes: u32::try_from(content.len()).expect("small"),
            crc32: crc.value(),
        };
        directory.extend(entry.central(u32::try_from(bytes.len()).expect("small")));
        bytes.extend(entry.local());
        bytes.extend(*content);
    }
    let at = u32::try_from(bytes.len()).expect("small");
    let length = u32::try_from(directory.len()).expect("small");
    bytes.extend(directory);
    bytes.extend(end(u16::try_from(files.len()).expect("few"), length, at));
    bytes
}

fn usual() -> Vec<u8> {
    archive(&[
        ("SHA256SUMS", b"s"),
        ("cases/a/record.jsonl", b"{}\n"),
        ("run.json", b"{}"),
    ])
}

/// What is found in these bytes, and what was unpacked; nothing where they are no archive.
fn looked_at(bytes: &[u8]) -> Option<(Vec<String>, Vec<String>)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, inside) = (folder.path().join("a.zip"), folder.path().join("inside"));
    fs::write(&path, bytes).expect("write");
    fs::create_dir(&inside).expect("a folder");
    let archive = match ArchiveFile::open(&path) {
        Ok(archive) => archive,
        Err(ArchiveError::NotAnArchive { .. }) => return None,
        Err(error) => panic!("{error}"),
    };
    let mut found = archive.findings().to_vec();
    found.extend(archive.unpack(&inside).expect("unpack"));
    assert_eq!(
        fs::read_dir(folder.path()).expect("read").count(),
        2,
        "nothing lies beside"
    );
    let mut unpacked = Vec::new();
    let (_, files) = crate::record::evidence::walk(&inside, 100).expect("walk");
    unpacked.extend(files.into_keys());
    Some((found, unpacked))
}

fn refused(bytes: &[u8], told: &str) {
    let (found, unpacked) = looked_at(bytes).expect("an archive");
    assert!(found.iter().any(|found| found.contains(told)), "{told}: {found:?}");
    assert_eq!(unpacked, [""; 0], "{told}: nothing is unpacked");
}

/// Writes into the directory's entry of the file that ends the directory.
fn in_directory(path: &str, offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut whole = archive(&[(path, b"text")]);
    let at = LOCAL_BYTES + path.len() + 4 + offset;
    whole[at..at + bytes.len()].copy_from_slice(bytes);
    whole
}

#[test]
fn what_our_writer_makes_is_as_it_should_be() {
    let (found, unpacked) = looked_at(&usual()).expect("an archive");
    assert_eq!(found, [""; 0]);
    assert_eq!(
        unpacked,
        ["cases/a/record.jsonl", "run.json"],
        "and SHA256SUMS, which the walk leaves out"
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("SHA256SUMS"), "s").expect("write");
    let mut packed = Vec::new();
    pack(folder.path(), &mut packed).expect("pack");
    assert_eq!(packed, archive(&[("SHA256SUMS", b"s")]));
}

#[test]
fn names_that_lead_elsewhere_are_refused_before_anything_is_written() {
    for path in ["/tmp/x", "../x", "a/../../x", "a\\x", "a\0x", "a\nx", "", "a//x", "./x"] {
        refused(&archive(&[("SHA256SUMS", b"s"), (path, b"x")]), "archive: ");
    }
    refused(&archive(&[("a", b"1"), ("a", b"2")]), "twice: a");
    refused(&archive(&[("A", b"1"), ("a", b"2")]), "A and a differ only in case");
    refused(&archive(&[("a", b"1"), ("a/b", b"2")]), "a file and a folder: a");
}

#[test]
fn links_devices_compressed_encrypted_and_shared_bytes_are_refused() {
    for kind in [0o120_777_u32, 0o020_666, 0o060_666, 0o010_666, 0o140_666] {
        refused(
            &in_directory("a", 38, &(kind << 16).to_le_bytes()),
            "it is a link, a device",
        );
    }
    refused(&in_directory("a", 10, &8_u16.to_le_bytes()), "it is compressed");
    refused(&in_directory("a", 20, &1_u32.to_le_bytes()), "it is compressed");
    refused(&in_directory("a", 8, &1_u16.to_le_bytes()), "it is encrypted");
    refused(
        &in_directory("a", 42, &0xFFFF_0000_u32.to_le_bytes()),
        "leads to where no file is",
    );
    // A bomb: every entry of the directory means the same large file.
    let content = vec![0; 4096];
    let mut bytes = archive(&[("a", &content)]);
    bytes.truncate(LOCAL_BYTES + 1 + content.len());
    let (at, mut directory) = (u32::try_from(bytes.len()).expect("small"), Vec::new());
    let mut crc = Crc32::new();
    crc.update(&content);
    for number in 0..100 {
        let entry = Entry {
            path: format!("{number:02}"),
            bytes: 4096,
            crc32: crc.value(),
        };
        directory.extend(entry.central(0));
    }
    assert_eq!(directory.len(), 100 * (CENTRAL_BYTES + 2));
    let length = u32::try_from(directory.len()).expect("small");
    bytes.extend(directory);
    bytes.extend(end(100, length, at));
    refused(&bytes, "its files are larger than it is");
}

#[test]
fn an_archive_in_another_form_is_told_with_the_place_and_unpacked_all_the_same() {
    let unordered = archive(&[("run.json", b"{}"), ("SHA256SUMS", b"s")]);
    let longer = [usual().as_slice(), b"x"].concat();
    let commented = {
        let mut bytes = usual();
        let length = bytes.len();
        bytes[length - 2] = 1;
        [bytes.as_slice(), b"x"].concat()
    };
    for (bytes, told) in [
        (unordered, "in the header of \"SHA256SUMS\"".to_owned()),
        (longer, format!("byte {}, where it should end", usual().len())),
        (commented, format!("byte {}, in its end", usual().len() - 2)),
    ] {
        let (found, unpacked) = looked_at(&bytes).expect("an archive");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with(&told), "{told}: {found:?}");
        assert!(unpacked.contains(&"run.json".to_owned()));
    }
}

/// Also a sum of sizes that no file has, and offsets of everything: no byte of it is there for nothing.
#[test]
fn every_changed_byte_and_every_cut_is_found() {
    let bytes = usual();
    for at in 0..bytes.len() {
        for bit in [0x01, 0x10, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= bit;
            if let Some((found, _)) = looked_at(&changed) {
                assert!(!found.is_empty(), "byte {at}, bit {bit:#x}");
            }
        }
        if let Some((found, _)) = looked_at(&bytes[..at]) {
            assert!(!found.is_empty(), "cut at {at}");
        }
    }
}

#[test]
fn of_an_archive_that_was_cut_off_the_whole_files_are_unpacked() {
    let bytes = usual();
    let at = LOCAL_BYTES + "SHA256SUMS".len() + 1 + LOCAL_BYTES + 5;
    let (found, unpacked) = looked_at(&bytes[..at]).expect("an archive");
    assert!(found[0].contains("it has no end"), "{found:?}");
    assert!(found[1].contains("it ends, or cannot be read, in \"cases"), "{found:?}");
    assert_eq!(unpacked, [""; 0]);
}

proptest! {
    #[test]
    fn rubbish_is_no_archive_or_has_findings(bytes in proptest::collection::vec(any::<u8>(), 0..400), begins in any::<bool>(), ends in any::<bool>()) {
        let mut whole = if begins { LOCAL.to_le_bytes().to_vec() } else { Vec::new() };
        whole.extend(bytes);
        if ends {
            whole.extend(end(3, 7, 5));
        }
        if let Some((found, _)) = looked_at(&whole) {
            prop_assert!(!found.is_empty());
        }
    }

    #[test]
    fn an_archive_with_anything_overwritten_has_findings(changes in proptest::collection::vec((0_usize..1000, any::<[u8; 4]>()), 1..8), cut in 0_usize..40) {
        let bytes = usual();
        let mut changed = bytes.clone();
        for (at, four) in changes {
            let at = at % (bytes.len() - 4);
            changed[at..at + 4].copy_from_slice(&four);
        }
        changed.truncate(bytes.len() - cut);
        if changed != bytes && let Some((found, _)) = looked_at(&changed) {
            prop_assert!(!found.is_empty());
        }
    }
}
