//! The planted defects: each makes this server get exactly one thing wrong, on purpose, so that a harness can be shown to notice.
//!
//! This file holds the registry only. A defect is planted where the right code stands, by asking `Defect` there.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Makes the enum, its names and its descriptions from one table.
macro_rules! defects {
    ($($variant:ident = $name:literal, $description:literal;)+) => {
        /// A fault planted on purpose. Each variant's description says what goes wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Defect {
            $(#[doc = $description] $variant,)+
        }

        impl Defect {
            /// Every defect, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name by which it is chosen.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What goes wrong, in one sentence.
            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)+ }
            }
        }
    };
}

defects! {
    NoLedger = "no-ledger",
        "The ledger is neither read nor written: every continuation writes.";
    MemoryLedger = "memory-ledger",
        "The ledger lives in memory: a restart forgets every operation, while the effects stay.";
    SameReplyTwoEffects = "same-reply-two-effects",
        "A repeat gets the very same stored result, and a second effect is written.";
    ReplyBeforeCommit = "reply-before-commit",
        "The reply leaves before the commit, which waits until the next request arrives or stdin closes.";
    UnboundInput = "unbound-input",
        "The fingerprint ignores the input responses: changed input gets the first result.";
}

/// A name that no defect has.
#[derive(Debug, Error)]
#[error("{0:?} is not a planted defect")]
pub struct UnknownDefect(String);

impl FromStr for Defect {
    type Err = UnknownDefect;

    fn from_str(name: &str) -> Result<Self, UnknownDefect> {
        Self::ALL
            .iter()
            .copied()
            .find(|defect| defect.name() == name)
            .ok_or_else(|| UnknownDefect(name.to_owned()))
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_defect_is_found_by_its_name_and_described() {
        for defect in Defect::ALL {
            assert_eq!(defect.name().parse::<Defect>().unwrap(), *defect);
            assert!(
                defect.description().ends_with('.'),
                "{defect} is not described in a sentence"
            );
        }
        assert!("none".parse::<Defect>().is_err());
    }
}
