//! What made a row, in a few words: the frames of ours that can have, or who else was there.

use std::fmt::Display;

use crate::case::{Case, Role, Step};
use crate::record::{FrameName, RowOrigin};

/// How many frames are named.
const FRAMES_SHOWN_MAX: usize = 8;

/// What made a row, each frame as `frame` says it, and where the row went. Only the case knows which workers there were.
pub(super) fn made_by<T: Display>(row: &RowOrigin, case: Option<&Case>, frame: impl Fn(&FrameName) -> T) -> String {
    let shown: Vec<String> = row
        .made_by
        .iter()
        .take(FRAMES_SHOWN_MAX)
        .map(|named| frame(named).to_string())
        .collect();
    let more = row.made_by.len() - shown.len() + row.made_by_more;
    let made = match (shown.as_slice(), more) {
        ([], _) => nobody(row, case),
        ([one], 0) => one.clone(),
        (several, 0) => format!("one of {}", several.join(", ")),
        (several, more) => format!("one of {} and {more} more", several.join(", ")),
    };
    match &row.gone_at {
        Some(label) => format!("{made}, gone at `{label}`"),
        None => made,
    }
}

/// Every request of ours had made its row before this one was there. A worker acts without being asked by a frame; whether it was
/// the worker, or the server on its own, the store does not tell.
fn nobody(row: &RowOrigin, case: Option<&Case>) -> String {
    let steps = case.map_or(&[][..], |case| &case.steps);
    let before = steps
        .iter()
        .take_while(|step| !matches!(step, Step::Observe(observe) if observe.label == row.first_seen));
    let workers: Vec<String> = before
        .filter_map(|step| {
            let Step::Start(start) = step else { return None };
            (start.role == Role::Worker).then(|| format!("`{}`", start.process))
        })
        .collect();
    match workers.as_slice() {
        [] => "none of our frames".to_owned(),
        [one] => format!("none of our frames, so by the worker {one} or by the server on its own"),
        several => format!(
            "none of our frames, so by one of the workers {} or by the server on its own",
            several.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Catalogue;
    use crate::record::FRAMES_NAMED_MAX;

    fn row(first_seen: &str, frames: u64) -> RowOrigin {
        let frame = |seq| FrameName {
            step: "submission".to_owned(),
            seq,
        };
        RowOrigin {
            operation: "A".to_owned(),
            row: serde_json::Map::new(),
            first_seen: first_seen.to_owned(),
            made_by: (1..=frames).map(frame).collect(),
            made_by_more: 0,
            gone_at: None,
        }
    }

    fn told(row: &RowOrigin, case: Option<&str>) -> String {
        let case = case.map(|id| Catalogue::embedded().get(id).expect("embedded"));
        made_by(row, case, |frame| frame.seq)
    }

    #[test]
    fn a_worker_is_named_where_no_frame_of_ours_made_a_row() {
        // `first` and `second` work there; before `held-by-second` only the two were started.
        assert_eq!(
            told(&row("end", 0), Some("stale-fencing")),
            "none of our frames, so by one of the workers `first`, `second` or by the server on its own"
        );
        assert_eq!(
            told(&row("held-by-first", 0), Some("stale-fencing")),
            "none of our frames, so by the worker `first` or by the server on its own"
        );
        assert_eq!(told(&row("end", 0), Some("lost-reply")), "none of our frames");
        assert_eq!(told(&row("end", 0), None), "none of our frames");
    }

    #[test]
    fn many_frames_are_counted_and_a_few_named() {
        assert_eq!(told(&row("end", 1), Some("stale-fencing")), "1");
        assert_eq!(told(&row("end", 3), None), "one of 1, 2, 3");
        let mut many = row("end", FRAMES_NAMED_MAX as u64);
        many.made_by_more = 936;
        many.gone_at = Some("later".to_owned());
        assert_eq!(
            told(&many, None),
            "one of 1, 2, 3, 4, 5, 6, 7, 8 and 992 more, gone at `later`"
        );
    }
}
