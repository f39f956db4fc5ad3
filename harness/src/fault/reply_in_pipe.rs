//! The lost reply that is no matter of effects: withhold it until the whole of it lies in our pipe, then kill the whole tree.
//!
//! For a round that must not have an effect: the questions of a server that are never delivered.

use super::{Act, Delivery, Fault, Moment, Seen};
use crate::case::Bounds;

/// See the module's documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyInPipe {
    reply_ms: u64,
}

impl ReplyInPipe {
    /// The fault with the bounds of a case.
    pub fn new(bounds: &Bounds) -> Self {
        Self {
            reply_ms: bounds.reply_ms,
        }
    }
}

impl Fault for ReplyInPipe {
    fn delivery(&self) -> Delivery {
        Delivery::Withhold
    }

    fn next(&mut self, seen: Seen) -> Act {
        if seen.reply_is_whole {
            Act::KillTree(Moment::Planned)
        } else if seen.stream_ended {
            Act::Missed("the server ended by itself before it replied".to_owned())
        } else if seen.elapsed_ms >= self.reply_ms {
            Act::Missed(format!("no reply came within {} ms", self.reply_ms))
        } else {
            Act::Wait
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_reply_is_the_moment() {
        let bounds = Bounds {
            reply_ms: 100,
            ..Bounds::default()
        };
        let mut fault = ReplyInPipe::new(&bounds);
        let seen = Seen {
            effects_now: Some(1),
            elapsed_ms: 99,
            ..Seen::default()
        };
        assert_eq!(fault.delivery(), Delivery::Withhold);
        assert_eq!(fault.next(seen), Act::Wait, "an effect is no reply");
        let whole = Seen {
            reply_is_whole: true,
            ..seen
        };
        assert_eq!(fault.next(whole), Act::KillTree(Moment::Planned));
        let late = Seen {
            elapsed_ms: 100,
            ..seen
        };
        assert!(matches!(fault.next(late), Act::Missed(reason) if reason.contains("100 ms")));
        let ended = Seen {
            stream_ended: true,
            ..seen
        };
        assert!(matches!(fault.next(ended), Act::Missed(_)));
    }
}
