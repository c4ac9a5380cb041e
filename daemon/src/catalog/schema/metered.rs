//! JSON values that count how often a validator looks at them.
//!
//! The exponential schema is as short as any other: it refers to the same definition twice, sixty levels deep. Time
//! cannot bound it, since a thread cannot be ended from outside; the values that it looks at can.
//!
//! Invariant: whatever asks something of a value takes a step, and the step after the last one ends the work by
//! unwinding.

use std::{borrow::Cow, cell::Cell, panic::resume_unwind, slice};

use jsonschema::{
    JsonType,
    json::{Array, Json, Node as JsonNode, NodeIdentity, Object, unique},
};
use serde_json::{Map, Number, Value, map};

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// What is unwound with.
pub(super) struct Exhausted;

/// Does the work with so many steps.
pub(super) fn with_steps<T>(steps: u64, work: impl FnOnce() -> T) -> T {
    struct Unlimited;
    impl Drop for Unlimited {
        fn drop(&mut self) {
            LEFT.set(u64::MAX);
        }
    }
    let _after = Unlimited;
    LEFT.set(steps);
    work()
}

fn step(weight: usize) {
    match LEFT.get().checked_sub(weight as u64) {
        Some(left) => LEFT.set(left),
        // Without the hook that would write a panic into the log.
        None => resume_unwind(Box::new(Exhausted)),
    }
}

#[derive(Debug)]
pub(super) struct Metered;

/// A value that is looked at.
#[derive(Clone, Copy)]
pub(super) struct Node<'a>(pub(super) &'a Value);

#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(&'a Map<String, Value>);

#[derive(Clone, Copy)]
pub(super) struct Items<'a>(&'a [Value]);

pub(super) struct FieldsIter<'a>(map::Iter<'a>);

pub(super) struct ItemsIter<'a>(slice::Iter<'a, Value>);

impl Json for Metered {
    type Node<'a> = Node<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(
        buffer: &mut Value,
        string: &str,
        work: impl FnOnce(Node<'_>) -> T,
    ) -> T {
        *buffer = Value::String(string.to_owned());
        work(Node(buffer))
    }
}

impl<'a> JsonNode<'a, Metered> for Node<'a> {
    type Object = Fields<'a>;
    type Array = Items<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Fields<'a>> {
        step(1);
        self.0.as_object().map(Fields)
    }

    fn as_array(&self) -> Option<Items<'a>> {
        step(1);
        self.0.as_array().map(|items| Items(items))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.0.as_str();
        step(1 + text.map_or(0, str::len) / 64);
        text.map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        step(1);
        self.0.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        step(1);
        self.0.as_bool()
    }

    fn is_null(&self) -> bool {
        step(1);
        self.0.is_null()
    }

    fn json_type(&self) -> JsonType {
        step(1);
        match self.0 {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn to_value(&self) -> Cow<'a, Value> {
        step(1);
        Cow::Borrowed(self.0)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        step(1);
        let address = std::ptr::from_ref(self.0).addr();
        Some(NodeIdentity::new(address))
    }
}

impl<'a> Object<'a, Metered> for Fields<'a> {
    type Node = Node<'a>;
    type MemberName = &'a str;
    type MembersIter = FieldsIter<'a>;

    fn len(&self) -> usize {
        step(1);
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<Node<'a>> {
        step(1);
        self.0.get(key.as_str()).map(Node)
    }

    fn members(&self) -> FieldsIter<'a> {
        FieldsIter(self.0.iter())
    }
}

impl<'a> Array<'a, Metered> for Items<'a> {
    type Node = Node<'a>;
    type ElementsIter = ItemsIter<'a>;

    fn len(&self) -> usize {
        step(1);
        self.0.len()
    }

    fn elements(&self) -> ItemsIter<'a> {
        ItemsIter(self.0.iter())
    }

    fn is_unique(&self) -> bool {
        step(self.0.iter().map(super::count).sum());
        unique::is_unique(self.0)
    }
}

impl<'a> Iterator for FieldsIter<'a> {
    type Item = (&'a str, Node<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        step(1);
        self.0
            .next()
            .map(|(name, value)| (name.as_str(), Node(value)))
    }
}

impl<'a> Iterator for ItemsIter<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        step(1);
        self.0.next().map(Node)
    }
}
