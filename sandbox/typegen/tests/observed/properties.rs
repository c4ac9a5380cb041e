//! Properties that hold for any results in any order.
//!
//! Invariant: every run uses the same values.

use std::collections::BTreeSet;

use mux_typegen::{ResultShape, Witness};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::{Value, json};

use super::{name, shape_of, text};

/// The prefix of every string in a result.
const LEAK: &str = "LEAK";

/// The maximum size of a serialized shape, in bytes.
const MOST: usize = 128 * 1024;

fn holds<S: Strategy>(
    cases: u32,
    values: S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x6d75_7864),
        ..Config::default()
    });
    if let Err(failure) = runner.run(&values, property) {
        panic!("{failure}");
    }
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i32>().prop_map(|n| json!(n)),
        any::<f32>().prop_filter_map("no JSON", |n| n.is_finite().then(|| json!(n))),
        "[a-z/@0-9]{0,8}".prop_map(|s| json!(format!("{LEAK}{s}"))),
        Just(json!({"type": "text", "text": LEAK})),
    ]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => select(vec!["id", "name", "type", "text", "items", "a", "b"]).prop_map(str::to_owned),
        2 => (0..2000_usize).prop_map(name),
        1 => "[0-9]{1,4}".prop_map(|n| format!("{n}-{LEAK}")),
        1 => Just(format!("{LEAK}@example.com")),
    ]
}

fn result() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            btree_map(key(), inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A large result: many keys, long keys, deep nesting.
fn heavy() -> impl Strategy<Value = Value> {
    let key =
        (0..100_000_usize, 0..150_usize).prop_map(|(n, blanks)| name(n) + &"_".repeat(blanks));
    leaf().prop_recursive(30, 400, 64, move |inner| {
        btree_map(key.clone(), inner, 0..70)
            .prop_map(|members| Value::Object(members.into_iter().collect()))
    })
}

#[test]
fn order_of_results_does_not_matter() {
    holds(
        300,
        (vec(result(), 1..8), any::<u64>()),
        |(results, seed)| {
            let forth = shape_of(&results);
            let mut turned = results.clone();
            turned.reverse();
            let at = usize::try_from(seed % turned.len() as u64).expect("an index");
            turned.rotate_left(at);
            prop_assert_eq!(text(&forth), text(&shape_of(&turned)));
            // Two halves that are learned separately and merged in either direction.
            let (left, right) = results.split_at(at);
            let left = shape_of(left);
            let right = shape_of(right);
            let mut one = left.clone();
            let mut other = right.clone();
            one.merge(&right);
            other.merge(&left);
            prop_assert_eq!(&one, &forth);
            prop_assert_eq!(&other, &forth);
            Ok(())
        },
    );
}

#[test]
fn known_result_does_not_change_the_shape() {
    holds(300, vec(result(), 1..6), |results| {
        let mut shape = ResultShape::new();
        for result in &results {
            let before = shape.clone();
            let is_news = shape.add(result);
            prop_assert!(is_news || text(&before) == text(&shape), "unnoticed");
        }
        let known = shape.clone();
        for result in &results {
            prop_assert!(!shape.add(result), "the same result is no news");
        }
        prop_assert!(!shape.merge(&known));
        prop_assert_eq!(text(&shape), text(&known));
        Ok(())
    });
}

#[test]
fn shape_round_trips_and_has_no_values() {
    holds(300, vec(result(), 0..6), |results| {
        let shape = shape_of(&results);
        let bytes = shape.to_bytes();
        prop_assert_eq!(ResultShape::from_bytes(&bytes), Some(shape.clone()));
        let kept = String::from_utf8_lossy(&bytes);
        prop_assert!(!kept.contains(LEAK), "{}", kept);
        prop_assert!(!text(&shape).contains(LEAK), "{}", text(&shape));
        Ok(())
    });
}

#[test]
fn shape_of_large_results_stays_small() {
    holds(30, vec(heavy(), 1..12), |results| {
        let mut shape = ResultShape::new();
        for result in &results {
            shape.add(result);
            let bytes = shape.to_bytes();
            prop_assert!(bytes.len() < MOST, "{} bytes", bytes.len());
            prop_assert_eq!(ResultShape::from_bytes(&bytes), Some(shape.clone()));
        }
        prop_assert!(text(&shape).len() < MOST);
        Ok(())
    });
}

/// The names of the members of a value.
fn members(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| members(item, names)),
        Value::Object(object) => {
            for (name, member) in object {
                names.insert(name.clone());
                members(member, names);
            }
        }
        _ => {}
    }
}

#[test]
fn caller_sees_names_of_its_own_results_and_confirmed_ones() {
    let witness =
        (0..3_u64, 0..4_u32).prop_map(|(caller, arguments)| Witness { caller, arguments });
    let results = vec((result(), witness), 1..8);
    holds(300, (results, any::<u64>()), |(results, seed)| {
        let learned = |results: &[(Value, Witness)]| {
            let mut shape = ResultShape::new();
            for (value, witness) in results {
                shape.merge(&ResultShape::of_result(value, *witness));
            }
            shape
        };
        let shape = learned(&results);
        let mut turned = results.clone();
        turned.reverse();
        let at = usize::try_from(seed % turned.len() as u64).expect("an index");
        turned.rotate_left(at);
        prop_assert_eq!(&learned(&turned), &shape);
        let bytes = shape.to_bytes();
        prop_assert_eq!(ResultShape::from_bytes(&bytes), Some(shape.clone()));
        for caller in 0..4 {
            let Some(visible) = shape.visible_to(caller) else {
                prop_assert!(results.iter().all(|(_, witness)| witness.caller != caller));
                continue;
            };
            for name in visible.names().lines() {
                let mut seen = Vec::new();
                for (value, witness) in &results {
                    let mut names = BTreeSet::new();
                    members(value, &mut names);
                    if names.contains(name) {
                        seen.push(*witness);
                    }
                }
                let callers: BTreeSet<u64> = seen.iter().map(|witness| witness.caller).collect();
                let arguments: BTreeSet<u32> =
                    seen.iter().map(|witness| witness.arguments).collect();
                prop_assert!(
                    callers.contains(&caller) || callers.len() > 1 || arguments.len() > 2,
                    "{} is not for {}",
                    name,
                    caller
                );
            }
            prop_assert_eq!(visible.without_names().names(), "");
        }
        Ok(())
    });
}

#[test]
fn damaged_bytes_are_refused_or_valid() {
    let damage = vec((any::<prop::sample::Index>(), any::<u8>()), 1..4);
    holds(500, (vec(result(), 1..4), damage), |(results, damage)| {
        let mut bytes = shape_of(&results).to_bytes();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(shape) = ResultShape::from_bytes(&bytes) {
            prop_assert_eq!(
                ResultShape::from_bytes(&shape.to_bytes()),
                Some(shape.clone())
            );
            prop_assert!(text(&shape).len() < MOST);
        }
        Ok(())
    });
}
