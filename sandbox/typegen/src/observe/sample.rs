//! Derives the shape of one result.
//!
//! Invariant: the work is bounded by the constants below, not by the length of the result.

use serde_json::{Map, Value};

use super::fields::{MAX_FIELDS, Object};
use super::node::{ANY, BOOLEAN, NULL, NUMBER, Node, PART, STRING};
use super::parts::is_part;

/// The number of items read at the beginning of an array, and of the others.
const FIRST_ITEMS: usize = 200;
const OTHER_ITEMS: usize = 50;

/// The maximum number of values of one result that are read; the others count as not seen.
const MAX_VALUES: usize = 20_000;

/// The shape of one result, `levels` levels deep.
pub(super) fn look_at(value: &Value, levels: u8) -> Node {
    let mut values = MAX_VALUES;
    node(value, levels, &mut values)
}

fn node(value: &Value, levels: u8, left: &mut usize) -> Node {
    if *left == 0 {
        return Node::default();
    }
    *left -= 1;
    match value {
        Value::Null => Node::of(NULL),
        Value::Bool(_) => Node::of(BOOLEAN),
        Value::Number(_) => Node::of(NUMBER),
        Value::String(_) => Node::of(STRING),
        Value::Object(object) if is_part(object) => Node::of(PART),
        Value::Array(_) | Value::Object(_) if levels == 0 => Node::of(ANY),
        Value::Array(items) => Node {
            items: Some(Box::new(all(items, levels - 1, left))),
            ..Node::default()
        },
        Value::Object(object) => Node {
            object: Some(members(object, levels - 1, left)),
            ..Node::default()
        },
    }
}

fn members(object: &Map<String, Value>, levels: u8, left: &mut usize) -> Object {
    if object.len() > MAX_FIELDS {
        return Object::Map(Box::new(all(object.values(), levels, left)));
    }
    let member = |(name, value): (&'_ String, &'_ Value)| (name.clone(), node(value, levels, left));
    Object::seen(object.iter().map(member))
}

/// The merged shape of a sample of `values`.
fn all<'a, I>(values: I, levels: u8, left: &mut usize) -> Node
where
    I: IntoIterator<Item = &'a Value, IntoIter: ExactSizeIterator + Clone>,
{
    let values = values.into_iter();
    let rest = values.len().saturating_sub(FIRST_ITEMS);
    let step = rest.div_ceil(OTHER_ITEMS).max(1);
    let others = values.clone().skip(FIRST_ITEMS).step_by(step);
    let mut node_of_all = Node::default();
    for value in values.take(FIRST_ITEMS).chain(others) {
        node_of_all.merge(node(value, levels, left));
    }
    node_of_all
}
