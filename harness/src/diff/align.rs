//! Which item of one lane is which of the other. Pure.

/// Two lanes whose lengths multiply to more than this are compared up to the first item that one of them lacks.
const CELLS_MAX: usize = 4_000_000;

/// One item of both lanes, or of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pair {
    /// In both, at these places.
    Both(usize, usize),
    /// In the first lane only.
    OnlyA(usize),
    /// In the second lane only.
    OnlyB(usize),
}

/// Aligns two lanes by the words of their items: as many as possible are the same.
pub(super) fn align(a: &[&str], b: &[&str]) -> Vec<Pair> {
    let same = a.iter().zip(b).take_while(|(one, other)| one == other).count();
    let mut pairs: Vec<Pair> = (0..same).map(|at| Pair::Both(at, at)).collect();
    let (rest_a, rest_b) = (&a[same..], &b[same..]);
    if rest_a.len().saturating_mul(rest_b.len()) > CELLS_MAX {
        pairs.extend([Pair::OnlyA(same), Pair::OnlyB(same)]);
        return pairs;
    }
    pairs.extend(longest_common(rest_a, rest_b).into_iter().map(|pair| match pair {
        Pair::Both(one, other) => Pair::Both(one + same, other + same),
        Pair::OnlyA(one) => Pair::OnlyA(one + same),
        Pair::OnlyB(other) => Pair::OnlyB(other + same),
    }));
    pairs
}

/// By the longest common subsequence.
fn longest_common(a: &[&str], b: &[&str]) -> Vec<Pair> {
    let width = b.len() + 1;
    let mut lengths = vec![0_u32; (a.len() + 1) * width];
    for one in (0..a.len()).rev() {
        for other in (0..b.len()).rev() {
            lengths[one * width + other] = if a[one] == b[other] {
                lengths[(one + 1) * width + other + 1] + 1
            } else {
                lengths[(one + 1) * width + other].max(lengths[one * width + other + 1])
            };
        }
    }
    let (mut one, mut other, mut pairs) = (0, 0, Vec::new());
    while one < a.len() || other < b.len() {
        if one < a.len() && other < b.len() && a[one] == b[other] {
            pairs.push(Pair::Both(one, other));
            one += 1;
            other += 1;
        } else if other == b.len()
            || (one < a.len() && lengths[(one + 1) * width + other] >= lengths[one * width + other + 1])
        {
            pairs.push(Pair::OnlyA(one));
            one += 1;
        } else {
            pairs.push(Pair::OnlyB(other));
            other += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_one_lane_lacks_is_found() {
        use Pair::{Both, OnlyA, OnlyB};
        assert_eq!(align(&["a", "b", "c"], &["a", "c"]), [Both(0, 0), OnlyA(1), Both(2, 1)]);
        assert_eq!(align(&["a"], &["a", "b", "b"]), [Both(0, 0), OnlyB(1), OnlyB(2)]);
        assert_eq!(align(&["x"], &["y"]), [OnlyA(0), OnlyB(0)]);
        assert_eq!(align(&[], &[]), []);
    }

    proptest! {
        /// Every item is there once and in order, and what is paired is the same.
        #[test]
        fn nothing_is_lost(a in proptest::collection::vec("[abc]", 0..12), b in proptest::collection::vec("[abc]", 0..12)) {
            let (a, b): (Vec<&str>, Vec<&str>) = (a.iter().map(String::as_str).collect(), b.iter().map(String::as_str).collect());
            let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
            for pair in align(&a, &b) {
                match pair {
                    Pair::Both(one, other) => {
                        prop_assert_eq!(a[one], b[other]);
                        of_a.push(one);
                        of_b.push(other);
                    }
                    Pair::OnlyA(one) => of_a.push(one),
                    Pair::OnlyB(other) => of_b.push(other),
                }
            }
            prop_assert_eq!(of_a, (0..a.len()).collect::<Vec<_>>());
            prop_assert_eq!(of_b, (0..b.len()).collect::<Vec<_>>());
        }
    }
}
