//! Plays the tasks of a suite twice, as plain calls and as programs, and keeps every text that a model would write or
//! read. Both ways must leave the same state in the suite's servers and give the same results.
//!
//! The programs are made from the suite's call list: one for each turn of the user, with the same arguments in the
//! same order. A call that fails ends its program, as it would for a model: the rest of the turn is another program.

use std::fmt::Write as _;

use anyhow::ensure;
use mux_tests::{Agent, program_result};
use serde_json::{Value, json};

use super::{
    plain::{plain_text, said, text},
    profiles,
    suites::{SuiteCall, SuiteTask, SuitesHome},
};

/// A call with its result, as a model writes and reads them.
#[derive(Clone)]
pub(crate) struct Exchange {
    pub(crate) said: String,
    pub(crate) heard: String,
}

/// The result of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultShape {
    All,
    Last,
}

/// The exchanges of each turn.
pub(crate) struct PlayedTask {
    pub(crate) plain: Vec<Vec<Exchange>>,
    pub(crate) all: Vec<Vec<Exchange>>,
    pub(crate) last: Vec<Vec<Exchange>>,
}

pub(crate) struct TaskPlayer<'a> {
    home: &'a SuitesHome,
    passthrough: Agent,
    mux: Agent,
}

struct Answer {
    text: String,
    failed: bool,
}

impl<'a> TaskPlayer<'a> {
    pub(crate) fn new(home: &'a SuitesHome) -> Self {
        Self {
            home,
            passthrough: Agent::legacy(&home.env, &["--passthrough"], json!({})),
            mux: Agent::legacy(&home.env, &profiles::WHOLE, json!({})),
        }
    }

    /// Plays a task in every way. Fails if the ways differ in their state or results.
    pub(crate) fn play(&mut self, task: &SuiteTask) -> anyhow::Result<PlayedTask> {
        self.home.reset(task)?;
        let answers: Vec<Vec<Answer>> = task
            .turns
            .iter()
            .map(|turn| turn.calls.iter().map(|call| self.call(call)).collect())
            .collect();
        let expected = self.home.state(task)?;
        let all = self.run_all(task, &answers, &expected, ResultShape::All)?;
        // With one call in each turn, the programs are the same.
        let last = if task.turns.iter().any(|turn| turn.calls.len() > 1) {
            self.run_all(task, &answers, &expected, ResultShape::Last)?
        } else {
            all.clone()
        };
        let plain = task
            .turns
            .iter()
            .zip(answers)
            .map(|(turn, answers)| {
                let calls = turn.calls.iter().zip(answers);
                let exchanges = calls.map(|(call, answer)| Exchange {
                    said: said(&call.name.plain(), &call.arguments),
                    heard: answer.text,
                });
                exchanges.collect()
            })
            .collect();
        Ok(PlayedTask { plain, all, last })
    }

    /// Runs the programs of a task from its initial state.
    fn run_all(
        &mut self,
        task: &SuiteTask,
        answers: &[Vec<Answer>],
        expected: &[Value],
        returns: ResultShape,
    ) -> anyhow::Result<Vec<Vec<Exchange>>> {
        self.home.reset(task)?;
        let exchanges = task
            .turns
            .iter()
            .zip(answers)
            .map(|(turn, answers)| self.run_turn(&turn.calls, answers, returns))
            .collect::<anyhow::Result<_>>()?;
        let state = self.home.state(task)?;
        let is_same = state
            .iter()
            .zip(expected)
            .all(|(one, other)| same(one, other));
        ensure!(is_same, "programs leave another state");
        Ok(exchanges)
    }

    fn call(&mut self, call: &SuiteCall) -> Answer {
        let result = self
            .passthrough
            .call(&call.name.plain(), call.arguments.clone());
        Answer {
            text: plain_text(&result),
            failed: result["isError"] == true,
        }
    }

    fn run_turn(
        &mut self,
        calls: &[SuiteCall],
        answers: &[Answer],
        returns: ResultShape,
    ) -> anyhow::Result<Vec<Exchange>> {
        let mut exchanges = Vec::new();
        let mut from = 0;
        while from < calls.len() {
            let failing = answers[from..].iter().position(|answer| answer.failed);
            let count = match failing {
                Some(0) => 1,
                Some(before) => before,
                None => calls.len() - from,
            };
            let part = from..from + count;
            exchanges.push(self.run(&calls[part.clone()], &answers[part], returns)?);
            from += count;
        }
        Ok(exchanges)
    }

    fn run(
        &mut self,
        calls: &[SuiteCall],
        answers: &[Answer],
        returns: ResultShape,
    ) -> anyhow::Result<Exchange> {
        let arguments = json!({ "code": program(calls, returns) });
        let result = self.mux.call("run", arguments.clone());
        let failed = result["isError"] == true;
        ensure!(
            failed == answers[0].failed,
            "the program {arguments} gives {result}"
        );
        if !failed {
            let values = answers.iter().map(|answer| value_of(&answer.text));
            let mut expected: Vec<Value> = values.collect();
            let found = &program_result::value(&result);
            let expected = match (returns, expected.pop()) {
                (ResultShape::All, Some(last)) if !expected.is_empty() => {
                    expected.push(last);
                    Value::Array(expected)
                }
                (_, last) => last.unwrap_or_default(),
            };
            ensure!(
                same(found, &expected),
                "the program {arguments} gives {result} and not {expected}"
            );
        }
        Ok(Exchange {
            said: said("run", &arguments),
            heard: text(&result),
        })
    }
}

/// The value that a program gets for a text: JSON is parsed if it is an object or an array.
fn value_of(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ => text.into(),
    }
}

/// Returns true if two values are the same in JavaScript, which has one kind of number.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let member = |(key, value)| other.get(key).is_some_and(|other| same(value, other));
            one.len() == other.len() && one.iter().all(member)
        }
        _ => one == other,
    }
}

fn program(calls: &[SuiteCall], returns: ResultShape) -> String {
    let calls: Vec<String> = calls
        .iter()
        .map(|call| {
            let arguments = literal(&call.arguments);
            format!("await mux.{}({arguments})", call.name.path())
        })
        .collect();
    match (calls.as_slice(), returns) {
        ([only], _) => format!("return {only};"),
        (all, ResultShape::All) => format!("return [\n  {},\n];", all.join(",\n  ")),
        ([before @ .., last], ResultShape::Last) => {
            format!("{};\nreturn {last};", before.join(";\n"))
        }
        ([], ResultShape::Last) => String::new(),
    }
}

/// A value as a programmer writes it in TypeScript.
fn literal(value: &Value) -> String {
    match value {
        Value::Object(members) if members.is_empty() => "{}".into(),
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| {
                    let mut member = if is_identifier(key) {
                        key.clone()
                    } else {
                        json!(key).to_string()
                    };
                    // Writing to a text cannot fail.
                    _ = write!(member, ": {}", literal(value));
                    member
                })
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        simple => simple.to_string(),
    }
}

fn is_identifier(key: &str) -> bool {
    !key.starts_with(|first: char| first.is_ascii_digit())
        && key
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
