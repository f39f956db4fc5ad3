//! The board: the one run writes on it what became of each case, and each trial waits for its own.
//!
//! It has no bound of its own: every wait of the run has one, and when the run is over, in whatever way, so is the waiting.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};

/// What became of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    Passed,
    /// Nothing to fail for, and nothing shown: it was run, and what came out is known or allowed.
    Ignored(String),
    /// The target lacks what it needs, so it was not run.
    Lacks(String),
    Failed(String),
}

/// The board of one run.
#[derive(Debug, Default)]
pub(super) struct Board {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    told: BTreeMap<String, Told>,
    over: Option<Over>,
}

/// Why there is nothing of the cases that are not on the board.
#[derive(Debug)]
struct Over {
    /// All of it, for the first trial that asks.
    full: Option<String>,
    /// In one line, for the others.
    short: String,
}

impl Board {
    pub(super) fn tell(&self, id: &str, told: Told) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.told.insert(id.to_owned(), told);
        self.changed.notify_all();
    }

    /// Says that the run is over. The first reason stays.
    pub(super) fn end(&self, full: String, short: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.over.get_or_insert_with(|| Over {
            full: Some(full),
            short: short.to_owned(),
        });
        self.changed.notify_all();
    }

    /// Waits until something is known of the case, or nothing will be.
    pub(super) fn wait(&self, id: &str) -> Told {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(told) = state.told.get(id) {
                return told.clone();
            }
            if let Some(over) = &mut state.over {
                return Told::Failed(over.full.take().unwrap_or_else(|| over.short.clone()));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether any of these cases was run, or has a trial that fails because the run did not come to it.
    pub(super) fn has_tested<'a>(&self, ids: impl IntoIterator<Item = &'a String>) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_tested = |id: &String| match state.told.get(id) {
            Some(Told::Passed | Told::Ignored(_) | Told::Failed(_)) | None => true,
            Some(Told::Lacks(_)) => false,
        };
        ids.into_iter().any(is_tested)
    }

    /// Whether every case is there and none has failed.
    pub(super) fn is_green(&self, ids: &[String]) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_green = |id: &String| match state.told.get(id) {
            Some(Told::Passed | Told::Ignored(_) | Told::Lacks(_)) => true,
            Some(Told::Failed(_)) | None => false,
        };
        ids.iter().all(is_green)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_gets_what_became_of_its_case_and_only_the_first_the_whole_reason_why_there_is_nothing() {
        let board = Board::default();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| board.wait("a"));
            board.tell("a", Told::Passed);
            assert_eq!(waiting.join().expect("no panic"), Told::Passed);
        });
        board.end("long\nreason".to_owned(), "short");
        board.end("another".to_owned(), "another");
        assert_eq!(board.wait("b"), Told::Failed("long\nreason".to_owned()));
        assert_eq!(board.wait("c"), Told::Failed("short".to_owned()));
        assert_eq!(board.wait("a"), Told::Passed);
        assert!(!board.is_green(&["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn what_the_target_lacks_was_not_tested_and_what_is_known_to_fail_was() {
        let board = Board::default();
        let ids = ["passed", "known", "lacks", "lacks-too", "not-told"].map(str::to_owned);
        board.tell("passed", Told::Passed);
        board.tell("known", Told::Ignored("fails".to_owned()));
        board.tell("lacks", Told::Lacks("write".to_owned()));
        board.tell("lacks-too", Told::Lacks("status".to_owned()));
        // Nobody asked for `passed` here, so it does not count.
        assert!(!board.has_tested(&ids[2..4]));
        assert!(board.has_tested(&ids[1..3]));
        assert!(board.has_tested(&ids[2..5]));
        assert!(board.is_green(&ids[..4]));
    }
}
