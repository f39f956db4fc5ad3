//! How long evidence is looked at in all. Queries have bounds by steps, but a single step of SQLite's machine can take years
//! (`instr` of two large values), and nothing stops it; then the look is given up from outside.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::drive::clock::Deadline;

/// Longest time for all of it: a little more than stores are asked.
pub(super) const LOOK_TIME_MAX: Duration = Duration::from_secs(70 * 60);

/// As much as the main thread has.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// What the thread that looks says.
enum Said<T> {
    Now(String),
    Done(T),
}

/// What the work comes to; nothing where that takes longer. `tell` hears of what is done meanwhile.
pub(super) fn within<T: Send + 'static>(
    time_max: Duration,
    tell: &mut dyn FnMut(&str),
    work: impl FnOnce(&mut dyn FnMut(&str)) -> T + Send + 'static,
) -> Option<T> {
    let (said, hear) = mpsc::channel();
    // Whoever has given up hears nothing any more.
    let look = move || {
        let done = work(&mut |now| drop(said.send(Said::Now(now.to_owned()))));
        drop(said.send(Said::Done(done)));
    };
    let looking = thread::Builder::new().stack_size(STACK_BYTES).spawn(look);
    let looking = looking.expect("the system starts a thread");
    let deadline = Deadline::after(time_max);
    loop {
        match hear.recv_timeout(deadline.remaining()) {
            Ok(Said::Now(now)) => tell(&now),
            Ok(Said::Done(done)) => return Some(done),
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => {
                let panicked = looking.join().expect_err("it ended without a word");
                std::panic::resume_unwind(panicked);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_ends_is_told_and_awaited() {
        let mut told = Vec::new();
        let sum = within(LOOK_TIME_MAX, &mut |now| told.push(now.to_owned()), |tell| {
            tell("adding");
            1 + 1
        });
        assert_eq!((sum, told), (Some(2), vec!["adding".to_owned()]));
    }

    /// It waits for what never comes, as a step that takes years would.
    #[test]
    fn work_that_does_not_end_is_given_up() {
        let (never, waits) = mpsc::channel::<()>();
        let given_up = within(Duration::ZERO, &mut |_| {}, move |_| waits.recv().is_ok());
        assert_eq!(given_up, None);
        drop(never);
    }

    #[test]
    #[should_panic(expected = "a bug of ours")]
    fn a_bug_is_no_finding() {
        within(LOOK_TIME_MAX, &mut |_| {}, |_| panic!("a bug of ours"));
    }
}
