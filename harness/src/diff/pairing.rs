//! What only names something, of two runs: each name of one stands for one name of the other, always the same.

use std::collections::HashMap;

/// What a word can be that only names something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A UUID.
    Uuid,
    /// A digest, or another long hexadecimal number.
    Hex,
    /// A request state, a receipt, a key: a long word of letters and digits.
    Token,
    /// The number of a row.
    Row,
}

type Name = (Kind, String);

/// Which name stands for which, as far as the two records were read.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    of_a: HashMap<Name, String>,
    of_b: HashMap<Name, String>,
    /// What was paired, in order, so that it can be taken back.
    log: Vec<(Name, Name)>,
}

impl Pairing {
    /// Whether these two can stand for each other, as they do from now on.
    pub(super) fn pairs(&mut self, kind: Kind, a: &str, b: &str) -> bool {
        let (a, b) = ((kind, a.to_owned()), (kind, b.to_owned()));
        match (self.of_a.get(&a), self.of_b.get(&b)) {
            (Some(paired), _) => *paired == b.1,
            (None, Some(_)) => false,
            (None, None) => {
                self.of_a.insert(a.clone(), b.1.clone());
                self.of_b.insert(b.clone(), a.1.clone());
                self.log.push((a, b));
                true
            }
        }
    }

    /// A moment to go back to.
    pub(super) fn mark(&self) -> usize {
        self.log.len()
    }

    /// Forgets what was paired since then.
    pub(super) fn go_back(&mut self, mark: usize) {
        for (a, b) in self.log.drain(mark.min(self.log.len())..) {
            self.of_a.remove(&a);
            self.of_b.remove(&b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_one_name_until_that_is_taken_back() {
        let mut pairing = Pairing::default();
        assert!(pairing.pairs(Kind::Uuid, "a1", "b1"));
        assert!(pairing.pairs(Kind::Uuid, "a1", "b1"));
        let mark = pairing.mark();
        assert!(pairing.pairs(Kind::Uuid, "a2", "b2"));
        assert!(!pairing.pairs(Kind::Uuid, "a1", "b2"), "a1 stands for b1");
        assert!(!pairing.pairs(Kind::Uuid, "a3", "b2"), "b2 is what a2 stands for");
        assert!(pairing.pairs(Kind::Row, "a1", "b2"), "rows are not UUIDs");
        pairing.go_back(mark);
        assert!(pairing.pairs(Kind::Uuid, "a3", "b2"));
        assert!(
            !pairing.pairs(Kind::Uuid, "a1", "b9"),
            "what came before the mark stays"
        );
    }
}
