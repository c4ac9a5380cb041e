//! JSON values that count the validator's accesses and stop it when its budget is used up.
//!
//! A short schema may take exponential time: it refers to the same definition twice, sixty levels deep. A thread cannot
//! be stopped from outside, but the values that it accesses can stop it.
//!
//! Invariant: every access to a value takes a step. The first step beyond the budget ends the check by unwinding.

use std::{borrow::Cow, cell::Cell, panic::resume_unwind, slice, time::Duration};

use jsonschema::{
    JsonType,
    json::{Array, Json, Node as JsonNode, NodeIdentity, Object, unique},
};
use mux_process::thread_clock::thread_cpu_time;
use serde_json::{Map, Number, Value, map};

/// Steps between two readings of the clock.
const STEPS_PER_CLOCK_CHECK: u64 = 64;
/// The maximum product of a pattern's states and a string's length in bytes.
const MAX_VISITED_STATES: usize = 100_000_000;

thread_local! {
    static BUDGET_LEFT: Cell<BudgetLeft> = const { Cell::new(BudgetLeft::UNLIMITED) };
}

/// The limits of one check.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckBudget {
    pub(crate) steps: u64,
    /// CPU time of the thread: one step is bounded, but not always short.
    pub(crate) cpu_time: Duration,
    /// States of the largest pattern of the schema. 0 if there is none.
    pub(crate) states: usize,
}

#[derive(Clone, Copy)]
struct BudgetLeft {
    steps: u64,
    /// The clock is read when this many steps are left.
    clock_at: u64,
    cpu_time: Duration,
    /// The deadline on the clock of this thread's CPU time, from the first reading on: a short check needs none.
    until: Option<Duration>,
    states: usize,
}

impl BudgetLeft {
    const UNLIMITED: Self = Self {
        steps: u64::MAX,
        clock_at: 0,
        cpu_time: Duration::MAX,
        until: None,
        states: 0,
    };
}

/// The panic payload of a check that exceeded its budget.
pub(crate) struct BudgetExhausted;

/// Runs `work` within a budget. Unwinds with [`BudgetExhausted`] if it exceeds that.
pub(crate) fn within<T>(budget: CheckBudget, work: impl FnOnce() -> T) -> T {
    struct RestoreUnlimited;
    impl Drop for RestoreUnlimited {
        fn drop(&mut self) {
            BUDGET_LEFT.set(BudgetLeft::UNLIMITED);
        }
    }
    let _after = RestoreUnlimited;
    BUDGET_LEFT.set(BudgetLeft {
        steps: budget.steps,
        clock_at: budget.steps.saturating_sub(STEPS_PER_CLOCK_CHECK),
        cpu_time: budget.cpu_time,
        until: None,
        states: budget.states,
    });
    work()
}

fn step(weight: usize) {
    let mut left = BUDGET_LEFT.get();
    match left.steps.checked_sub(weight as u64) {
        Some(steps) => left.steps = steps,
        None => exhausted(),
    }
    if left.steps <= left.clock_at
        && let Some(now) = thread_cpu_time()
    {
        left.clock_at = left.steps.saturating_sub(STEPS_PER_CLOCK_CHECK);
        let until = left.until.get_or_insert(now.saturating_add(left.cpu_time));
        if now > *until {
            exhausted();
        }
    }
    BUDGET_LEFT.set(left);
}

/// Takes the steps for a string that patterns may be matched against.
fn step_to_text(bytes: usize) {
    let mut left = BUDGET_LEFT.get();
    if left.states > 0 {
        if left.states.saturating_mul(bytes) > MAX_VISITED_STATES {
            exhausted();
        }
        left.clock_at = left.steps;
        BUDGET_LEFT.set(left);
    }
    step(1 + bytes / 64);
}

fn exhausted() -> ! {
    // Skips the panic hook, which would log a panic.
    resume_unwind(Box::new(BudgetExhausted))
}

#[derive(Debug)]
pub(crate) struct MeteredJson;

/// A metered JSON value.
#[derive(Clone, Copy)]
pub(crate) struct MeteredNode<'a>(pub(crate) &'a Value);

#[derive(Clone, Copy)]
pub(crate) struct MeteredObject<'a>(&'a Map<String, Value>);

#[derive(Clone, Copy)]
pub(crate) struct MeteredArray<'a>(&'a [Value]);

pub(crate) struct MeteredObjectIter<'a>(map::Iter<'a>);

pub(crate) struct MeteredArrayIter<'a>(slice::Iter<'a, Value>);

impl Json for MeteredJson {
    type Node<'a> = MeteredNode<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(
        buffer: &mut Value,
        string: &str,
        work: impl FnOnce(MeteredNode<'_>) -> T,
    ) -> T {
        *buffer = Value::String(string.to_owned());
        work(MeteredNode(buffer))
    }
}

impl<'a> JsonNode<'a, MeteredJson> for MeteredNode<'a> {
    type Object = MeteredObject<'a>;
    type Array = MeteredArray<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<MeteredObject<'a>> {
        step(1);
        self.0.as_object().map(MeteredObject)
    }

    fn as_array(&self) -> Option<MeteredArray<'a>> {
        step(1);
        self.0.as_array().map(|items| MeteredArray(items))
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

impl<'a> Object<'a, MeteredJson> for MeteredObject<'a> {
    type Node = MeteredNode<'a>;
    type MemberName = &'a str;
    type MembersIter = MeteredObjectIter<'a>;

    fn len(&self) -> usize {
        step(1);
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<MeteredNode<'a>> {
        step(1);
        self.0.get(key.as_str()).map(MeteredNode)
    }

    fn members(&self) -> MeteredObjectIter<'a> {
        MeteredObjectIter(self.0.iter())
    }
}

impl<'a> Array<'a, MeteredJson> for MeteredArray<'a> {
    type Node = MeteredNode<'a>;
    type ElementsIter = MeteredArrayIter<'a>;

    fn len(&self) -> usize {
        step(1);
        self.0.len()
    }

    fn elements(&self) -> MeteredArrayIter<'a> {
        MeteredArrayIter(self.0.iter())
    }

    fn is_unique(&self) -> bool {
        step(self.0.iter().map(super::count_values).sum());
        unique::is_unique(self.0)
    }
}

impl<'a> Iterator for MeteredObjectIter<'a> {
    type Item = (&'a str, MeteredNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.0.next()?;
        step_to_text(name.len());
        Some((name.as_str(), MeteredNode(value)))
    }
}

impl<'a> Iterator for MeteredArrayIter<'a> {
    type Item = MeteredNode<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        step(1);
        self.0.next().map(MeteredNode)
    }
}
