//! When a server has come to rest: it has done what it can, and waits. Told from many looks, not from time. Pure.
//!
//! A thread that works through a request is at work in every look, however fast the machine is: when it has no processor, it
//! waits for one. A thread that waits for a lock of SQLite sleeps, but wakes up again and again to try, so that some looks find
//! it at work. Hence the share.

use std::collections::VecDeque;

/// So many looks make a picture.
const LOOKS: usize = 48;

/// At most so many of them find somebody at work who is at rest.
const AT_WORK_MAX: usize = LOOKS / 4;

/// The last looks.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// Whether each found somebody at work.
    looks: VecDeque<bool>,
}

impl Rest {
    /// Takes one more look in; whether what was looked at has come to rest by now.
    pub(super) fn after(&mut self, is_at_work: bool) -> bool {
        if self.looks.len() == LOOKS {
            self.looks.pop_front();
        }
        self.looks.push_back(is_at_work);
        let at_work = self.looks.iter().filter(|&&is_at_work| is_at_work).count();
        self.looks.len() == LOOKS && at_work <= AT_WORK_MAX
    }

    /// Begins anew: what was seen before says nothing any more.
    pub(super) fn forget(&mut self) {
        self.looks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many looks there was rest.
    fn looks_until_rest(looks: impl Iterator<Item = bool>) -> Option<usize> {
        let mut rest = Rest::default();
        let mut looks = looks.enumerate();
        looks.find_map(|(at, is_at_work)| rest.after(is_at_work).then_some(at + 1))
    }

    /// What SQLite's busy handler sleeps between two tries, in milliseconds; then 100 again and again. One look a millisecond.
    fn waiting_for_sqlite(awake_ms: usize) -> impl Iterator<Item = bool> {
        let sleeps = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50];
        let sleeps = sleeps.into_iter().chain(std::iter::repeat(100));
        sleeps.flat_map(move |sleep_ms| (0..awake_ms + sleep_ms).map(move |at| at < awake_ms))
    }

    #[test]
    fn who_sleeps_is_at_rest_as_soon_as_there_is_a_picture() {
        assert_eq!(looks_until_rest(std::iter::repeat_n(false, 1000)), Some(LOOKS));
    }

    #[test]
    fn who_waits_for_sqlite_is_at_rest_also_where_the_processor_comes_late() {
        for awake_ms in 1..=10 {
            let looks = looks_until_rest(waiting_for_sqlite(awake_ms).take(1000));
            assert!(looks.is_some_and(|looks| looks < 300), "{awake_ms} ms awake: {looks:?}");
        }
    }

    #[test]
    fn who_works_is_never_at_rest_also_where_some_looks_miss_it() {
        for missed in [1, 2] {
            let looks = (0..10_000).map(|at| at % 3 >= missed);
            assert_eq!(looks_until_rest(looks), None, "{missed} of 3 looks miss it");
        }
    }

    #[test]
    fn rest_comes_after_the_work() {
        let looks = std::iter::repeat_n(true, 500).chain(std::iter::repeat_n(false, LOOKS));
        let looks = looks_until_rest(looks).expect("it sleeps in the end");
        assert!(looks > 500, "at rest after {looks} looks");
    }

    #[test]
    fn what_was_seen_before_does_not_count_after_it_is_forgotten() {
        let mut rest = Rest::default();
        for _ in 0..LOOKS {
            rest.after(false);
        }
        rest.forget();
        assert!(!rest.after(false));
    }
}
