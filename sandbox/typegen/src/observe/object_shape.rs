//! Objects in a shape: fields with names, or a map whose keys are forgotten.
//!
//! Invariant: fields may become a map, never the reverse, and further results cannot undo a reason for it. So the order
//! of results does not matter.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::data_keys;
use super::shape_node::ShapeNode;
use super::witnesses::{Witness, Witnesses};

/// An object with more members than this is a map.
pub(super) const MAX_FIELDS: usize = 64;

/// An object with more members than this, all of one kind, is a map.
pub(super) const MAX_FIELDS_OF_ONE_KIND: usize = 24;

/// Objects without a common field become a map if more than this many different fields were the first of an object in
/// alphabetical order. In records with optional fields or a few variants, few fields are.
const MAX_FIRST_FIELDS: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ObjectShape {
    #[serde(rename = "fields")]
    Fields(BTreeMap<String, FieldShape>),
    #[serde(rename = "map")]
    Map(Box<ShapeNode>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FieldShape {
    #[serde(rename = "?", default, skip_serializing_if = "is_false")]
    pub(super) optional: bool,
    /// Whether it was the first field of an object, in alphabetical order.
    #[serde(rename = "1", default, skip_serializing_if = "is_false")]
    first: bool,
    /// Who has seen a field of this name.
    #[serde(rename = "s", default, skip_serializing_if = "Witnesses::is_default")]
    seen: Witnesses,
    #[serde(rename = "t", default)]
    pub(super) node: ShapeNode,
}

impl ObjectShape {
    /// The shape of one object with at most [`MAX_FIELDS`] members.
    pub(super) fn seen(members: impl Iterator<Item = (String, ShapeNode)>) -> Self {
        let field = |(name, node)| {
            let field = FieldShape {
                optional: false,
                first: false,
                seen: Witnesses::default(),
                node,
            };
            (name, field)
        };
        let mut fields: BTreeMap<String, FieldShape> = members.map(field).collect();
        if let Some(mut first) = fields.first_entry() {
            first.get_mut().first = true;
        }
        let mut sorts = fields
            .values()
            .map(|field| field.node.kinds_without_null())
            .filter(|sort| *sort != ShapeNode::default().kinds_without_null());
        let alike = sorts
            .next()
            .is_none_or(|sort| sorts.all(|other| other == sort));
        let is_map = fields.len() > MAX_FIELDS_OF_ONE_KIND && alike
            || fields.keys().any(|key| data_keys::is_data_key(key));
        let mut object = Self::Fields(fields);
        if is_map {
            object.forget_keys();
        }
        object
    }

    pub(super) fn merge(&mut self, mut other: ObjectShape) -> bool {
        let mut changed = false;
        if let (Self::Fields(fields), Self::Fields(theirs)) = (&mut *self, &mut other) {
            changed |= merge_fields(fields, std::mem::take(theirs));
            if fields.len() <= MAX_FIELDS && !has_changing_keys(fields) {
                return changed;
            }
        }
        changed |= self.forget_keys();
        other.forget_keys();
        if let (Self::Map(mine), Self::Map(theirs)) = (self, other) {
            changed |= mine.merge(*theirs);
        }
        changed
    }

    /// Turns fields into a map. Returns whether it was not a map already.
    fn forget_keys(&mut self) -> bool {
        let Self::Fields(fields) = self else {
            return false;
        };
        let mut all = ShapeNode::default();
        for field in std::mem::take(fields).into_values() {
            all.merge(field.node);
        }
        *self = Self::Map(Box::new(all));
        true
    }

    /// Records who has seen the fields of a single result.
    pub(super) fn set_witness(&mut self, witness: Witness) {
        if let Self::Fields(fields) = self {
            for field in fields.values_mut() {
                field.seen = Witnesses::of(Some(witness));
            }
        }
    }

    /// Removes the fields that only others than `caller` have seen.
    pub(super) fn retain_visible(&mut self, caller: u64) {
        if let Self::Fields(fields) = self {
            fields.retain(|_, field| field.seen.allow(caller));
        }
    }

    pub(super) fn forget_witnesses(&mut self) {
        if let Self::Fields(fields) = self {
            for field in fields.values_mut() {
                field.seen = Witnesses::default();
                field.first = false;
            }
        }
    }

    /// Removes all names.
    pub(super) fn remove_names(&mut self) {
        *self = Self::Fields(BTreeMap::new());
    }

    /// Adds the names of the fields, each on a line.
    pub(super) fn add_names(&self, names: &mut String) {
        if let Self::Fields(fields) = self {
            for name in fields.keys() {
                names.push_str(name);
                names.push('\n');
            }
        }
    }

    pub(super) fn nodes(&self) -> Vec<&ShapeNode> {
        match self {
            Self::Fields(fields) => fields.values().map(|field| &field.node).collect(),
            Self::Map(node) => vec![node],
        }
    }

    pub(super) fn nodes_mut(&mut self) -> Vec<&mut ShapeNode> {
        match self {
            Self::Fields(fields) => fields.values_mut().map(|field| &mut field.node).collect(),
            Self::Map(node) => vec![node],
        }
    }

    pub(super) fn size(&self) -> usize {
        match self {
            Self::Fields(fields) => fields
                .iter()
                .map(|(name, field)| name.len() / 16 + field.node.size())
                .sum(),
            Self::Map(node) => node.size(),
        }
    }

    pub(super) fn is_sound(&self, levels: u8) -> bool {
        match self {
            Self::Fields(fields) => {
                fields.len() <= MAX_FIELDS
                    && !has_changing_keys(fields)
                    && fields.iter().all(|(name, field)| {
                        !data_keys::is_data_key(name)
                            && field.seen.is_valid()
                            && field.node.is_valid(levels)
                    })
            }
            Self::Map(node) => node.is_valid(levels),
        }
    }
}

fn merge_fields(
    fields: &mut BTreeMap<String, FieldShape>,
    theirs: BTreeMap<String, FieldShape>,
) -> bool {
    let mut changed = false;
    for (name, field) in fields.iter_mut() {
        if !field.optional && !theirs.contains_key(name) {
            field.optional = true;
            changed = true;
        }
    }
    for (name, mut theirs) in theirs {
        if let Some(mine) = fields.get_mut(&name) {
            changed |= theirs.optional && !mine.optional;
            mine.optional |= theirs.optional;
            mine.first |= theirs.first;
            changed |= mine.seen.merge(&theirs.seen);
            changed |= mine.node.merge(theirs.node);
        } else {
            theirs.optional = true;
            fields.insert(name, theirs);
            changed = true;
        }
    }
    changed
}

fn has_changing_keys(fields: &BTreeMap<String, FieldShape>) -> bool {
    fields.values().filter(|field| field.first).count() > MAX_FIRST_FIELDS
        && fields.values().all(|field| field.optional)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}
