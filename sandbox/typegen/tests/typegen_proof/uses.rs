//! How programs may use a learned type: like any other type, and every error about it says that the type was only
//! observed.
//!
//! Invariant: a line of a program has no errors, or each of them names `Seen`.

use mux_typegen::{ObservedResult, ResultShape, ServerDecl, ToolDecl, declarations};
use serde_json::{Value, json};

use crate::compiler::compiled;

/// A program without errors.
const RIGHT: &str = r#"
(async () => {
  const record = await mux.s.record();
  const { id, name, ...others } = record;
  const copy = { ...record, extra: id + 1 };
  const sure: { id: number } = record;
  for (const tag of record.tags) tag.toUpperCase();
  if (record.id === 3 && record.kind === "x") JSON.stringify(copy.extra + sure.id);
  const keys: string[] = Object.entries(record).map(([key, value]) => `${key} ${value}`);
  const anything = record.nothing.at.all;

  const list = await mux.s.list();
  const [first, ...rest] = list;
  const byId = new Map(list.map((item) => [item.id, item]));
  list.filter((item) => item.title?.startsWith("a")).sort((a, b) => a.id - b.id);
  const titles: string[] = rest.map(({ title = "none" }) => title);

  const text = await mux.s.text();
  const lines: string[] = text.trim().split("\n");
  const isSame: boolean = text === "a" || text.length > 3;
  const plain: string = typeof text === "string" ? text : "";
  switch (text) { case "a": break; }

  const count = await mux.s.count();
  const half: number = count / 2 + Math.round(count);
  const words = await mux.s.words();
  const joined: string = [...words, "more"].map((word) => word.trim()).join();

  const map = await mux.s.map();
  const total = Object.values(map).reduce((sum, entry) => sum + entry.size, 0);
  const one: number = map["src/lib.rs"]!.size;

  const either = await mux.s.either();
  if (typeof either === "string") either.trim();
  else if (Array.isArray(either)) either.map((item) => item.a);
  else either.b.toFixed();

  const image = await mux.s.image();
  mux.emit(image);
  const bytes: number = atob(image.data).length;
  const parts = await mux.s.parts();
  const texts: string[] = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const link: string = parts[1]!.resource.uri.trim();
  mux.emit(parts);
  (await mux.s.empty()).map((item) => item.anything.goes);
  (await mux.s.open()).any.thing;
  return { anything, byId, first, half, isSame, joined, keys, lines, link, name, one, others, plain, texts, titles, total, bytes };
});
"#;

/// Expressions with an error, and a part of its message.
const WRONG: &[(&str, &str)] = &[
    ("(await mux.s.record()).nme", "Did you mean 'name'?"),
    (
        "(await mux.s.list()).map((item) => item.titel)",
        "Did you mean 'title'?",
    ),
    ("(await mux.s.list()).items", "'items' does not exist"),
    ("(await mux.s.text()).lines", "'lines' does not exist"),
    ("(await mux.s.count()).value", "'value' does not exist"),
    ("(await mux.s.words()).items", "'items' does not exist"),
    ("(await mux.s.empty()).items", "'items' does not exist"),
    (
        "Object.values(await mux.s.map())[0]!.bytes",
        "'bytes' does not exist",
    ),
    (
        "const { c } = (await mux.s.list())[0]!",
        "'c' does not exist",
    ),
];

fn learned() -> Vec<(&'static str, ResultShape)> {
    let tools = [
        (
            "record",
            json!([{"id": 1, "name": "a", "kind": "x", "tags": ["b"], "nothing": null}]),
        ),
        ("list", json!([[{"id": 1}, {"id": 2, "title": "a"}]])),
        ("text", json!(["a", "b"])),
        ("count", json!([1])),
        ("words", json!([["a"]])),
        ("map", json!([{"src/main.rs": {"size": 1}}])),
        ("either", json!(["none", [{"a": 1}], {"b": 2}])),
        (
            "image",
            json!([{"type": "image", "data": "aGk=", "mimeType": "image/png"}]),
        ),
        (
            "parts",
            json!([[{"type": "text", "text": "a"}, {"type": "resource", "resource": {"uri": "a:b", "text": "c"}}]]),
        ),
        ("empty", json!([[]])),
        ("open", json!([{}])),
    ];
    let learn = |(name, results): (&'static str, Value)| {
        let mut shape = ResultShape::new();
        for result in results.as_array().expect("results") {
            shape.add(result);
        }
        (name, shape)
    };
    tools.into_iter().map(learn).collect()
}

#[test]
fn errors_about_learned_types_name_seen() {
    let learned = learned();
    let tools = learned.iter().map(|(name, shape)| ToolDecl {
        name,
        title: None,
        description: None,
        input_schema: (&Value::Null).into(),
        output_schema: None,
        observed: Some(ObservedResult { shape, calls: None }),
    });
    let server = ServerDecl {
        name: "s",
        tools: tools.collect(),
        note: None,
    };
    let line = |(source, _): &(&str, &str)| format!("(async () => {{ {source}; }});\n");
    let files = [
        ("mux.d.ts", declarations(&[server])),
        ("right.ts", RIGHT.to_owned()),
        ("wrong.ts", WRONG.iter().map(line).collect()),
    ];
    let complaints = compiled(&files.map(|(name, text)| (name.to_owned(), text)));
    for (at, (source, words)) in WRONG.iter().enumerate() {
        let place = format!("wrong.ts({},", at + 1);
        let about: Vec<&String> = complaints
            .iter()
            .filter(|complaint| complaint.starts_with(&place))
            .collect();
        let is_told = about.iter().any(|complaint| complaint.contains(words));
        let are_marked = about.iter().all(|complaint| complaint.contains("Seen<"));
        assert!(is_told && are_marked, "{source}: {about:#?}");
    }
    let others: Vec<&String> = complaints
        .iter()
        .filter(|complaint| !complaint.starts_with("wrong.ts("))
        .collect();
    assert!(others.is_empty(), "{others:#?}");
}
