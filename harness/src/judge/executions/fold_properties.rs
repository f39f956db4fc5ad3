//! Properties of the fold: whatever a small model of a server does folds to the model's state, and a changed history folds
//! exactly where an oracle of another shape says that it can have happened, and to what that says.

use proptest::prelude::*;
use proptest::sample::Index;

use super::event::{Event, GIVEN_BACK, State, TERMINAL, Word};
use super::fold::{Folded, fold};

type Log = Vec<(i64, Event<'static>)>;

/// One thing that may happen to the model, if it can happen now.
#[derive(Debug, Clone, Copy)]
enum Move {
    Claim { skipped: u8, worker: bool },
    Beat,
    Complete,
    Fail,
    FailForGood,
    Expire,
    ExpireForGood,
    GiveBack,
    Promote,
    Cancel,
    Refuse(u8),
    Duplicate,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let claim = (0_u8..3, any::<bool>()).prop_map(|(skipped, worker)| Move::Claim { skipped, worker });
    let one = prop_oneof![
        6 => claim,
        2 => Just(Move::Beat),
        1 => Just(Move::Complete),
        2 => Just(Move::Fail),
        1 => Just(Move::FailForGood),
        3 => Just(Move::Expire),
        1 => Just(Move::ExpireForGood),
        2 => Just(Move::GiveBack),
        3 => Just(Move::Promote),
        1 => Just(Move::Cancel),
        2 => any::<u8>().prop_map(Move::Refuse),
        1 => Just(Move::Duplicate),
    ];
    proptest::collection::vec(one, 0..40)
}

/// A server with one execution: what it keeps, and what it writes down about it, a transaction for each move.
struct Server {
    state: State,
    attempts: i64,
    /// Tokens that were given, with their workers.
    given: Vec<(i64, &'static str)>,
    log: Vec<Event<'static>>,
}

impl Server {
    fn after(moves: &[Move]) -> Self {
        let mut server = Self {
            state: State::Ready,
            attempts: 0,
            given: Vec::new(),
            log: Vec::new(),
        };
        server.tell(Word::Submitted, None, None);
        server.tell(Word::Ready, None, None);
        for one in moves {
            server.try_to(*one);
        }
        server
    }

    fn tell(&mut self, word: Word, about: Option<(i64, &'static str)>, note: Option<&'static str>) {
        self.log.push(Event {
            word,
            token: about.map(|(token, _)| token),
            worker: about.map(|(_, worker)| worker.to_owned()),
            note,
        });
    }

    fn try_to(&mut self, one: Move) {
        let last = self.given.last().copied();
        let holder = last.filter(|_| self.state == State::Running);
        match one {
            Move::Claim { skipped, worker } if self.state == State::Ready => {
                let token = last.map_or(0, |(token, _)| token) + 1 + i64::from(skipped);
                let lease = (token, if worker { "A" } else { "B" });
                self.given.push(lease);
                self.attempts += 1;
                self.state = State::Running;
                self.tell(Word::Claimed, Some(lease), None);
            }
            Move::Promote if self.state == State::RetryWait => {
                self.state = State::Ready;
                self.tell(Word::Ready, None, Some("retry_due"));
            }
            Move::Cancel if matches!(self.state, State::Ready | State::Running | State::RetryWait) => {
                self.state = State::Cancelled;
                self.tell(Word::Cancelled, None, None);
            }
            Move::Refuse(which) => {
                let stale: Vec<_> = self
                    .given
                    .iter()
                    .copied()
                    .filter(|lease| Some(*lease) != holder)
                    .collect();
                if !stale.is_empty() {
                    let lease = stale[usize::from(which) % stale.len()];
                    self.tell(Word::StaleRejected, Some(lease), Some("complete"));
                }
            }
            Move::Duplicate => self.tell(Word::DuplicateDetected, None, None),
            Move::Beat
            | Move::Complete
            | Move::Fail
            | Move::FailForGood
            | Move::Expire
            | Move::ExpireForGood
            | Move::GiveBack => {
                if holder.is_some() {
                    self.end_attempt(one, holder);
                }
            }
            Move::Claim { .. } | Move::Promote | Move::Cancel => {}
        }
    }

    fn end_attempt(&mut self, one: Move, holder: Option<(i64, &'static str)>) {
        match one {
            Move::Complete => {
                self.state = State::Completed;
                self.tell(Word::Completed, holder, None);
            }
            Move::Fail => {
                self.state = State::RetryWait;
                self.tell(Word::Failed, holder, None);
                self.tell(Word::RetryScheduled, None, None);
            }
            Move::FailForGood => {
                self.state = State::Failed;
                self.tell(Word::Failed, holder, Some(TERMINAL));
            }
            Move::Expire => {
                self.state = State::Ready;
                self.tell(Word::LeaseExpired, holder, None);
                self.tell(Word::Ready, None, Some("lease_expired"));
            }
            Move::ExpireForGood => {
                self.state = State::Failed;
                self.tell(Word::LeaseExpired, holder, None);
                self.tell(Word::Failed, holder, Some(TERMINAL));
            }
            Move::GiveBack => {
                self.state = State::Ready;
                self.attempts -= 1;
                self.tell(Word::Ready, holder, Some(GIVEN_BACK));
            }
            Move::Beat => self.tell(Word::Heartbeat, holder, None),
            Move::Claim { .. } | Move::Promote | Move::Cancel | Move::Refuse(_) | Move::Duplicate => {}
        }
    }

    fn row(&self) -> Folded {
        Folded {
            state: self.state,
            attempts: self.attempts,
            token: self.given.last().map_or(0, |(token, _)| *token),
        }
    }
}

/// What a log comes to, from what stands before each event and with no state carried along: nothing where one of them could
/// not have followed, or where more must come.
fn oracle(log: &Log) -> Option<Folded> {
    let events: Vec<&Event<'_>> = log.iter().map(|(_, event)| event).collect();
    let is_numbered = log.iter().zip(1..).all(|((seq, _), expected)| *seq == expected);
    let can_be = |at: usize| may_follow(&events[..at], events[at]);
    if !is_numbered || !(0..events.len()).all(can_be) {
        return None;
    }
    let last = last_that_counts(&events)?;
    let state = match last.word {
        Word::Ready if events.len() > 1 => State::Ready,
        Word::Claimed => State::Running,
        Word::RetryScheduled => State::RetryWait,
        Word::Completed => State::Completed,
        Word::Failed if last.is_terminal() => State::Failed,
        Word::Cancelled => State::Cancelled,
        Word::Submitted
        | Word::Ready
        | Word::Heartbeat
        | Word::Failed
        | Word::LeaseExpired
        | Word::StaleRejected
        | Word::DuplicateDetected => return None,
    };
    let claims = events.iter().filter(|event| event.word == Word::Claimed).count();
    let attempts = claims - events.iter().filter(|event| event.is_given_back()).count();
    Some(Folded {
        state,
        attempts: i64::try_from(attempts).ok()?,
        token: tokens(&events).max().unwrap_or(0),
    })
}

fn tokens<'a>(before: &'a [&Event<'_>]) -> impl Iterator<Item = i64> + 'a {
    let claims = before.iter().filter(|event| event.word == Word::Claimed);
    claims.filter_map(|event| event.token)
}

fn last_that_counts<'a, 'e>(before: &[&'a Event<'e>]) -> Option<&'a Event<'e>> {
    let changes_nothing = [Word::Heartbeat, Word::StaleRejected, Word::DuplicateDetected];
    before
        .iter()
        .rfind(|event| !changes_nothing.contains(&event.word))
        .copied()
}

fn may_follow(before: &[&Event<'_>], event: &Event<'_>) -> bool {
    let previous = last_that_counts(before);
    let is_behind = |words: &[Word]| previous.is_some_and(|previous| words.contains(&previous.word));
    let is_about_it = event.token.is_some() && previous.is_some_and(|previous| previous.token == event.token);
    let by_holder = is_behind(&[Word::Claimed]) && is_about_it;
    match event.word {
        Word::Submitted => before.is_empty(),
        Word::Ready if event.is_given_back() => by_holder,
        Word::Ready => is_behind(&[Word::Submitted, Word::LeaseExpired, Word::RetryScheduled]),
        Word::Claimed => is_behind(&[Word::Ready]) && tokens(before).chain([0]).max() < event.token,
        Word::Heartbeat | Word::Completed | Word::LeaseExpired => by_holder,
        Word::Failed if event.is_terminal() => by_holder || (is_behind(&[Word::LeaseExpired]) && is_about_it),
        Word::Failed => by_holder,
        Word::RetryScheduled => is_behind(&[Word::Failed]) && !previous.is_some_and(Event::is_terminal),
        Word::Cancelled => is_behind(&[Word::Ready, Word::Claimed, Word::RetryScheduled]),
        Word::StaleRejected => {
            tokens(before).any(|token| Some(token) == event.token) && !(is_behind(&[Word::Claimed]) && is_about_it)
        }
        Word::DuplicateDetected => !before.is_empty(),
    }
}

/// One thing done to a log by somebody who should not have.
#[derive(Debug, Clone)]
enum Tampering {
    Drop(Index),
    Repeat(Index),
    Swap(Index, Index),
}

fn tampering() -> impl Strategy<Value = Tampering> {
    prop_oneof![
        any::<Index>().prop_map(Tampering::Drop),
        any::<Index>().prop_map(Tampering::Repeat),
        any::<(Index, Index)>().prop_map(|(one, other)| Tampering::Swap(one, other)),
    ]
}

impl Tampering {
    fn of(&self, log: &Log) -> Log {
        let mut log = log.clone();
        match self {
            Self::Drop(at) => drop(log.remove(at.index(log.len()))),
            Self::Repeat(at) => {
                let at = at.index(log.len());
                log.insert(at, log[at].clone());
            }
            Self::Swap(one, other) => {
                let (one, other) = (one.index(log.len()), other.index(log.len()));
                log.swap(one, other);
            }
        }
        log
    }
}

fn numbered(events: impl IntoIterator<Item = Event<'static>>) -> Log {
    (1..).zip(events).collect()
}

/// Any event at all, about few tokens, so that some of them can follow.
fn any_event() -> impl Strategy<Value = Event<'static>> {
    let parts = (
        proptest::sample::select(Word::ALL),
        proptest::option::weighted(0.9, 0_i64..4),
        proptest::sample::select(vec![None, None, Some(TERMINAL), Some(GIVEN_BACK)]),
    );
    parts.prop_map(|(word, token, note)| Event {
        word,
        token,
        worker: None,
        note,
    })
}

proptest! {
    #[test]
    fn what_a_server_did_folds_to_how_it_stands(moves in moves()) {
        let server = Server::after(&moves);
        prop_assert_eq!(fold(&numbered(server.log.clone())), Ok(server.row()));
    }

    /// Who drops, repeats or swaps events without numbering them anew is found out; only what was cut off at the end leaves
    /// a history that can have been, and that comes to less.
    #[test]
    fn no_changed_log_folds_unless_its_end_is_missing(moves in moves(), tampering in tampering()) {
        let server = Server::after(&moves);
        let log = numbered(server.log.clone());
        let changed = tampering.of(&log);
        if log.starts_with(&changed) {
            prop_assert_eq!(fold(&changed).ok(), oracle(&changed));
        } else {
            prop_assert!(fold(&changed).is_err(), "{:?}", changed);
        }
    }

    /// Who also numbers them anew has to tell a history that can have been, and it comes to what that one says.
    #[test]
    fn a_log_that_was_numbered_anew_folds_to_what_it_says_now(moves in moves(), tampering in tampering()) {
        let server = Server::after(&moves);
        let changed = numbered(tampering.of(&numbered(server.log.clone())).into_iter().map(|(_, event)| event));
        prop_assert_eq!(fold(&changed).ok(), oracle(&changed), "{:?}", changed);
    }

    /// An event that changes how it stands cannot have happened twice in a row.
    #[test]
    fn nothing_that_counts_is_told_twice(moves in moves(), at in any::<Index>()) {
        let server = Server::after(&moves);
        let at = at.index(server.log.len());
        let mut events = server.log.clone();
        events.insert(at, events[at].clone());
        let changes_nothing = [Word::Heartbeat, Word::StaleRejected, Word::DuplicateDetected];
        let folded = fold(&numbered(events));
        if changes_nothing.contains(&server.log[at].word) {
            prop_assert_eq!(folded, Ok(server.row()));
        } else {
            prop_assert!(folded.is_err());
        }
    }

    #[test]
    fn any_events_fold_where_they_can_have_happened(
        moves in moves(),
        kept in any::<Index>(),
        rest in proptest::collection::vec(any_event(), 0..4),
    ) {
        let begun = Server::after(&moves).log;
        let kept = kept.index(begun.len() + 1);
        let log = numbered(begun.into_iter().take(kept).chain(rest));
        prop_assert_eq!(fold(&log).ok(), oracle(&log), "{:?}", log);
    }
}
