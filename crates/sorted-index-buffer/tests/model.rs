//! The map does what one of the standard library does, in room that is bounded by what it holds.

use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::prelude::*;
use sorted_index_buffer::SortedIndexBuffer;

#[derive(Clone, Debug)]
enum Step {
    /// The next number, so many further on.
    Append(u64),
    Insert(u64),
    Remove(u64),
    /// The oldest so many.
    Acknowledge(usize),
    KeepEven,
    ChangeAll,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (1_u64..4).prop_map(Step::Append),
        1 => (0_u64..300).prop_map(Step::Insert),
        3 => (0_u64..300).prop_map(Step::Remove),
        2 => (1_usize..40).prop_map(Step::Acknowledge),
        1 => Just(Step::KeepEven),
        1 => Just(Step::ChangeAll),
    ];
    proptest::collection::vec(step, 0..400)
}

fn bound() -> impl Strategy<Value = Bound<u64>> {
    let index = prop_oneof![0_u64..400, Just(u64::MAX), Just(0)];
    prop_oneof![
        index.clone().prop_map(Bound::Included),
        index.prop_map(Bound::Excluded),
        Just(Bound::Unbounded)
    ]
}

fn is_range(range: &(Bound<u64>, Bound<u64>)) -> bool {
    match range {
        (Bound::Excluded(a), Bound::Excluded(b)) => a < b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            a <= b
        }
        _ => true,
    }
}

proptest! {
    #[test]
    fn it_is_a_map_by_numbers(
        steps in steps(),
        ranges in proptest::collection::vec((bound(), bound()).prop_filter("a range", is_range), 4),
    ) {
        let mut model: BTreeMap<u64, u64> = BTreeMap::new();
        let mut map = SortedIndexBuffer::new();
        let mut next = 0;
        for (value, step) in (0..).zip(steps) {
            match step {
                Step::Append(by) => {
                    next += by;
                    map.insert(next, value);
                    model.insert(next, value);
                }
                Step::Insert(index) => {
                    map.insert(index, value);
                    model.insert(index, value);
                    next = next.max(index);
                }
                Step::Remove(index) => prop_assert_eq!(map.remove(index), model.remove(&index)),
                Step::Acknowledge(count) => {
                    let oldest: Vec<u64> = map.keys().take(count).collect();
                    for index in oldest {
                        prop_assert_eq!(map.remove(index), model.remove(&index));
                    }
                }
                Step::KeepEven => {
                    map.retain(|index, value| (index + *value) % 2 == 0);
                    model.retain(|index, value| (index + *value) % 2 == 0);
                }
                Step::ChangeAll => {
                    map.values_mut().for_each(|v| *v += 1);
                    model.values_mut().for_each(|v| *v += 1);
                }
            }
            prop_assert_eq!(map.is_empty(), model.is_empty());
            prop_assert!(map.values().eq(model.values()));
            let held = match (model.first_key_value(), model.last_key_value()) {
                (Some((first, _)), Some((last, _))) => (last - first + 1) as usize,
                _ => 0,
            };
            prop_assert!(map.capacity() <= (4 * held).max(8), "{} for {held}", map.capacity());
        }
        for range in ranges {
            prop_assert!(map.iter_range(range).eq(model.range(range).map(|(k, v)| (*k, v))));
            prop_assert!(map.keys_range(range).rev().eq(model.range(range).rev().map(|(k, _)| *k)));
        }
        for index in [0, 1, 7, 150, next, next + 1, u64::MAX] {
            prop_assert_eq!(map.get(index), model.get(&index));
        }
        prop_assert!(map.into_iter().eq(model));
    }
}

#[test]
fn what_held_a_window_holds_nothing_when_that_is_acknowledged() {
    let mut map = SortedIndexBuffer::new();
    for index in 0..10_000_u64 {
        map.insert(index, [0_u64; 64]);
    }
    let most = map.capacity();
    for index in 0..9_999 {
        map.remove(index);
    }
    assert!(most >= 10_000 && map.capacity() <= 8, "{most}, then {}", map.capacity());
}
