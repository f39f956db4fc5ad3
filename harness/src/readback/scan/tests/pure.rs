//! Properties of calibration, on places that nobody had to write.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::readback::{Calibration, Counted, Inside, Place, Places, Sighting};

fn place() -> impl Strategy<Value = Place> {
    let cell = ("[ab]", "[cd]").prop_map(|(table, column)| Inside::Cell { table, column });
    let json = "(/[a-d1-3]{1,2}){1,3}".prop_map(Inside::Json);
    let inside = prop_oneof![cell, json, Just(Inside::Text), Just(Inside::Name)];
    ("[ab][1-3]?(/[c-d][1-3]?)?(\\.md)?", inside).prop_map(|(file, inside)| Place { file, inside })
}

fn counts(most: u64) -> impl Strategy<Value = BTreeMap<Place, u64>> {
    prop::collection::btree_map(place(), 1..=most, 1..6)
}

fn state(parts: &[(&BTreeMap<Place, u64>, u64)]) -> Places {
    let mut places = Places::default();
    for (counts, times) in parts {
        for (place, count) in counts.iter().filter(|_| *times > 0) {
            places.add(place.clone(), Sighting::within(count * times));
        }
    }
    places
}

proptest! {
    #[test]
    fn so_many_copies_of_one_effect_are_so_many_effects(one in counts(4), base in counts(4), times in 0..50_u64) {
        let before = state(&[(&base, 1)]);
        let calibration = Calibration::from_one(&before, &state(&[(&base, 1), (&one, 1)])).unwrap();
        let counted = calibration.count(&before, &state(&[(&base, 1), (&one, times)]));
        prop_assert_eq!(counted.effects(), Some(times));
        let two = state(&[(&base, 1), (&one, 2)]);
        prop_assert_eq!(calibration.confirm(&before, &two), Ok(calibration.clone()));
    }

    /// The oracle divides as fractions: all places must grow by the same multiple, and no other place at all.
    #[test]
    fn growth_that_disagrees_is_never_a_count(one in counts(3), now in counts(9)) {
        let calibration = Calibration::from_one(&Places::default(), &state(&[(&one, 1)])).unwrap();
        let counted = calibration.count(&Places::default(), &state(&[(&now, 1)]));
        let is_multiple = |times: u64| now.len() == one.len() && one.iter().all(|(place, count)| now.get(place) == Some(&(count * times)));
        let expected = (1..=9).find(|times| is_multiple(*times));
        prop_assert_eq!(counted.effects(), expected);
        prop_assert_eq!(matches!(counted, Counted::Disagree(_)), expected.is_none());
    }

    /// Also where a second effect made some places general.
    #[test]
    fn what_was_confirmed_counts_two_as_two_and_one_as_one(one in counts(2), two in counts(4)) {
        let (none, first, second) = (Places::default(), state(&[(&one, 1)]), state(&[(&one, 1), (&two, 1)]));
        let calibration = Calibration::from_one(&none, &first).unwrap();
        if let Ok(confirmed) = calibration.confirm(&none, &second) {
            prop_assert_eq!(confirmed.count(&none, &second), Counted::Effects(2));
            prop_assert_eq!(confirmed.count(&none, &first), Counted::Effects(1));
            prop_assert_eq!(confirmed.count(&first, &second), Counted::Effects(1));
        }
    }

    /// Two thirds of an effect in one place, whatever the others say.
    #[test]
    fn a_part_of_an_effect_is_never_a_count(one in counts(4), times in 1..5_u64, part in 1..4_u64) {
        let (place, count) = one.last_key_value().unwrap();
        prop_assume!(part % count != 0);
        let calibration = Calibration::from_one(&Places::default(), &state(&[(&one, 1)])).unwrap();
        let more = BTreeMap::from([(place.clone(), part)]);
        let counted = calibration.count(&Places::default(), &state(&[(&one, times), (&more, 1)]));
        prop_assert_eq!(counted.effects(), None);
    }

    #[test]
    fn a_place_that_shrank_is_never_a_count(one in counts(3), base in counts(3)) {
        let calibration = Calibration::from_one(&Places::default(), &state(&[(&one, 1)])).unwrap();
        let counted = calibration.count(&state(&[(&base, 1), (&one, 1)]), &state(&[(&one, 1)]));
        prop_assert_eq!(counted.effects(), None);
    }

    #[test]
    fn joining_places_is_symmetric_and_stands_for_both(one in place(), other in place()) {
        let joined = one.with(&other);
        prop_assert_eq!(&joined, &other.with(&one));
        if let Some(joined) = joined {
            prop_assert_eq!(joined.with(&one), Some(joined.clone()));
            prop_assert_eq!(joined.with(&other), Some(joined.clone()));
        }
    }
}
