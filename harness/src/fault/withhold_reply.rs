//! The lost reply: withhold it until the effect is visible in the store, then kill the whole tree.
//!
//! Works on an unmodified server: nothing in it has to cooperate. After the effect is visible, the fault gives the reply
//! a bounded time to arrive, so that the record shows what the client lost.

use super::{Act, Delivery, Fault, Seen};
use crate::case::Bounds;

/// See the module's documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WithholdReply {
    effect_visible_ms: u64,
    withheld_reply_ms: u64,
    visible_at_ms: Option<u64>,
}

impl WithholdReply {
    /// The fault with the bounds of a case.
    pub fn new(bounds: &Bounds) -> Self {
        Self {
            effect_visible_ms: bounds.effect_visible_ms,
            withheld_reply_ms: bounds.withheld_reply_ms,
            visible_at_ms: None,
        }
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
        match self.visible_at_ms {
            Some(_) if seen.reply_is_whole || seen.stream_ended => Act::KillTree,
            Some(at) if seen.elapsed_ms - at >= self.withheld_reply_ms => Act::KillTree,
            Some(_) => Act::Wait,
            None if seen.elapsed_ms >= self.effect_visible_ms => Act::Missed(format!(
                "no effect was visible in the store within {} ms{}",
                self.effect_visible_ms,
                if seen.reply_is_whole {
                    ", although the reply had come"
                } else {
                    ""
                }
            )),
            None if seen.stream_ended => {
                Act::Missed("the server ended by itself before any effect was visible".to_owned())
            }
            None => Act::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(fault.next(seen(1, true, 2)), Act::KillTree);
    }

    #[test]
    fn a_reply_that_does_not_come_is_not_waited_for_beyond_its_bound() {
        let mut fault = fault();
        assert_eq!(fault.next(seen(1, false, 50)), Act::Wait);
        assert_eq!(fault.next(seen(1, false, 59)), Act::Wait);
        assert_eq!(fault.next(seen(1, false, 60)), Act::KillTree);
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

    #[test]
    fn a_store_that_cannot_be_read_yet_is_no_effect() {
        let unread = Seen {
            effects_now: None,
            ..seen(0, true, 5)
        };
        assert_eq!(fault().next(unread), Act::Wait);
    }
}
