//! Repeats the killing of a tree until nothing of it is left, within a bound on time and on rounds.
//!
//! Knows nothing of how processes are found or signalled.

use std::time::Duration;

use super::tree::{Round, Tree};
use crate::drive::clock::{self, Deadline};

/// Longest time that killing one tree may take.
pub const KILL_TIME_MAX: Duration = Duration::from_secs(10);

/// Most rounds in killing one tree; only a tree that forks faster than we look comes near.
pub const KILL_ROUNDS_MAX: usize = 100_000;

/// So many rounds in a row must find nothing: an orphan is in no list for the moment in which it changes parents.
const QUIET_ROUNDS: usize = 2;

/// So many times in all an orphan is waited for that may be of the tree, until its environment can be read: it cannot
/// while a program is being executed, and never can for another user's.
pub const UNSURE_ROUNDS_MAX: usize = 20;

/// What to do after a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Something new turned up, or it must be looked at once more: go on without a pause.
    Again,
    /// All that is left was signalled and needs a moment to die.
    Pause,
    /// Nothing is left, or the bound is reached; this many are live.
    Done(usize),
}

#[derive(Debug, Default)]
struct Pursuit {
    rounds: usize,
    quiet: usize,
    unsure: usize,
}

impl Pursuit {
    fn next(&mut self, round: Round, out_of_time: bool) -> Next {
        self.rounds += 1;
        if round.live == 0 && round.unsure > 0 && self.unsure < UNSURE_ROUNDS_MAX && !out_of_time {
            self.unsure += 1;
            return Next::Pause;
        }
        self.quiet = if round.live == 0 { self.quiet + 1 } else { 0 };
        if self.quiet >= QUIET_ROUNDS {
            Next::Done(0)
        } else if out_of_time || self.rounds >= KILL_ROUNDS_MAX {
            Next::Done(round.live)
        } else if round.fresh > 0 || round.live == 0 {
            Next::Again
        } else {
            Next::Pause
        }
    }
}

/// Kills the tree; returns how many of it are live afterwards.
pub(crate) async fn kill(tree: &mut Tree) -> usize {
    let deadline = Deadline::after(KILL_TIME_MAX);
    let mut pursuit = Pursuit::default();
    tree.freeze();
    loop {
        match pursuit.next(tree.kill_round(), deadline.has_passed()) {
            Next::Again => tokio::task::yield_now().await,
            Next::Pause => clock::pause().await,
            Next::Done(survivors) => return survivors,
        }
    }
}

/// [`kill`] for places that have no runtime, within a bound of the caller's.
pub(crate) fn kill_blocking(tree: &mut Tree, time_max: Duration) -> usize {
    let deadline = Deadline::after(time_max);
    let mut pursuit = Pursuit::default();
    tree.freeze();
    loop {
        match pursuit.next(tree.kill_round(), deadline.has_passed()) {
            Next::Again => {}
            Next::Pause => clock::pause_blocking(),
            Next::Done(survivors) => return survivors,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(fresh: usize, live: usize, unsure: usize) -> Round {
        Round { fresh, live, unsure }
    }

    #[test]
    fn it_ends_after_two_empty_looks_and_tells_what_the_bound_left() {
        let mut pursuit = Pursuit::default();
        assert_eq!(pursuit.next(round(2, 2, 0), false), Next::Again);
        assert_eq!(pursuit.next(round(0, 2, 0), false), Next::Pause);
        assert_eq!(pursuit.next(round(0, 0, 0), false), Next::Again);
        assert_eq!(pursuit.next(round(1, 1, 0), false), Next::Again);
        assert_eq!(pursuit.next(round(0, 0, 0), false), Next::Again);
        assert_eq!(pursuit.next(round(0, 0, 0), false), Next::Done(0));
        assert_eq!(Pursuit::default().next(round(0, 3, 0), true), Next::Done(3));
        let mut tired = Pursuit {
            rounds: KILL_ROUNDS_MAX,
            ..Pursuit::default()
        };
        assert_eq!(tired.next(round(1, 1, 0), false), Next::Done(1));
    }

    #[test]
    fn a_doubtful_orphan_is_waited_for_but_not_for_ever() {
        let mut pursuit = Pursuit::default();
        for _ in 0..UNSURE_ROUNDS_MAX {
            assert_eq!(pursuit.next(round(0, 0, 1), false), Next::Pause);
        }
        assert_eq!(pursuit.next(round(0, 0, 1), false), Next::Again);
        assert_eq!(pursuit.next(round(0, 0, 1), false), Next::Done(0));
    }
}
