//! Observed results: the type of a tool that declares none is learned from its results.
//!
//! Invariant: a shape contains field names and value kinds, never a value. Whatever a server sends, a shape stays below
//! `MAX_SHAPE_SIZE` and `MAX_SHAPE_DEPTH` and only ever gets wider.

mod content_blocks;
mod data_keys;
mod object_shape;
mod observed_types;
mod outline;
mod sample_result;
mod shape_node;
mod text_form;
mod witnesses;

use object_shape::ObjectShape;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shape_node::ShapeNode;
use witnesses::Witnesses;

pub use self::text_form::{TextForm, TextKind};
pub use self::witnesses::Witness;
use super::ir::Type;

/// The nesting levels that are learned. Anything below is `any`.
const MAX_SHAPE_DEPTH: u8 = 12;

/// The maximum size of a shape: one for each type in it, and one for every 16 bytes of a field's name. A larger shape
/// loses its deepest level.
const MAX_SHAPE_SIZE: usize = 2000;

/// The maximum length of a serialized shape in bytes, well above the length that `MAX_SHAPE_SIZE` allows.
const MAX_SERIALIZED_BYTES: usize = 512 * 1024;

const SHAPE_VERSION: u8 = 2;

/// The shape of the results of one tool so far. Never has a value.
///
/// Results are merged: a field that was missing once is optional, values of several kinds become a union, and arrays
/// have the union of their items. An object becomes a map, whose keys are forgotten, if a key looks like data (a
/// number, a hash, a path, an address), if it has more than 24 members all of one kind, or more than 64 of any, or if
/// its keys keep changing. Within the budgets, the order of the results does not matter.
///
/// Whoever writes a result chooses its names, so each name has witnesses. A name belongs to the caller that received it
/// until another caller also received it, or the same caller received it for three different arguments
/// ([`ResultShape::visible_to`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultShape {
    node: ShapeNode,
    /// Levels that are kept, [`MAX_SHAPE_DEPTH`] or fewer.
    depth: u8,
    calls: u64,
    texts: TextForm,
    /// Who has got any result.
    seen: Witnesses,
}

/// A shape to be shown in a declaration.
#[derive(Clone, Copy, Debug)]
pub struct ObservedResult<'a> {
    pub shape: &'a ResultShape,
    /// Shown as "observed in n calls". `None` leaves the number out, which keeps the text from changing with every
    /// call.
    pub calls: Option<u64>,
}

/// The serialized form of a shape.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SerializedShape<N> {
    version: u8,
    calls: u64,
    depth: u8,
    #[serde(default, skip_serializing_if = "TextForm::is_default")]
    texts: TextForm,
    #[serde(default, skip_serializing_if = "Witnesses::is_default")]
    seen: Witnesses,
    node: N,
}

impl Default for ResultShape {
    fn default() -> Self {
        Self {
            node: ShapeNode::default(),
            depth: MAX_SHAPE_DEPTH,
            calls: 0,
            texts: TextForm::default(),
            seen: Witnesses::default(),
        }
    }
}

impl ResultShape {
    /// A shape without results.
    pub fn new() -> Self {
        Self::default()
    }

    /// Merges one result. Returns whether the shape has changed, apart from the number of calls.
    ///
    /// The cost is bounded: of a long array, the first 200 items and 50 of the others are read, and at most 20,000
    /// values of one result.
    pub fn add(&mut self, value: &Value) -> bool {
        let node = sample_result::shape_of_result(value, self.depth);
        self.calls = self.calls.saturating_add(1);
        self.join(node)
    }

    /// The shape of one result of the call of `witness`.
    pub fn of_result(value: &Value, witness: Witness) -> Self {
        let mut shape = Self::new();
        shape.add(value);
        shape.seen = Witnesses::of(Some(witness));
        shape
            .node
            .for_each_object(&mut |object| object.set_witness(witness));
        shape
    }

    /// The part of the shape that `caller` may see: its own results, and names that are confirmed. `None` if there are
    /// none.
    pub fn visible_to(&self, caller: u64) -> Option<Self> {
        self.seen.allow(caller).then(|| {
            let mut visible = self.clone();
            visible
                .node
                .for_each_object(&mut |object| object.retain_visible(caller));
            visible
        })
    }

    /// The shape without field names, which contains only value kinds.
    #[must_use]
    pub fn without_names(&self) -> Self {
        let mut shape = self.clone();
        shape.node.for_each_object(&mut ObjectShape::remove_names);
        shape
    }

    /// The names of all fields, each on a line.
    pub fn names(&self) -> String {
        let mut names = String::new();
        self.node.add_names(&mut names);
        names
    }

    /// The number of results that were merged.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The form in which the tool's text results are read.
    pub fn texts(&self) -> TextForm {
        self.texts
    }

    /// Adds what a result showed about the form of the tool's text results.
    pub fn add_text_form(&mut self, texts: TextForm) {
        self.texts.merge(texts);
    }

    /// Merges another shape. Returns whether this shape has changed, apart from the number of calls.
    pub fn merge(&mut self, other: &ResultShape) -> bool {
        self.calls = self.calls.saturating_add(other.calls);
        self.texts.merge(other.texts);
        let cut = other.depth < self.depth && {
            self.depth = other.depth;
            self.node.truncate_levels(self.depth)
        };
        let mut node = other.node.clone();
        node.truncate_levels(self.depth);
        let seen_by_more = self.seen.merge(&other.seen);
        self.join(node) | cut | seen_by_more
    }

    /// Serializes the shape as compact JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        let kept = SerializedShape {
            version: SHAPE_VERSION,
            calls: self.calls,
            depth: self.depth,
            texts: self.texts,
            seen: self.seen.clone(),
            node: &self.node,
        };
        serde_json::to_vec(&kept).unwrap_or_default()
    }

    /// Serializes the shape without the number of calls and their witnesses: equal bytes mean equal types.
    pub fn bytes_of_type(&self) -> Vec<u8> {
        let mut node = self.node.clone();
        node.for_each_object(&mut ObjectShape::forget_witnesses);
        let kept = SerializedShape {
            version: SHAPE_VERSION,
            calls: 0,
            depth: self.depth,
            texts: self.texts,
            seen: Witnesses::default(),
            node: &node,
        };
        serde_json::to_vec(&kept).unwrap_or_default()
    }

    /// Deserializes the output of [`Shape::to_bytes`]. `None` for any other input: another format, a shape beyond the
    /// budgets, a field name that looks like data.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MAX_SERIALIZED_BYTES {
            return None;
        }
        let kept: SerializedShape<ShapeNode> = serde_json::from_slice(bytes).ok()?;
        let sound = kept.version == SHAPE_VERSION
            && kept.seen.is_valid()
            && kept.depth <= MAX_SHAPE_DEPTH
            && kept.node.is_valid(kept.depth)
            && kept.node.size() <= MAX_SHAPE_SIZE;
        sound.then_some(Self {
            node: kept.node,
            depth: kept.depth,
            calls: kept.calls,
            texts: kept.texts,
            seen: kept.seen,
        })
    }

    /// True if every result was null.
    pub(super) fn is_void(&self) -> bool {
        observed_types::is_null(&self.node)
    }

    /// The type of the results, or `None` if nothing is known about them.
    pub(super) fn result_type(&self) -> Option<Type> {
        observed_types::result_type_of(&self.node)
    }

    fn join(&mut self, node: ShapeNode) -> bool {
        let mut changed = self.node.merge(node);
        while self.depth > 0 && self.node.size() > MAX_SHAPE_SIZE {
            self.depth -= 1;
            changed |= self.node.truncate_levels(self.depth);
        }
        changed
    }
}

impl ObservedResult<'_> {
    /// The line in a tool's documentation.
    pub(super) fn doc_line(self) -> String {
        let observed = match self.calls {
            None => "Result observed, not declared by the server.".to_owned(),
            Some(1) => "Result observed in 1 call; the server declares none.".to_owned(),
            Some(n) => format!("Result observed in {n} calls; the server declares none."),
        };
        if self.shape.texts().is_text() {
            format!("{observed} It answers in text, which is never parsed.")
        } else {
            observed
        }
    }
}
