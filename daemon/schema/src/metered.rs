//! JSON values that count how often a validator looks at them.
//!
//! The exponential schema is as short as any other: it refers to the same definition twice, sixty levels deep. A thread
//! cannot be ended from outside; but what it looks at on its way can end it.
//!
//! Invariant: whatever asks something of a value takes a step, and the step after the last one, or after the last
//! moment, ends the work by unwinding.

use std::{borrow::Cow, cell::Cell, panic::resume_unwind, slice, time::Duration};

use jsonschema::{
    JsonType,
    json::{Array, Json, Node as JsonNode, NodeIdentity, Object, unique},
};
use nix::time::{ClockId, clock_gettime};
use serde_json::{Map, Number, Value, map};

/// Between two looks at the clock, in steps.
const CLOCK_STEPS: u64 = 64;
/// States of a pattern that one text may visit: so many times as many letters as it has.
const MAX_VISITED_STATES: usize = 100_000_000;

thread_local! {
    static LEFT: Cell<Left> = const { Cell::new(Left::UNLIMITED) };
}

/// What a check may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) steps: u64,
    /// Of the thread's processor: what happens in one step is bounded, but not always short.
    pub(crate) cpu_time: Duration,
    /// Of the largest pattern of the schema; 0 if there is none.
    pub(crate) states: usize,
}

#[derive(Clone, Copy)]
struct Left {
    steps: u64,
    /// When the clock is looked at next: with so many steps left.
    clock_at: u64,
    /// On the clock of this thread's processor time.
    until: Option<Duration>,
    states: usize,
}

impl Left {
    const UNLIMITED: Self = Self {
        steps: u64::MAX,
        clock_at: 0,
        until: None,
        states: 0,
    };
}

/// What is unwound with.
pub(crate) struct Exhausted;

/// Does the work within a budget.
pub(crate) fn within<T>(budget: Budget, work: impl FnOnce() -> T) -> T {
    struct Unlimited;
    impl Drop for Unlimited {
        fn drop(&mut self) {
            LEFT.set(Left::UNLIMITED);
        }
    }
    let _after = Unlimited;
    LEFT.set(Left {
        steps: budget.steps,
        clock_at: budget.steps,
        until: cpu_time().map(|now| now + budget.cpu_time),
        states: budget.states,
    });
    work()
}

/// Of this thread. A system that does not tell it leaves the steps.
fn cpu_time() -> Option<Duration> {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
    Some(now.into())
}

fn step(weight: usize) {
    let mut left = LEFT.get();
    match left.steps.checked_sub(weight as u64) {
        Some(steps) => left.steps = steps,
        None => exhausted(),
    }
    if left.steps <= left.clock_at
        && let Some(until) = left.until
    {
        left.clock_at = left.steps.saturating_sub(CLOCK_STEPS);
        if cpu_time().is_some_and(|now| now > until) {
            exhausted();
        }
    }
    LEFT.set(left);
}

/// A text that patterns may be tried on.
fn step_to_text(bytes: usize) {
    let mut left = LEFT.get();
    if left.states > 0 {
        if left.states.saturating_mul(bytes) > MAX_VISITED_STATES {
            exhausted();
        }
        left.clock_at = left.steps;
        LEFT.set(left);
    }
    step(1 + bytes / 64);
}

fn exhausted() -> ! {
    // Without the hook that would write a panic into the log.
    resume_unwind(Box::new(Exhausted))
}

#[derive(Debug)]
pub(crate) struct Metered;

/// A value that is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a>(pub(crate) &'a Value);

#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(&'a Map<String, Value>);

#[derive(Clone, Copy)]
pub(crate) struct Items<'a>(&'a [Value]);

pub(crate) struct FieldsIter<'a>(map::Iter<'a>);

pub(crate) struct ItemsIter<'a>(slice::Iter<'a, Value>);

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
        step_to_text(text.map_or(0, str::len));
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
        let (name, value) = self.0.next()?;
        step_to_text(name.len());
        Some((name.as_str(), Node(value)))
    }
}

impl<'a> Iterator for ItemsIter<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        step(1);
        self.0.next().map(Node)
    }
}
