//! Derives the shape of one result.
//!
//! Invariant: the work is bounded by the constants below, not by the length of the result.

use serde_json::{Map, Value};

use super::content_blocks::is_content_block;
use super::object_shape::{MAX_FIELDS, ObjectShape};
use super::shape_node::{ANY, BOOLEAN, NULL, NUMBER, PART, STRING, ShapeNode};

/// The number of items read at the beginning of an array, and of the others.
const MAX_FIRST_ITEMS: usize = 200;
const MAX_OTHER_ITEMS: usize = 50;

/// The maximum number of values that are read from one result. The others count as not seen.
const MAX_SAMPLED_VALUES: usize = 20_000;

/// The shape of one result, `levels` levels deep.
pub(super) fn shape_of_result(value: &Value, levels: u8) -> ShapeNode {
    let mut values = MAX_SAMPLED_VALUES;
    shape_of_value(value, levels, &mut values)
}

fn shape_of_value(value: &Value, levels: u8, left: &mut usize) -> ShapeNode {
    if *left == 0 {
        return ShapeNode::default();
    }
    *left -= 1;
    match value {
        Value::Null => ShapeNode::of(NULL),
        Value::Bool(_) => ShapeNode::of(BOOLEAN),
        Value::Number(_) => ShapeNode::of(NUMBER),
        Value::String(_) => ShapeNode::of(STRING),
        Value::Object(object) if is_content_block(object) => ShapeNode::of(PART),
        Value::Array(_) | Value::Object(_) if levels == 0 => ShapeNode::of(ANY),
        Value::Array(items) => ShapeNode {
            items: Some(Box::new(merged_sample(items, levels - 1, left))),
            ..ShapeNode::default()
        },
        Value::Object(object) => ShapeNode {
            object: Some(shape_of_object(object, levels - 1, left)),
            ..ShapeNode::default()
        },
    }
}

fn shape_of_object(object: &Map<String, Value>, levels: u8, left: &mut usize) -> ObjectShape {
    if object.len() > MAX_FIELDS {
        return ObjectShape::Map(Box::new(merged_sample(object.values(), levels, left)));
    }
    let member = |(name, value): (&'_ String, &'_ Value)| {
        (name.clone(), shape_of_value(value, levels, left))
    };
    ObjectShape::seen(object.iter().map(member))
}

/// The merged shape of a sample of `values`.
fn merged_sample<'a, I>(values: I, levels: u8, left: &mut usize) -> ShapeNode
where
    I: IntoIterator<Item = &'a Value, IntoIter: ExactSizeIterator + Clone>,
{
    let values = values.into_iter();
    let rest = values.len().saturating_sub(MAX_FIRST_ITEMS);
    let step = rest.div_ceil(MAX_OTHER_ITEMS).max(1);
    let others = values.clone().skip(MAX_FIRST_ITEMS).step_by(step);
    let mut node_of_all = ShapeNode::default();
    for value in values.take(MAX_FIRST_ITEMS).chain(others) {
        node_of_all.merge(shape_of_value(value, levels, left));
    }
    node_of_all
}
