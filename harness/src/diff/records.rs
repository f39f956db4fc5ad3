//! The two records of one case, compared event by event.

use serde::Serialize;
use serde_json::Value;

use super::align::{Pair, align};
use super::json::{Differences, PathDifference, compare};
use super::lanes::{ANY_ORDER, Item, Lanes, Moment, MomentKind, Sort};
use super::pairing::Pairing;

/// How many events that differ are kept of one case; the rest is counted.
const EVENTS_MAX: usize = 200;

/// Among so many replies that differ it is tried whether two only came the other way round.
const SWAPPED_MAX: usize = 64;

/// The path at which it is told that an event is there in one record only.
const WHOLE: &str = "";

/// An event that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventDifference {
    /// The step, in the words of the plan.
    pub step: String,
    /// The process that it belongs to.
    pub process: Option<String>,
    /// What it is.
    pub what: String,
    /// Its number in the first record; absent where it is not there.
    pub a: Option<u64>,
    /// Its number in the second.
    pub b: Option<u64>,
    /// What differs in it; a path is empty where the whole event does.
    pub differences: Vec<PathDifference>,
    /// How many differences more there are.
    pub more: usize,
}

/// Two records beside each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RecordsDiff {
    /// Events that differ, in order, as far as they are kept.
    pub events: Vec<EventDifference>,
    /// How many more.
    pub more: usize,
    /// What of the first record could not be compared.
    pub unread_a: Vec<String>,
    /// What of the second.
    pub unread_b: Vec<String>,
}

impl RecordsDiff {
    /// How many events differ.
    pub fn count(&self) -> usize {
        self.events.len() + self.more
    }

    /// Whether nothing differs, and everything was compared.
    pub fn is_same(&self) -> bool {
        self.count() == 0 && self.unread_a.is_empty() && self.unread_b.is_empty()
    }
}

/// What both lanes have, or one of them.
struct Paired<'a> {
    process: &'a str,
    a: Option<&'a Item>,
    b: Option<&'a Item>,
}

/// Compares two records.
pub(super) fn compare_records(a: &Lanes, b: &Lanes) -> RecordsDiff {
    let mut comparison = Comparison {
        a,
        b,
        pairing: Pairing::default(),
        found: Vec::new(),
    };
    let mut unequal = Vec::new();
    for paired in paired(a, b) {
        comparison.pair(&paired, &mut unequal);
    }
    comparison.replies(unequal);
    let mut found = comparison.found;
    found.sort_by_key(|event| (event.a.or(event.b), event.b));
    let more = found.len().saturating_sub(EVENTS_MAX);
    found.truncate(EVENTS_MAX);
    RecordsDiff {
        events: found,
        more,
        unread_a: a.troubles.clone(),
        unread_b: b.troubles.clone(),
    }
}

/// What belongs together, in the order in which it was begun: whatever names something is seen first where it comes first.
fn paired<'a>(a: &'a Lanes, b: &'a Lanes) -> Vec<Paired<'a>> {
    let mut all = Vec::new();
    let lanes: std::collections::BTreeSet<_> = a.lanes.keys().chain(b.lanes.keys()).collect();
    for lane in lanes {
        let items = |lanes: &'a Lanes| lanes.lanes.get(lane).map_or(&[][..], Vec::as_slice);
        let (one, other) = (items(a), items(b));
        let words = |items: &'a [Item]| items.iter().map(|item| item.began.what.as_str()).collect::<Vec<_>>();
        for pair in align(&words(one), &words(other)) {
            let (a, b) = match pair {
                Pair::Both(at, other_at) => (Some(&one[at]), Some(&other[other_at])),
                Pair::OnlyA(at) => (Some(&one[at]), None),
                Pair::OnlyB(at) => (None, Some(&other[at])),
            };
            // That a pipe has ended is seen or not, where its process is killed.
            let is_chance = lane.1 == Sort::Output && (a.is_none() || b.is_none());
            if !is_chance {
                let process = lane.0.as_str();
                all.push(Paired { process, a, b });
            }
        }
    }
    all.sort_by_key(|pair| pair.a.or(pair.b).map(|item| item.began.seq));
    all
}

struct Comparison<'a> {
    a: &'a Lanes,
    b: &'a Lanes,
    pairing: Pairing,
    found: Vec<EventDifference>,
}

impl<'a> Comparison<'a> {
    /// Compares what belongs together. Replies that differ are put aside: they may have come the other way round.
    fn pair(&mut self, paired: &Paired<'a>, unequal: &mut Vec<(&'a str, &'a Item, &'a Item)>) {
        let (Some(a), Some(b)) = (paired.a, paired.b) else {
            let item = paired.a.or(paired.b);
            let began = item.map(|item| &item.began);
            let only = Differences::default();
            self.tell(paired.process, paired, (paired.a.and(began), paired.b.and(began)), only);
            return;
        };
        let differences = compare_moments(&a.began, &b.began, &mut self.pairing);
        if !differences.is_empty() {
            self.tell(paired.process, paired, (Some(&a.began), Some(&b.began)), differences);
        }
        let mark = self.pairing.mark();
        if !same_answers(a, b, &mut self.pairing) {
            self.pairing.go_back(mark);
            unequal.push((paired.process, a, b));
        }
    }

    /// Two requests on their way at once may be served in either order; what is left then differs.
    fn replies(&mut self, mut unequal: Vec<(&'a str, &'a Item, &'a Item)>) {
        while let Some(at) = (unequal.len() <= SWAPPED_MAX).then(|| self.swapped(&unequal)).flatten() {
            unequal.remove(at.1);
            unequal.remove(at.0);
        }
        for (process, a, b) in unequal {
            let (one, other) = (a.answer.as_ref(), b.answer.as_ref());
            let differences = match (one, other) {
                (Some(one), Some(other)) => compare_moments(one, other, &mut self.pairing),
                _ => Differences::default(),
            };
            let paired = Paired {
                process,
                a: Some(a),
                b: Some(b),
            };
            self.tell(process, &paired, (one, other), differences);
        }
    }

    /// The places of two whose replies are each other's.
    fn swapped(&mut self, unequal: &[(&'a str, &'a Item, &'a Item)]) -> Option<(usize, usize)> {
        for (at, (_, a, b)) in unequal.iter().enumerate() {
            for (other_at, (_, other_a, other_b)) in unequal.iter().enumerate().skip(at + 1) {
                let are_beside = a.began.what == other_a.began.what && a.overlaps(other_a) && b.overlaps(other_b);
                let mark = self.pairing.mark();
                if are_beside
                    && same_answers(a, other_b, &mut self.pairing)
                    && same_answers(other_a, b, &mut self.pairing)
                {
                    return Some((at, other_at));
                }
                self.pairing.go_back(mark);
            }
        }
        None
    }

    fn tell(
        &mut self,
        process: &str,
        paired: &Paired<'_>,
        moments: (Option<&Moment>, Option<&Moment>),
        differences: Differences,
    ) {
        let (a, b) = moments;
        let step = match (paired.a, paired.b) {
            (Some(item), _) => self.a.steps.get(item.step),
            (None, Some(item)) => self.b.steps.get(item.step),
            (None, None) => None,
        };
        let asked = paired.a.or(paired.b).map(|item| item.began.what.as_str());
        let said = match (a, b) {
            (Some(a), Some(b)) if a.what != b.what => format!("{} | {}", a.what, b.what),
            (Some(one), _) | (None, Some(one)) => one.what.clone(),
            (None, None) => String::new(),
        };
        let is_asked = |moment: Option<&Moment>| moment.is_none_or(|moment| Some(moment.what.as_str()) == asked);
        let what = match asked {
            Some(asked) if !(is_asked(a) && is_asked(b)) => format!("{said}, to {asked}"),
            Some(_) | None => said,
        };
        let whole = |moment: Option<&Moment>| moment.map(|moment| Value::from(moment.what.clone()));
        let mut differences = differences;
        if a.is_none() || b.is_none() {
            differences.add(WHOLE.to_owned(), whole(a).as_ref(), whole(b).as_ref());
        }
        self.found.push(EventDifference {
            step: step.cloned().unwrap_or_default(),
            process: (!process.is_empty()).then(|| process.to_owned()),
            what,
            a: a.map(|moment| moment.seq),
            b: b.map(|moment| moment.seq),
            differences: differences.kept,
            more: differences.more,
        });
    }
}

fn same_answers(a: &Item, b: &Item, pairing: &mut Pairing) -> bool {
    match (&a.answer, &b.answer) {
        (None, None) => true,
        (Some(one), Some(other)) => compare_moments(one, other, pairing).is_empty(),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn compare_moments(a: &Moment, b: &Moment, pairing: &mut Pairing) -> Differences {
    let any_order = (a.kind == MomentKind::Observation).then_some(ANY_ORDER);
    let mut differences = compare(&a.value, &b.value, any_order, pairing);
    if a.kind != b.kind {
        let marks = |moment: &Moment| match &moment.kind {
            MomentKind::Frame(marks) if !marks.is_empty() => Value::from(marks.join(", ")),
            MomentKind::Frame(_) | MomentKind::Observation | MomentKind::Other => Value::Null,
        };
        differences.add("frame".to_owned(), Some(&marks(a)), Some(&marks(b)));
    }
    differences
}
