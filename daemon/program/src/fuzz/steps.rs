//! Step programs: any text, damaged programs, and programs whose arguments are known by construction.

use mux_chance::{
    broken,
    damage::{damage_of, damaged},
    holds, json,
};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use crate::{
    FillError, ReferenceRoot, ReferenceValues, StepOrder, StepPlan, Template, ValueReference,
    explain_as_typescript, parse_program, template::text_of_json,
};

/// The maximum size of one step's arguments, in bytes.
const MOST: usize = 10_000;

/// The same value for every reference.
struct SameValue<'a>(&'a str);

impl ReferenceValues for SameValue<'_> {
    fn root_text(&self, _: &ValueReference) -> Option<&str> {
        Some(self.0)
    }
}

fn text() -> impl Strategy<Value = String> {
    const PARTS: &[&str] = &[
        "{{",
        "}}",
        "a",
        "b",
        "input",
        ".",
        "result",
        "args",
        "tool",
        "[0]",
        "[\"x y\"]",
        "\\",
        " ",
        "{{a}}",
        "{{a.x}}",
        "{{b.0}}",
        "{{input}}",
        "\u{1f600}",
        "\"",
        "`${",
    ];
    let parts = vec(select(PARTS), 0..8).prop_map(|parts| parts.concat());
    prop_oneof![3 => parts, 1 => any::<String>()]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(Value::String),
        any::<i64>().prop_map(|n| json!(n)),
        any::<f64>().prop_map(|n| json!(n)),
        Just(Value::Null),
        Just(json!(true)),
    ];
    leaf.prop_recursive(4, 20, 4, |inner| {
        let name = prop_oneof![
            text(),
            select(vec!["x", "__proto__", "0"]).prop_map(str::to_owned)
        ];
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((name, inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn program() -> impl Strategy<Value = Value> {
    let id =
        prop_oneof![4 => select(vec!["a", "b", "c", "class"]).prop_map(Value::from), 1 => value()];
    let tool =
        prop_oneof![4 => select(vec!["s.t", "s.u-v", "r.t"]).prop_map(Value::from), 1 => value()];
    let on_error = select(vec![
        json!(null),
        json!("abort"),
        json!("continue"),
        json!(1),
    ]);
    let step = (id, tool, value(), on_error, value(), 0..3).prop_map(
        |(id, tool, args, on_error, after, more)| {
            let mut step = json!({ "id": id, "tool": tool, "args": { "x": args } });
            if more > 0 && !on_error.is_null() {
                step["on_error"] = on_error;
            }
            if more > 1 {
                step["after"] = after;
            }
            step
        },
    );
    (vec(step, 0..5), value())
        .prop_map(|(steps, returns)| json!({ "steps": steps, "return": returns }))
}

/// Checks that a parsed program can be ordered, filled and explained.
fn can_run(plan: &StepPlan, value: &Value) {
    for (index, step) in plan.steps.iter().enumerate() {
        step.args.references(&mut |reference| match reference.root {
            ReferenceRoot::Step { index: to, .. } => assert!(to < index, "{plan:?}"),
            ReferenceRoot::Input => {}
        });
        assert!(step.after.iter().all(|before| *before < index), "{plan:?}");
        filled(&step.args, value);
    }
    for changes in [false, true] {
        let order = StepOrder::of(plan, &vec![changes; plan.steps.len()]);
        let waves = order.waves();
        assert_eq!(waves.iter().map(Vec::len).sum::<usize>(), plan.steps.len());
        let explained = explain_as_typescript(plan, &order);
        let lines: Vec<&str> = explained.source.lines().collect();
        for line in explained.lines {
            let is_call = ["mux.", "mux["]
                .iter()
                .any(|call| lines[line - 1].contains(call));
            assert!(is_call, "{}", explained.source);
        }
    }
}

fn filled(template: &Template, value: &Value) {
    let text = value.to_string();
    if let Ok(json) = template.fill(&SameValue(&text), MOST) {
        assert!(json.len() <= MOST);
        // The filled JSON parses, unless template and value together are nested too deep.
        let read = serde_json::from_str::<serde::de::IgnoredAny>(&json);
        assert!(
            read.is_ok() || mux_text::json_depth::depth(&json) > 100,
            "{json}"
        );
    }
}

#[test]
fn fuzz_any_value_is_a_program_that_can_run_or_is_rejected() {
    holds("steps", 400, (program(), value()), |(program, value)| {
        match parse_program(&program.to_string(), 100) {
            Ok(plan) => can_run(&plan, &value),
            Err(fault) => prop_assert!(!fault.message.is_empty() && fault.hint.is_some()),
        }
        Ok(())
    });
}

/// Programs that can run, in several formats.
const PROGRAMS: &[&str] = &[
    r#"{ "steps": [
        { "id": "list", "tool": "files.list", "args": { "path": "{{input.dir}}" } },
        { "id": "read", "tool": "files.read", "args": { "path": "{{list.result.0.path}}", "n": 1.5e3 }, "after": ["list"] },
        { "id": "note", "tool": "mail.send", "args": { "text": "a {{read.x[\"odd key\"]}} \\{{ b {{list.tool}}" }, "on_error": "continue" }
    ], "return": { "a": "{{note}}", "b": ["{{list.args.path}}"] } }"#,
    "```json\n{\"program\": {\"steps\": [{\"id\": \"a\", \"tool\": \"s.t\"}]}}\n```",
    "\u{feff}{\"steps\": [{\"id\": \"a\", \"tool\": \"s.t\", \"args\": {\"x\": [1, \"{{input}}\"]}, \"description\": \"d\"}]}",
];
const TOKENS: &[&str] = &[
    "{{",
    "}}",
    "\\",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"id\":\"a\"",
    "\"after\":[\"b\"]",
    "{{input}}",
    "\u{feff}",
    "```",
    "1e999",
    "\\ud800",
];

#[test]
fn fuzz_damaged_programs_can_run_or_are_rejected() {
    let values = (select(PROGRAMS), vec(damage_of(TOKENS), 0..4), value());
    holds("steps_damaged", 600, values, |(program, damages, value)| {
        let text = String::from_utf8_lossy(&damaged(program, &damages)).into_owned();
        match parse_program(&text, 100) {
            Ok(plan) => can_run(&plan, &value),
            Err(fault) => prop_assert!(!fault.message.is_empty()),
        }
        prop_assert!(parse_program(program, 100).is_ok());
        Ok(())
    });
}

/// A part of a string argument.
#[derive(Clone, Debug)]
enum Part {
    Text(String),
    /// The input, or a value in it.
    Input(Vec<Step>),
}

/// A step of a path into the input.
#[derive(Clone, Debug)]
enum Step {
    Member(String),
    Element(u8),
}

fn part() -> impl Strategy<Value = Part> {
    let step = prop_oneof![
        select(&["a", "b c", "\u{e9}\"]", "0", "}}", ""][..])
            .prop_map(|name| Step::Member(name.into())),
        (0..3_u8).prop_map(Step::Element),
    ];
    let plain = vec(
        select(&["a", "{", "{{", "}}", "\\", "\"", " ", "\u{1f600}"][..]),
        0..6,
    );
    prop_oneof![
        2 => plain.prop_map(|pieces| Part::Text(pieces.concat())),
        1 => any::<String>().prop_map(Part::Text),
        3 => vec(step, 0..3).prop_map(Part::Input),
    ]
}

/// Input in which each path of [`part`] leads to a value.
fn input() -> impl Strategy<Value = Value> {
    json::value().prop_map(|leaf| {
        let level = |inner: &Value| {
            json!({ "a": inner, "b c": inner, "\u{e9}\"]": inner, "0": inner, "1": inner, "2": inner, "}}": inner,
                    "": inner })
        };
        level(&level(&leaf))
    })
}

impl Part {
    /// The part as a program writes it. `next` follows it.
    fn written(&self, next: Option<&Self>) -> String {
        match self {
            Self::Input(path) => {
                let steps = path.iter().map(|step| match step {
                    Step::Member(name) => format!("[{}]", Value::from(name.as_str())),
                    Step::Element(index) => format!("[{index}]"),
                });
                format!("{{{{input{}}}}}", steps.collect::<String>())
            }
            Self::Text(text) => {
                let mut written = String::new();
                let mut marks = 0;
                let mut rest = text.as_str();
                while let Some(first) = rest.chars().next() {
                    if rest.starts_with("{{") {
                        written.push_str(&"\\".repeat(marks + 1));
                        written.push_str("{{");
                        marks = 0;
                        rest = &rest[2..];
                        continue;
                    }
                    marks = if first == '\\' { marks + 1 } else { 0 };
                    written.push(first);
                    rest = &rest[first.len_utf8()..];
                }
                if matches!(next, Some(Self::Input(_))) {
                    written.push_str(&"\\".repeat(marks));
                }
                written
            }
        }
    }

    fn value<'a>(&self, input: &'a Value) -> Option<&'a Value> {
        let Self::Input(path) = self else {
            return None;
        };
        path.iter().try_fold(input, |value, step| match step {
            Step::Member(name) => value.get(name),
            Step::Element(index) => value
                .get(usize::from(*index))
                .or_else(|| value.get(index.to_string())),
        })
    }
}

/// Joins neighbouring strings, and separates a brace from a reference after it: `{` and `{{a}}` would be read as `{{`
/// and `{a}}`.
fn merged(parts: Vec<Part>) -> Vec<Part> {
    let mut merged: Vec<Part> = Vec::new();
    for part in parts {
        match (merged.last_mut(), part) {
            (_, Part::Text(text)) if text.is_empty() => {}
            (Some(Part::Text(before)), Part::Text(text)) => before.push_str(&text),
            (Some(Part::Text(before)), part @ Part::Input(_)) => {
                if before.ends_with('{') {
                    before.push(' ');
                }
                merged.push(part);
            }
            (_, part) => merged.push(part),
        }
    }
    merged
}

#[test]
fn fuzz_references_are_replaced_and_all_other_text_is_kept() {
    let values = (vec(part(), 1..5), input());
    holds("steps_filled", 400, values, |(parts, input)| {
        let parts = merged(parts);
        let followed = parts
            .iter()
            .zip(parts.iter().skip(1).map(Some).chain([None]));
        let written: String = followed.map(|(part, next)| part.written(next)).collect();
        let program = json!({ "steps": [{ "id": "a", "tool": "s.t", "args": { "x": written } }] });
        let plan = parse_program(&program.to_string(), 10)
            .map_err(|fault| broken(format!("{written:?}: {}", fault.message)))?;
        let texts: Vec<String> = parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Input(_) => {
                    let value = part.value(&input).map(Value::to_string);
                    text_of_json(&value.unwrap_or_default())
                }
            })
            .collect();
        let expected = match parts.as_slice() {
            [reference @ Part::Input(_)] => reference.value(&input).cloned(),
            parts => parts
                .iter()
                .all(|part| matches!(part, Part::Text(_)) || part.value(&input).is_some())
                .then(|| Value::String(texts.concat())),
        };
        let text = input.to_string();
        match (
            plan.steps[0].args.fill(&SameValue(&text), 1 << 20),
            expected,
        ) {
            (Ok(filled), Some(expected)) => {
                let filled: Value = serde_json::from_str(&filled).unwrap();
                prop_assert_eq!(&filled["x"], &expected, "{:?}", written);
            }
            (Err(FillError::Missing(..)), None) => {}
            (filled, expected) => {
                return Err(broken(format!("{written:?}: {filled:?}, not {expected:?}")));
            }
        }
        Ok(())
    });
}

#[test]
fn hostile_programs_are_rejected_or_bounded() {
    let many: Vec<Value> = (0..10_000)
        .map(|n| json!({ "id": format!("s{n}"), "tool": "s.t" }))
        .collect();
    let fault = parse_program(&json!({ "steps": many }).to_string(), 1000).unwrap_err();
    assert!(fault.message.contains("10000 steps"), "{}", fault.message);

    let deep = format!("{{{{a{}}}}}", ".x".repeat(1000));
    let steps =
        json!([{ "id": "a", "tool": "s.t" }, { "id": "b", "tool": "s.t", "args": { "x": deep } }]);
    let plan = parse_program(&json!({ "steps": steps }).to_string(), 10).unwrap();
    let fills = plan.steps[1].args.fill(&SameValue("{}"), MOST);
    assert!(fills.is_err(), "{fills:?}");

    // Each step refers to the one before it many times, in the longest possible chain.
    let chain: Vec<Value> = (0..1000)
        .map(|n| {
            let before = if n == 0 {
                "{{input}}".to_owned()
            } else {
                format!("{{{{s{}}}}}", n - 1)
            };
            json!({ "id": format!("s{n}"), "tool": "s.t", "args": { "x": before.repeat(50) } })
        })
        .collect();
    let plan = parse_program(&json!({ "steps": chain }).to_string(), 1000).unwrap();
    let order = StepOrder::of(&plan, &[]);
    assert_eq!(order.waves().len(), 1000);
    assert!(explain_as_typescript(&plan, &order).source.len() < 2 << 20);
    let large = format!("\"{}\"", "x".repeat(MOST / 40));
    assert!(plan.steps[9].args.fill(&SameValue(&large), MOST).is_err());

    // Many references into a long value.
    let many: Vec<String> = (0..5_000).map(|n| format!("{{{{a.x{n}}}}}")).collect();
    let steps =
        json!([{ "id": "a", "tool": "s.t" }, { "id": "b", "tool": "s.t", "args": { "x": many } }]);
    let plan = parse_program(&json!({ "steps": steps }).to_string(), 10).unwrap();
    let members: Vec<String> = (0..5_000).map(|n| format!("\"x{n}\":1")).collect();
    let long = format!(
        "{{{},\"rest\":\"{}\"}}",
        members.join(","),
        "x".repeat(1 << 20)
    );
    let fills = plan.steps[1].args.fill(&SameValue(&long), 1 << 20);
    assert_eq!(fills, Err(FillError::TooMuch(256 << 20)));

    // A cycle of a thousand steps.
    let circle: Vec<Value> = (0..1000)
        .map(|n| {
            let next = format!("{{{{s{}}}}}", (n + 1) % 1000);
            json!({ "id": format!("s{n}"), "tool": "s.t", "args": { "x": next } })
        })
        .collect();
    let fault = parse_program(&json!({ "steps": circle }).to_string(), 1000).unwrap_err();
    assert!(
        fault.message.contains("waits for itself"),
        "{}",
        fault.message
    );
}
