//! The list of defects of one server beside those of others, and by which cases that server is proved.

use super::{Kill, Planted};
use crate::case::Case;

/// The defects of the server that is proved, and those of other servers that are proved with cases of the same catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lists {
    /// Of the server that is proved.
    pub own: Vec<Planted>,
    /// Of the others, which are not planted here. A case that only these name can fail, and it shows elsewhere that it can.
    pub others: Vec<Planted>,
}

impl Lists {
    /// The list of a server that nobody else shares the cases with.
    pub fn alone(own: Vec<Planted>) -> Self {
        let others = Vec::new();
        Self { own, others }
    }

    /// Whether a defect of the server that is proved has to be noticed by this case.
    pub fn names(&self, case: &str) -> bool {
        kills(&self.own).any(|kill| kill.case == case)
    }

    /// Whether a defect of whatever server has to be noticed by it.
    pub fn is_named(&self, case: &str) -> bool {
        self.names(case) || kills(&self.others).any(|kill| kill.case == case)
    }

    /// The cases by which the server is proved, of those that were asked for: all that its list names, and of those that no
    /// list names the ones that it `has` all surfaces for, since a pass of theirs is a pass of nothing that is known to fail.
    pub fn choose<'a>(&self, asked: &[&'a Case], has: impl Fn(&Case) -> bool) -> Vec<&'a Case> {
        let is_chosen = |case: &&&Case| self.names(&case.id) || (!self.is_named(&case.id) && has(case));
        asked.iter().filter(is_chosen).copied().collect()
    }
}

fn kills(list: &[Planted]) -> impl Iterator<Item = &Kill> {
    list.iter().flat_map(|defect| &defect.kills)
}
