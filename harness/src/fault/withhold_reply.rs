//! The lost reply: withhold it until the effect is visible in the store, then kill the whole tree.
//!
//! Works on an unmodified server: nothing in it has to cooperate. After the effect is visible, the fault gives the reply
//! a bounded time to arrive, so that the record shows what the client lost.
//!
//! Some stores cannot be read beside a living server (SQLite in `locking_mode=EXCLUSIVE`, a store too large to copy). For
//! them the whole reply marks the moment. It says nothing of the effect, so the frozen store has to show that afterwards.
//! A store that is only busy for a while is waited for:
//!
//! * that could not be read before the request either: until `withheld_reply_ms` after the reply;
//! * that could (some lock their store at the first write, for good): as long as an effect is waited for.

use super::{Act, Delivery, Fault, Moment, Seen};
use crate::case::Bounds;

/// See the module's documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WithholdReply {
    effect_visible_ms: u64,
    withheld_reply_ms: u64,
    visible_at_ms: Option<u64>,
    reply_at_ms: Option<u64>,
    /// Whether any look since the request could read the store.
    was_read: bool,
    /// Whether any look since the reply could.
    was_read_after_reply: bool,
}

impl WithholdReply {
    /// The fault with the bounds of a case.
    pub fn new(bounds: &Bounds) -> Self {
        Self {
            effect_visible_ms: bounds.effect_visible_ms,
            withheld_reply_ms: bounds.withheld_reply_ms,
            visible_at_ms: None,
            reply_at_ms: None,
            was_read: false,
            was_read_after_reply: false,
        }
    }

    /// Whether the whole reply has to stand for the effect.
    fn reply_marks(&self, seen: Seen) -> bool {
        let Some(at) = self.reply_at_ms else { return false };
        let never_read = !seen.store_before.is_clear() && !self.was_read;
        let waited = never_read && seen.elapsed_ms - at >= self.withheld_reply_ms;
        !self.was_read_after_reply && (waited || seen.elapsed_ms >= self.effect_visible_ms)
    }
}

impl Fault for WithholdReply {
    fn delivery(&self) -> Delivery {
        Delivery::Withhold
    }

    fn next(&mut self, seen: Seen) -> Act {
        let is_visible = seen.effects_now.is_some_and(|now| now > seen.effects_before);
        if is_visible && self.visible_at_ms.is_none() {
            self.visible_at_ms = Some(seen.elapsed_ms);
        }
        if seen.reply_is_whole && self.reply_at_ms.is_none() {
            self.reply_at_ms = Some(seen.elapsed_ms);
        }
        self.was_read |= seen.store_now.is_clear();
        self.was_read_after_reply |= seen.store_now.is_clear() && seen.reply_is_whole;
        match self.visible_at_ms {
            Some(_) if seen.reply_is_whole || seen.stream_ended => Act::KillTree(Moment::Effect),
            Some(at) if seen.elapsed_ms - at >= self.withheld_reply_ms => Act::KillTree(Moment::Effect),
            Some(_) => Act::Wait,
            None if self.reply_marks(seen) => Act::KillTree(Moment::Reply),
            None if seen.elapsed_ms >= self.effect_visible_ms => Act::Missed(format!(
                "no effect was visible in the store within {} ms{}{}",
                self.effect_visible_ms,
                if seen.reply_is_whole {
                    ", although the reply had come"
                } else {
                    ""
                },
                if self.was_read {
                    ""
                } else {
                    "; all that time the store could not be read beside the living server"
                }
            )),
            // A server that has just ended still holds its locks for an instant.
            None if seen.stream_ended && seen.store_now.is_clear() => {
                Act::Missed("the server ended by itself before any effect was visible".to_owned())
            }
            None => Act::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sight;
    use super::*;

    fn fault() -> WithholdReply {
        WithholdReply::new(&Bounds {
            effect_visible_ms: 100,
            withheld_reply_ms: 10,
            ..Bounds::default()
        })
    }

    fn seen(effects_now: usize, reply_is_whole: bool, elapsed_ms: u64) -> Seen {
        Seen {
            effects_now: Some(effects_now),
            store_before: Sight::Clear,
            store_now: Sight::Clear,
            reply_is_whole,
            elapsed_ms,
            ..Seen::default()
        }
    }

    #[test]
    fn it_waits_for_the_effect_and_then_for_the_reply() {
        let mut fault = fault();
        assert_eq!(fault.delivery(), Delivery::Withhold);
        assert_eq!(fault.next(seen(0, false, 0)), Act::Wait);
        assert_eq!(
            fault.next(seen(0, true, 1)),
            Act::Wait,
            "a reply is no proof of an effect"
        );
        assert_eq!(fault.next(seen(1, true, 2)), Act::KillTree(Moment::Effect));
    }

    #[test]
    fn a_reply_that_does_not_come_is_not_waited_for_beyond_its_bound() {
        let mut fault = fault();
        assert_eq!(fault.next(seen(1, false, 50)), Act::Wait);
        assert_eq!(fault.next(seen(1, false, 59)), Act::Wait);
        assert_eq!(fault.next(seen(1, false, 60)), Act::KillTree(Moment::Effect));
    }

    #[test]
    fn an_effect_that_never_shows_is_a_missed_moment() {
        let mut fault = fault();
        assert_eq!(fault.next(seen(0, false, 99)), Act::Wait);
        assert!(matches!(fault.next(seen(0, true, 100)), Act::Missed(reason) if reason.contains("although the reply")));
    }

    #[test]
    fn rows_that_were_there_before_are_no_effect() {
        let mut fault = fault();
        let before = Seen {
            effects_before: 1,
            ..seen(1, true, 5)
        };
        assert_eq!(fault.next(before), Act::Wait);
    }

    #[test]
    fn a_server_that_dies_by_itself_before_the_effect_is_a_missed_moment() {
        let ended = Seen {
            stream_ended: true,
            ..seen(0, false, 5)
        };
        assert!(matches!(fault().next(ended), Act::Missed(_)));
    }

    /// A look at a store that nobody can read.
    fn blind(readable_before: bool, reply_is_whole: bool, elapsed_ms: u64) -> Seen {
        Seen {
            effects_now: None,
            store_before: Sight::of(readable_before),
            store_now: Sight::Blocked,
            ..seen(0, reply_is_whole, elapsed_ms)
        }
    }

    #[test]
    fn a_store_that_cannot_be_read_yet_is_no_effect() {
        assert_eq!(fault().next(blind(true, true, 5)), Act::Wait);
        assert_eq!(fault().next(blind(false, true, 5)), Act::Wait);
    }

    #[test]
    fn where_the_store_was_never_readable_the_reply_marks_the_moment() {
        let mut fault = fault();
        assert_eq!(fault.next(blind(false, false, 20)), Act::Wait);
        assert_eq!(fault.next(blind(false, true, 30)), Act::Wait);
        assert_eq!(fault.next(blind(false, true, 39)), Act::Wait);
        assert_eq!(fault.next(blind(false, true, 40)), Act::KillTree(Moment::Reply));
    }

    #[test]
    fn a_store_that_was_readable_before_is_waited_for_as_long_as_an_effect() {
        let mut fault = fault();
        assert_eq!(fault.next(blind(true, true, 30)), Act::Wait);
        assert_eq!(fault.next(blind(true, true, 99)), Act::Wait);
        assert_eq!(fault.next(blind(true, true, 100)), Act::KillTree(Moment::Reply));
    }

    /// Busy for a moment, and then readable: it is looked into, however long that takes.
    #[test]
    fn a_look_into_the_store_after_the_reply_takes_the_mark_away() {
        let mut miss = fault();
        assert_eq!(miss.next(blind(false, true, 30)), Act::Wait);
        assert_eq!(miss.next(seen(0, true, 35)), Act::Wait);
        assert_eq!(miss.next(blind(false, true, 60)), Act::Wait);
        assert!(matches!(miss.next(blind(false, true, 100)), Act::Missed(_)));
        let mut hit = fault();
        assert_eq!(hit.next(blind(false, true, 30)), Act::Wait);
        assert_eq!(hit.next(seen(1, true, 39)), Act::KillTree(Moment::Effect));
    }

    #[test]
    fn without_a_reply_an_unreadable_store_is_a_missed_moment_that_says_so() {
        let mut fault = fault();
        assert_eq!(fault.next(blind(false, false, 99)), Act::Wait);
        let said = "all that time the store could not be read";
        assert!(matches!(fault.next(blind(false, false, 100)), Act::Missed(reason) if reason.contains(said)));
    }

    #[test]
    fn a_server_that_has_just_ended_may_still_hold_its_locks() {
        let mut fault = fault();
        let ended = Seen {
            stream_ended: true,
            ..blind(false, false, 5)
        };
        assert_eq!(fault.next(ended), Act::Wait);
        let readable = Seen {
            stream_ended: true,
            ..seen(1, false, 6)
        };
        assert_eq!(fault.next(readable), Act::KillTree(Moment::Effect));
    }
}
