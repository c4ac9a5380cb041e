//! Parsing of valid and invalid programs.

use serde_json::json;

use super::*;
use crate::{PathKey, ReferenceRoot, StepPart, Template, ValueReference, template::TextPiece};

fn mistakes_of(program: &Value) -> Vec<String> {
    let fault = parse_program(&program.to_string(), 100).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Syntax);
    let mut mistakes = vec![format!("{} | {}", fault.message, fault.hint.unwrap())];
    let details: Value = fault
        .details
        .map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
    for other in details["others"].as_array().into_iter().flatten() {
        let text = |name: &str| other[name].as_str().unwrap().to_owned();
        mistakes.push(format!("{} | {}", text("message"), text("hint")));
    }
    mistakes
}

#[test]
fn references_of_every_form_are_parsed() {
    let program = json!({ "steps": [
        { "id": "a", "tool": "s.t" },
        { "id": "b", "tool": "s.t", "args": {
            "whole": "{{a.result.x[0]}}", "short": "{{ a.x.0 }}", "text": "<{{a}}>",
            "given": "{{a.args.p}}", "tool": "{{a.tool}}!", "input": "{{input}}",
            "escaped": "\\{{a}} \\\\{{a}} C:\\x", "plain": ["}}", 1],
        } },
    ] });
    let plan = parse_program(&program.to_string(), 10).unwrap();
    let Template::Object(members) = &plan.steps[1].args else {
        panic!("{plan:?}");
    };
    let reference = |part, path: &[PathKey], text: &str| ValueReference {
        root: ReferenceRoot::Step { index: 0, part },
        path: path.to_vec(),
        text: text.into(),
    };
    let x = [PathKey::Name("x".into()), PathKey::Index("0".into())];
    let a = || TextPiece::Value(reference(StepPart::Result, &[], "a"));
    let text = |text: &str| TextPiece::Text(text.into());
    let expected = [
        Template::Whole(reference(StepPart::Result, &x, "a.result.x[0]")),
        Template::Whole(reference(StepPart::Result, &x, "a.x.0")),
        Template::Text(vec![text("<"), a(), text(">")]),
        Template::Whole(reference(
            StepPart::Args,
            &[PathKey::Name("p".into())],
            "a.args.p",
        )),
        Template::Fixed(json!("s.t!")),
        Template::Whole(ValueReference {
            root: ReferenceRoot::Input,
            path: vec![],
            text: "input".into(),
        }),
        Template::Text(vec![text("{{a}} \\"), a(), text(" C:\\x")]),
        Template::Fixed(json!(["}}", 1])),
    ];
    for ((name, found), expected) in members.iter().zip(expected) {
        assert_eq!(*found, expected, "{name}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once_with_hints() {
    let mistakes = mistakes_of(&json!({ "steps": [
        { "id": "a", "tool": "s.t", "params": {} },
        { "id": "a", "tool": "st", "on_error": "ignore" },
        { "tool": "s.t", "args": { "x": "{{lost}} {{#each x}}" } },
        { "id": "d", "tool": "s.t", "args": { "x": "{{e}}", "y": "{{d}}" } },
        { "id": "e", "tool": "s.t", "args": [1] },
        { "id": "f g", "tool": "s.{{a}}", "after": ["h"] },
        { "id": "h", "tool": "s.t", "args": { "x": "{{i}}" } },
        { "id": "i", "tool": "s.t", "args": { "x": "{{h}}" } },
        7,
    ], "retrun": 1 }));
    let expected = [
        "step `a` (steps[0]) has no member `params` | did you mean `args`?",
        "step `a` (steps[1]) has the id of steps[0] | ",
        "\"st\", the tool of step `a` (steps[1]), is not a tool path | a tool is",
        "the `on_error` of step `a` (steps[1]) is an unknown value | `on_error` is",
        "steps[2] has no `id` | an id is",
        "steps[2]: there is no step `lost` | ",
        "steps[2]: '#' cannot begin a reference, in `args`: {{#each x}} | write `\\{{`",
        "the `args` of step `e` (steps[4]) are an array | ",
        "the id of step `f g` (steps[5]) is not valid | ",
        "the tool of step `f g` (steps[5]) contains a reference | a tool is fixed",
        "steps[8] is a number, not an object | ",
        "steps[8] has no `id` | ",
        "steps[8] has no `tool` | ",
        "the program has no member `retrun` | did you mean `return`?",
        "step `d` (steps[3]) refers to `e`, which comes later: {{e}} | put `e` before it",
        "step `d` (steps[3]) refers to itself: {{d}} | ",
        "step `f g` (steps[5]) refers to `h`, which comes later: after h | put `h`",
        "step `h` (steps[6]) waits for itself: `h` \u{2192} `i` \u{2192} `h` | remove one",
    ];
    assert_eq!(mistakes.len(), expected.len(), "{mistakes:#?}");
    for (mistake, expected) in mistakes.iter().zip(expected) {
        assert!(mistake.starts_with(expected), "{mistake}\n{expected}");
    }
}

#[test]
fn invalid_program_fault_shows_expected_shape() {
    for (text, said) in [
        ("", "not JSON"),
        ("{\n  steps: 1}", "not JSON: key must be a string"),
        ("[]", "an array, not an object"),
        ("{}", "`steps` is missing"),
        ("{\"steps\":{}}", "an object, not an array"),
        ("{\"steps\":[]}", "no steps"),
    ] {
        let fault = parse_program(text, 10).unwrap_err();
        assert!(fault.message.contains(said), "{}", fault.message);
        assert!(fault.hint.unwrap().contains("\"steps\": ["));
    }
    let fault = parse_program("{\n  steps: 1}", 10).unwrap_err();
    assert_eq!((fault.line, fault.column), (Some(2), Some(3)));
    let deep = "[".repeat(200);
    assert_eq!(parse_program(&deep, 10).unwrap_err().kind, FaultKind::Limit);
}

#[test]
fn fences_and_wrappers_are_stripped() {
    let bare = r#"{"steps":[{"id":"a","tool":"s.t","args":"{{input}}"}]}"#;
    let plan = parse_program(bare, 1).unwrap();
    for wrapped in [
        format!("```json\n{bare}\n```\n"),
        format!("\u{feff}{bare}"),
        format!("{{\"program\": {bare}}}"),
    ] {
        assert_eq!(parse_program(&wrapped, 1).unwrap(), plan);
    }
    assert_eq!(plan.title(), "1 step: s.t");
}
