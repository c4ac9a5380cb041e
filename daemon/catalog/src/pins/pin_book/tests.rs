//! One server's pins while its tool list changes.

use mux_settings::ToolOverrides;
use serde_json::json;

use super::*;

fn tool(name: &str, description: &str) -> ToolDescription {
    ToolDescription {
        name: name.into(),
        description: Some(description.into()),
        input_schema: json!({ "type": "object", "properties": { "a": { "type": "string" } } })
            .into(),
        ..ToolDescription::default()
    }
}

fn judge(book: &mut PinBook, tools: &[ToolDescription], on_change: OnChange) -> (ToolSet, bool) {
    let listed = tools.iter().cloned();
    let whole = book.whole();
    let listed = listed.map(|tool| DigestedTool::of(tool, &whole)).collect();
    let (judged, pinned) = book.judge(listed, on_change, 1);
    (
        ToolSet::new("s", judged, &[], &ToolOverrides::default()),
        pinned,
    )
}

fn first(tool: ToolDescription) -> DigestedTool {
    DigestedTool::of(tool, &HashSet::new())
}

fn standing(set: &ToolSet, name: &str) -> &'static str {
    let tool = set.find(name).unwrap();
    match (&tool.pin_status, tool.is_refused()) {
        (PinStatus::Trusted, _) => "trusted",
        (PinStatus::New, _) => "new",
        (PinStatus::Reordered, _) => "reordered",
        (PinStatus::Changed(_), true) => "refused",
        (PinStatus::Changed(_), false) => "changed",
    }
}

#[test]
fn changed_tool_is_refused_and_shows_its_trusted_definition() {
    let mut book = PinBook::default();
    let (set, pinned) = judge(
        &mut book,
        &[tool("x", "one"), tool("y", "why")],
        OnChange::Refuse,
    );
    assert_eq!((standing(&set, "x"), pinned), ("trusted", true));

    let mut poisoned = tool("x", "POISON");
    let mut schema = poisoned.input_schema.parse();
    schema["properties"]["POISON"] = json!({});
    poisoned.input_schema = schema.into();
    poisoned.extra.insert("title".into(), json!("POISON"));
    poisoned.title = Some("POISON".into());
    let (set, pinned) = judge(&mut book, &[poisoned.clone()], OnChange::Refuse);
    assert_eq!((standing(&set, "x"), pinned), ("refused", false));
    let shown = set.find("x").unwrap();
    let fault = shown.check_standing().unwrap_err();
    assert_eq!(fault.message, "s.x has changed since you first trusted it");
    let seen = format!(
        "{} {:?} {} {:?} {fault:?}",
        shown.definition(),
        shown.title,
        shown.signature(),
        set.remarks()
    );
    assert!(!seen.contains("POISON"), "{seen}");
    assert!(shown.description.as_ref().unwrap().ends_with("one"));
    assert!(fault.details.unwrap().contains("description"));
    assert!(
        set.remarks()[0]
            .text
            .contains("1 tool is not what was first trusted"),
        "{:?}",
        set.remarks()
    );

    // With the old definition it is trusted again.
    let (set, _) = judge(&mut book, &[tool("x", "one")], OnChange::Refuse);
    assert_eq!(standing(&set, "x"), "trusted");
    // With `warn` the current definition is offered.
    let (set, _) = judge(&mut book, &[poisoned], OnChange::Warn);
    assert_eq!(standing(&set, "x"), "changed");
    assert_eq!(
        set.find("x").unwrap().description.as_deref(),
        Some("POISON")
    );
    assert!(set.find("x").unwrap().check_standing().is_ok());
    // A tool that was missing is trusted again if it is unchanged.
    let (set, _) = judge(&mut book, &[tool("y", "why")], OnChange::Refuse);
    assert_eq!(standing(&set, "y"), "trusted");
}

#[test]
fn added_tool_is_pinned_and_reported_until_acknowledged() {
    let mut book = PinBook::default();
    judge(&mut book, &[tool("x", "one")], OnChange::Refuse);
    let both = [tool("x", "one"), tool("y", "two")];
    for _ in 0..2 {
        let (set, _) = judge(&mut book, &both, OnChange::Refuse);
        assert_eq!(standing(&set, "y"), "new");
        assert!(
            set.remarks()[0].text.contains("new since"),
            "{:?}",
            set.remarks()
        );
    }
    let (set, _) = judge(&mut book, &both, OnChange::Refuse);
    let digest = book.pin("y").unwrap().digest;
    book.accept(&set, &[("y".into(), digest)], 2).unwrap();
    let (set, _) = judge(&mut book, &both, OnChange::Refuse);
    assert_eq!((standing(&set, "y"), set.remarks().len()), ("trusted", 0));
    let (set, _) = judge(&mut book, &[tool("y", "three")], OnChange::Refuse);
    assert_eq!(standing(&set, "y"), "refused");
}

#[test]
fn sets_in_another_order_keep_the_trusted_definition() {
    let lists = |commands: &str, required: Value| {
        let mut tool = tool(
            "x",
            &format!("Never deletes, always asks.\nAllowed commands: {commands}"),
        );
        let mut schema = tool.input_schema.parse();
        schema["required"] = required;
        tool.input_schema = schema.into();
        tool
    };
    for on_change in [OnChange::Refuse, OnChange::Warn] {
        let mut book = PinBook::default();
        let trusted = lists("pwd, echo, ls, cat", json!(["a", "b"]));
        let trusted_definition = trusted.definition();
        judge(&mut book, &[trusted], on_change);
        let digest = book.pin("x").unwrap().digest;
        let other = lists("cat, ls, pwd, echo", json!(["b", "a"]));
        let (set, pinned) = judge(&mut book, &[other], on_change);
        assert_eq!((standing(&set, "x"), pinned), ("reordered", false));
        let shown = set.find("x").unwrap();
        assert_eq!(shown.definition(), trusted_definition);
        assert!(shown.check_standing().is_ok() && shown.pin_status.note().is_some());
        assert!(set.remarks().is_empty() && !shown.needs_decision());
        // The user need not accept anything, and the pin stays.
        book.accept(&set, &[("x".into(), digest)], 2).unwrap();
        assert_eq!(book.pin("x").unwrap().digest, digest);
    }
}

#[test]
fn same_words_with_another_meaning_are_refused() {
    let mut book = PinBook::default();
    judge(
        &mut book,
        &[tool("x", "Rules: never delete, always ask")],
        OnChange::Refuse,
    );
    let smuggled = tool("x", "Rules: always delete, never ask");
    let (set, _) = judge(&mut book, &[smuggled], OnChange::Refuse);
    assert_eq!(standing(&set, "x"), "refused");
    // Nor does an order hide another change.
    judge(
        &mut book,
        &[tool("y", "Allowed: ls, cat")],
        OnChange::Refuse,
    );
    let (set, _) = judge(
        &mut book,
        &[tool("y", "Allowed: cat, ls, rm")],
        OnChange::Refuse,
    );
    assert_eq!(standing(&set, "y"), "refused");
}

#[test]
fn stricter_hints_and_added_output_schemas_need_no_decision() {
    let hinted = |annotations: Value| {
        let mut tool = tool("x", "one");
        tool.extra.insert("annotations".into(), annotations.clone());
        let hint = |name: &str| annotations.get(name).and_then(Value::as_bool);
        (tool.read_only, tool.destructive) = (hint("readOnlyHint"), hint("destructiveHint"));
        tool
    };
    let mut book = PinBook::default();
    judge(
        &mut book,
        &[hinted(
            json!({ "readOnlyHint": true, "openWorldHint": false }),
        )],
        OnChange::Refuse,
    );
    let mut stricter = hinted(json!({ "destructiveHint": true, "openWorldHint": true }));
    stricter.output_schema = Some(json!({ "description": "POISON" }).into());
    let (set, _) = judge(&mut book, &[stricter.clone()], OnChange::Refuse);
    let shown = set.find("x").unwrap();
    assert_eq!(
        (standing(&set, "x"), shown.needs_decision()),
        ("changed", false)
    );
    assert!(set.remarks().is_empty() && shown.check_standing().is_ok());
    // Policy reads the current hints. The output schema is hidden.
    let hints = (shown.read_only, shown.destructive, shown.open_world);
    assert_eq!(hints, (None, Some(true), Some(true)));
    assert!(!shown.definition().to_string().contains("POISON"));
    // The user may accept the new definition.
    let digest = shown.change().unwrap().digest;
    book.accept(&set, &[("x".into(), digest)], 2).unwrap();
    let (set, _) = judge(&mut book, &[stricter.clone()], OnChange::Refuse);
    assert!(
        set.find("x")
            .unwrap()
            .definition()
            .to_string()
            .contains("POISON")
    );

    // Laxer hints need a decision. The second refusal names the key that permits changes.
    stricter
        .extra
        .insert("annotations".into(), json!({ "readOnlyHint": true }));
    let (set, _) = judge(&mut book, &[stricter], OnChange::Refuse);
    assert_eq!(standing(&set, "x"), "refused");
    let fault = set.find("x").unwrap().check_standing().unwrap_err();
    assert!(fault.hint.unwrap().contains("`pins = \"warn\"`"));
    assert!(
        fault
            .details
            .unwrap()
            .contains("annotations.destructiveHint")
    );
}

#[test]
fn accept_pins_only_the_definition_that_was_shown() {
    let mut book = PinBook::default();
    judge(
        &mut book,
        &[tool("x", "one"), tool("y", "one")],
        OnChange::Refuse,
    );
    let (seen, _) = judge(
        &mut book,
        &[tool("x", "two"), tool("y", "two")],
        OnChange::Refuse,
    );
    let digest = |set: &ToolSet, name: &str| set.find(name).unwrap().change().unwrap().digest;
    let shown = [
        ("x".to_owned(), digest(&seen, "x")),
        ("y".to_owned(), digest(&seen, "y")),
    ];
    let (later, _) = judge(
        &mut book,
        &[tool("x", "two"), tool("y", "three")],
        OnChange::Refuse,
    );
    let error = book.accept(&later, &shown, 2).unwrap_err();
    assert!(matches!(error, AcceptError::Other(name) if name == "y"));
    let (later, _) = judge(
        &mut book,
        &[tool("x", "two"), tool("y", "three")],
        OnChange::Refuse,
    );
    assert_eq!(standing(&later, "x"), "refused", "all or nothing");
    assert!(matches!(
        book.accept(&later, &[("z".into(), [0; 32])], 2),
        Err(AcceptError::Unknown(_))
    ));
    book.accept(&later, &shown[..1], 2).unwrap();
    let (now, _) = judge(
        &mut book,
        &[tool("x", "two"), tool("y", "three")],
        OnChange::Refuse,
    );
    assert_eq!(
        (standing(&now, "x"), standing(&now, "y")),
        ("trusted", "refused")
    );
}

#[test]
fn lost_pins_do_not_make_the_server_new() {
    let mut book = PinBook {
        state: PinBookState::Lost,
        ..PinBook::default()
    };
    let tools = [tool("x", "POISON"), tool("y", "POISON")];
    let (set, pinned) = judge(&mut book, &tools, OnChange::Refuse);
    assert_eq!((standing(&set, "x"), pinned), ("refused", false));
    let shown = set.find("x").unwrap();
    assert!(!format!("{} {:?}", shown.definition(), shown.check_standing()).contains("POISON"));
    let digest = |name: &str| set.find(name).unwrap().change().unwrap().digest;
    book.accept(&set, &[("x".into(), digest("x"))], 2).unwrap();
    assert_eq!(book.state, PinBookState::Lost);
    book.accept(&set, &[("y".into(), digest("y"))], 2).unwrap();
    assert_eq!(book.state, PinBookState::Known);
    let (set, _) = judge(&mut book, &tools, OnChange::Refuse);
    assert_eq!(
        (standing(&set, "x"), standing(&set, "y")),
        ("trusted", "trusted")
    );
}

#[test]
fn definition_that_is_too_long_is_pinned_by_its_digest() {
    let mut book = PinBook::default();
    let long = tool("x", &"a".repeat(MAX_DEFINITION_BYTES));
    let name = "n".repeat(MAX_PIN_NAME_BYTES + 1);
    judge(
        &mut book,
        &[long.clone(), tool(&name, "one")],
        OnChange::Refuse,
    );
    let (set, _) = judge(&mut book, &[long, tool(&name, "one")], OnChange::Refuse);
    assert_eq!(
        (standing(&set, "x"), standing(&set, &name)),
        ("trusted", "trusted")
    );
    let (set, _) = judge(
        &mut book,
        &[tool("x", "short"), tool(&name, "two")],
        OnChange::Refuse,
    );
    assert_eq!(
        (standing(&set, "x"), standing(&set, &name)),
        ("refused", "refused")
    );
    assert!(set.find("x").unwrap().change().unwrap().before.is_none());
    assert!(book.pins.keys().all(|key| key.len() <= MAX_PIN_NAME_BYTES));
}

#[test]
fn number_of_pins_is_limited() {
    let mut book = PinBook::default();
    let many = |from: usize| -> Vec<DigestedTool> {
        let tools = (from..from + MAX_PINS).map(|number| tool(&format!("t{number}"), ""));
        tools.map(first).collect()
    };
    book.judge(vec![first(tool("first", ""))], OnChange::Warn, 1);
    let (judged, pinned) = book.judge(many(0), OnChange::Warn, 1);
    assert!(pinned && book.pins.len() == MAX_PINS);
    let last = ToolSet::new(
        "s",
        judged[MAX_PINS - 1..].to_vec(),
        &[],
        &ToolOverrides::default(),
    );
    let fault = last.iter().next().unwrap().check_standing().unwrap_err();
    assert!(fault.message.contains("more tools"), "{}", fault.message);

    // Pins that were never acknowledged make room for others.
    book.judge(many(MAX_PINS), OnChange::Warn, 1);
    assert!(book.pins.len() == MAX_PINS && book.pins.contains_key("first"));
    assert!(book.pins.contains_key(&format!("t{MAX_PINS}")) && !book.pins.contains_key("t0"));
}
