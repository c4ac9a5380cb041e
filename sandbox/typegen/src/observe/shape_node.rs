//! One position in a shape: all kinds of values that were seen there.
//!
//! Invariant: `merge` is a join. The operation is commutative, associative and idempotent, and a node never
//! becomes narrower.

use serde::{Deserialize, Serialize};

use super::object_shape::ObjectShape;

/// The kinds of values seen at one position, one bit each.
pub(super) const NULL: u8 = 1;
pub(super) const BOOLEAN: u8 = 2;
pub(super) const NUMBER: u8 = 4;
pub(super) const STRING: u8 = 8;
/// An MCP content block.
pub(super) const PART: u8 = 16;
/// Nested too deeply, or too large. Such a node has no other kind.
pub(super) const ANY: u8 = 32;

const ALL_KINDS: u8 = 63;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShapeNode {
    #[serde(rename = "k", default, skip_serializing_if = "is_zero")]
    pub(super) kinds: u8,
    /// The items of all arrays, if there was an array.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub(super) items: Option<Box<ShapeNode>>,
    /// All objects, if there was an object other than a content block.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<ObjectShape>,
}

impl ShapeNode {
    pub(super) fn of(kinds: u8) -> Self {
        Self {
            kinds,
            ..Self::default()
        }
    }

    pub(super) fn has(&self, kind: u8) -> bool {
        self.kinds & kind != 0
    }

    fn is_nested(&self) -> bool {
        self.items.is_some() || self.object.is_some()
    }

    /// The kinds of values, including arrays and objects, without null, which may replace a value of any kind.
    pub(super) fn kinds_without_null(&self) -> (u8, bool, bool) {
        (
            self.kinds & !NULL,
            self.items.is_some(),
            self.object.is_some(),
        )
    }

    /// Merges `other`. Returns whether this node has changed.
    pub(super) fn merge(&mut self, other: ShapeNode) -> bool {
        if self.has(ANY) {
            return false;
        }
        if other.has(ANY) {
            *self = Self::of(ANY);
            return true;
        }
        let mut changed = other.kinds & !self.kinds != 0;
        self.kinds |= other.kinds;
        match (&mut self.items, other.items) {
            (Some(mine), Some(items)) => changed |= mine.merge(*items),
            (mine @ None, Some(items)) => {
                *mine = Some(items);
                changed = true;
            }
            (_, None) => {}
        }
        match (&mut self.object, other.object) {
            (Some(mine), Some(object)) => changed |= mine.merge(object),
            (mine @ None, Some(object)) => {
                *mine = Some(object);
                changed = true;
            }
            (_, None) => {}
        }
        changed
    }

    /// Cuts the node to `levels` levels of nesting. Returns whether there were more.
    pub(super) fn truncate_levels(&mut self, levels: u8) -> bool {
        if !self.is_nested() {
            return false;
        }
        let Some(levels) = levels.checked_sub(1) else {
            *self = Self::of(ANY);
            return true;
        };
        let mut cut = false;
        if let Some(items) = &mut self.items {
            cut |= items.truncate_levels(levels);
        }
        if let Some(object) = &mut self.object {
            for node in object.nodes_mut() {
                cut |= node.truncate_levels(levels);
            }
        }
        cut
    }

    /// Applies `change` to all objects, the outermost first.
    pub(super) fn for_each_object(&mut self, change: &mut impl FnMut(&mut ObjectShape)) {
        if let Some(items) = &mut self.items {
            items.for_each_object(change);
        }
        if let Some(object) = &mut self.object {
            change(object);
            for node in object.nodes_mut() {
                node.for_each_object(change);
            }
        }
    }

    /// Adds the names of all fields, each on a line.
    pub(super) fn add_names(&self, names: &mut String) {
        if let Some(items) = &self.items {
            items.add_names(names);
        }
        if let Some(object) = &self.object {
            object.add_names(names);
            for node in object.nodes() {
                node.add_names(names);
            }
        }
    }

    pub(super) fn size(&self) -> usize {
        let items = self.items.as_ref().map_or(0, |items| items.size());
        let object = self.object.as_ref().map_or(0, ObjectShape::size);
        1 + items + object
    }

    /// Returns true if a deserialized node could have been learned.
    pub(super) fn is_valid(&self, levels: u8) -> bool {
        let known = self.kinds <= ALL_KINDS && (!self.has(ANY) || self.kinds == ANY);
        if !self.is_nested() {
            return known;
        }
        let Some(levels) = levels.checked_sub(1) else {
            return false;
        };
        known
            && !self.has(ANY)
            && self
                .items
                .as_ref()
                .is_none_or(|items| items.is_valid(levels))
            && self
                .object
                .as_ref()
                .is_none_or(|object| object.is_sound(levels))
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(kinds: &u8) -> bool {
    *kinds == 0
}
