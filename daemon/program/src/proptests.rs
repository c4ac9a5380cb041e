//! Properties that hold for every text given as a program.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::{
    FillError, ReferenceRoot, ReferenceValues, StepOrder, StepPlan, Template, ValueReference,
    explain_as_typescript, parse_program,
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
fn holds(plan: &StepPlan, value: &Value) {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsing_is_total_and_parsed_programs_can_run(program in program(), value in value()) {
        match parse_program(&program.to_string(), 100) {
            Ok(plan) => holds(&plan, &value),
            Err(fault) => prop_assert!(!fault.message.is_empty() && fault.hint.is_some()),
        }
    }

    #[test]
    fn any_text_is_parsed_or_rejected(value in value(), text in any::<String>()) {
        for text in [value.to_string(), text] {
            if let Err(fault) = parse_program(&text, 100) {
                prop_assert!(!fault.message.is_empty());
            }
        }
    }
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
