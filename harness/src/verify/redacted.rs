//! What was masked before the evidence was handed on: told, and looked at as far as that can be seen.
//!
//! That a secret stood there, and which bytes the digests of before are of, is the runner's word.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::layout::Layout;
use super::store::Files;
use super::{Verified, read_json};
use crate::counted::counted;
use crate::plain_file;
use crate::record::{FileSeen, MASK, MaskedPlace, REDACTIONS_FILE, REDACTIONS_FORMAT, RedactedFile, Redactions};

/// A larger file (bytes) was not looked through for secrets, and so not masked.
const MASKED_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Looks at the list of what was masked, where there is one.
pub(super) fn look(files: Files<'_>, layout: &mut Layout, verified: &mut Verified) {
    if !files.seen.contains_key(REDACTIONS_FILE) {
        return;
    }
    layout.add_redactions();
    let found = match read_json::<Redactions>(&files.evidence.root().join(REDACTIONS_FILE)) {
        Ok(redactions) if redactions.format != REDACTIONS_FORMAT => {
            let format = redactions.format;
            vec![format!(
                "format {format} is not one this harness reads (it reads {REDACTIONS_FORMAT})"
            )]
        }
        Ok(redactions) => {
            verified.redacted = redactions.files.iter().filter_map(told).collect();
            let looked = redactions.files.iter().map(|file| look_at(files, file));
            // Each file is read once at most, however often it is named.
            match named_twice(&redactions.files) {
                Some(path) => vec![format!("{path} is named twice")],
                None => looked.filter_map(Result::err).collect(),
            }
        }
        Err(reason) => vec![reason],
    };
    let found = found.into_iter().map(|reason| format!("{REDACTIONS_FILE}: {reason}"));
    verified.findings.extend(found);
}

/// One line about a file in which something was masked.
fn told(file: &RedactedFile) -> Option<String> {
    let mut kinds = BTreeMap::<String, usize>::new();
    for place in &file.masked {
        *kinds.entry(place.kind.words()).or_default() += 1;
    }
    let kinds = kinds
        .into_iter()
        .map(|(kind, count)| format!("{kind}, {}", counted(count, "place", "places")));
    let kinds: Vec<String> = kinds.collect();
    if file.judged_again {
        return Some(format!(
            "{}: judged again, from what is masked; sha256 before {}",
            file.path, file.sha256_before
        ));
    }
    (!kinds.is_empty()).then(|| {
        format!(
            "{}: {}; sha256 before {}",
            file.path,
            kinds.join("; "),
            file.sha256_before
        )
    })
}

fn look_at(files: Files<'_>, file: &RedactedFile) -> Result<(), String> {
    let path = &file.path;
    let seen: &FileSeen = files.seen.get(path).ok_or_else(|| format!("{path} is not there"))?;
    if seen.sha256 != file.sha256_now {
        return Err(format!("{path} has another digest than it says"));
    }
    if file.masked.is_empty() {
        return Ok(());
    }
    // Nor are bytes looked at twice: a list could name the whole of a large file as often as it has room.
    if file.masked.windows(2).any(|two| !follows(&two[0], &two[1])) {
        return Err(format!("{path}: its places do not follow each other"));
    }
    if seen.bytes > MASKED_BYTES_MAX {
        return Err(format!("{path} is too large to have been masked"));
    }
    let bytes = plain_file::read_recorded(&files.evidence.root().join(path), seen.bytes);
    let bytes = bytes.map_err(|error| format!("{path}: {error}"))?;
    let mut places = file.masked.clone();
    places.dedup_by(|next, place| next.in_frame && next.range == place.range);
    match places.iter().find(|place| !is_masked(&bytes, place)) {
        Some(place) => Err(format!(
            "{path}: bytes {} to {} are not masked",
            place.range.start, place.range.end
        )),
        None => Ok(()),
    }
}

/// The path of the second entry of one file.
fn named_twice(files: &[RedactedFile]) -> Option<&str> {
    let mut paths = BTreeSet::new();
    let mut named = files.iter().map(|file| file.path.as_str());
    named.find(|path| !paths.insert(*path))
}

/// Whether a place comes after another; what was masked in one frame has the place of the frame.
fn follows(place: &MaskedPlace, next: &MaskedPlace) -> bool {
    next.range.start >= place.range.end || (place.in_frame && next.in_frame && place.range == next.range)
}

fn is_masked(bytes: &[u8], place: &MaskedPlace) -> bool {
    let Some(there) = bytes.get(place.range.clone()).filter(|there| !there.is_empty()) else {
        return false;
    };
    if place.in_frame {
        return BASE64.decode(there).is_ok_and(|frame| frame.contains(&MASK));
    }
    there.iter().all(|byte| *byte == MASK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Kind;

    #[test]
    fn a_mask_is_seen_in_the_bytes() {
        let frame = BASE64.encode("a **** b");
        let text = format!("x ****{frame} {}", BASE64.encode("plain"));
        let place = |range, in_frame| MaskedPlace {
            range,
            kind: Kind::Shape("a token".to_owned()),
            in_frame,
        };
        let end = 6 + frame.len();
        for (range, in_frame, expected) in [
            (2..6, false, true),
            (1..6, false, false),
            (2..2, false, false),
            (2..1000, false, false),
            (6..end, true, true),
            (6..end, false, false),
            (end + 1..text.len(), true, false),
        ] {
            assert_eq!(
                is_masked(text.as_bytes(), &place(range.clone(), in_frame)),
                expected,
                "{range:?}"
            );
        }
    }

    #[test]
    fn no_bytes_are_named_twice_but_those_of_a_frame() {
        let place = |range, in_frame| MaskedPlace {
            range,
            kind: Kind::Shape("a token".to_owned()),
            in_frame,
        };
        for (one, other, expected) in [
            (place(0..4, false), place(4..8, false), true),
            (place(0..4, false), place(3..8, false), false),
            (place(4..8, false), place(0..4, false), false),
            (place(0..4, false), place(0..4, false), false),
            (place(0..4, true), place(0..4, true), true),
            (place(0..4, true), place(0..4, false), false),
            (place(0..4, true), place(0..8, true), false),
        ] {
            assert_eq!(follows(&one, &other), expected, "{one:?} {other:?}");
        }
        let file = |path: &str| RedactedFile {
            path: path.to_owned(),
            sha256_before: String::new(),
            sha256_now: String::new(),
            masked: Vec::new(),
            digests_put_right: 0,
            judged_again: false,
        };
        assert_eq!(named_twice(&[file("a"), file("b"), file("a")]), Some("a"));
        assert_eq!(named_twice(&[file("a"), file("b")]), None);
    }
}
