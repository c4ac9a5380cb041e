//! `client/typescript/src/messages.ts`: the messages and methods of the contract as TypeScript, generated from their
//! JSON schemas.
//!
//! In a type that is sent to the daemon, fields with a default may be absent. In a type that the daemon sends, only
//! fields that serialization skips may be absent.

use std::{collections::BTreeMap, env, fmt::Write as _, fs, path::Path};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::service::{MuxRequest, MuxResponse};

const HEADER: &str = "\
// The messages of the contract, and its methods. Optional members may be absent, and unknown members may be present.
//
// Generated from `proto`: `UPDATE_GOLDEN=1 cargo nextest run -p mux-proto typescript` regenerates this file.

";
const MAX_COLUMNS: usize = 120;
const INDENT: usize = 2;

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a switch for the developer who records, not a setting"
)]
fn typescript_messages_are_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../client/typescript/src/messages.ts");
    let text = messages();
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let recorded = fs::read_to_string(&path).unwrap();
    let differs = text
        .lines()
        .zip(recorded.lines())
        .find(|(now, then)| now != then);
    assert!(
        text == recorded,
        "{} is not current; UPDATE_GOLDEN=1 writes it anew. The first difference: {differs:#?}",
        path.display()
    );
}

fn messages() -> String {
    let requests = schemas::<MuxRequest>(SchemaSettings::default().for_deserialize());
    let answers = schemas::<MuxResponse>(SchemaSettings::default().for_serialize());
    let mut types = BTreeMap::new();
    for schemas in [&requests, &answers] {
        for (name, schema) in schemas["$defs"].as_object().unwrap() {
            // The answers' envelopes.
            if name.starts_with("Result_of_") {
                continue;
            }
            let text = declaration(name, schema);
            let former = types.insert(name, text.clone());
            assert!(
                former.is_none_or(|former| former == text),
                "{name} is sent in both directions, with other optional fields in each: split it"
            );
        }
    }
    let types: Vec<String> = types.into_values().collect();
    format!(
        "{HEADER}{}\n{}",
        methods(&requests, &answers),
        types.join("\n")
    )
}

fn schemas<T: JsonSchema>(settings: SchemaSettings) -> Value {
    settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// The methods, in the order of the service.
fn methods(requests: &Value, answers: &Value) -> String {
    let mut members = Vec::new();
    let mut doc = Vec::new();
    for line in include_str!("service.rs").lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            doc.push(text.trim());
            continue;
        }
        if let Some(rest) = line.strip_prefix("async fn ") {
            let name = rest.split('(').next().unwrap();
            let params = flat(variant(requests, name));
            let result = resolve(answers, variant(answers, name));
            let answer = flat(&result["oneOf"][0]["properties"]["Ok"]);
            members.push(MessageField {
                doc: comment(&doc.join("\n"), INDENT),
                text: format!("{name}: {{ params: {params}; answer: {answer} }}"),
            });
        }
        doc.clear();
    }
    let methods = block(&members, 0);
    format!(
        "/** By their names in `hello`; on the wire each is written in upper camel case. */\n\
         export interface Methods {methods}\n"
    )
}

/// The variant for a method in the enum of all requests or answers.
fn variant<'a>(schemas: &'a Value, method: &str) -> &'a Value {
    let spelled: String = method
        .split('_')
        .map(|word| word[..1].to_uppercase() + &word[1..])
        .collect();
    let variants = schemas["oneOf"].as_array().unwrap();
    variants
        .iter()
        .find_map(|variant| variant["properties"].get(&spelled))
        .unwrap()
}

fn resolve<'a>(schemas: &'a Value, schema: &'a Value) -> &'a Value {
    let path = schema["$ref"].as_str().unwrap().trim_start_matches('#');
    schemas.pointer(path).unwrap()
}

fn declaration(name: &str, schema: &Value) -> String {
    let doc = comment(described(schema), 0);
    if schema.get("properties").is_some() {
        return format!(
            "{doc}export interface {name} {}\n",
            block(&members(schema, 0), 0)
        );
    }
    let head = format!("export type {name} =");
    format!("{doc}{head} {};\n", typescript(schema, 0, head.len() + 1))
        // A union on several lines begins on a new line.
        .replacen("= \n", "=\n", 1)
}

/// The type of a schema, beginning in `column` of a line that is indented by `indent`.
fn typescript(schema: &Value, indent: usize, column: usize) -> String {
    let line = flat(schema);
    let documented = has_inner_docs(schema);
    if !documented && column + line.chars().count() < MAX_COLUMNS {
        return line;
    }
    if schema.get("properties").is_some() {
        return block(&members(schema, indent), indent);
    }
    let Some(variants) = variants(schema) else {
        return line;
    };
    let indent = indent + INDENT;
    let pad = " ".repeat(indent);
    let mut text = String::new();
    for variant in variants.iter().flat_map(literals_apart) {
        let doc = comment(described(&variant), indent);
        let ty = if is_any_text(&variant) {
            ANY_OTHER_TEXT.to_owned()
        } else {
            typescript(&variant, indent + INDENT, indent + INDENT)
        };
        _ = write!(text, "\n{doc}{pad}| {ty}");
    }
    text
}

/// Variants without documentation share one schema.
fn literals_apart(variant: &Value) -> Vec<Value> {
    match variant["enum"].as_array() {
        Some(literals) => literals
            .iter()
            .map(|literal| json!({ "const": literal }))
            .collect(),
        None => vec![variant.clone()],
    }
}

/// `string` in a union that an editor still completes with the literals beside it.
const ANY_OTHER_TEXT: &str = "(string & {})";

fn is_any_text(variant: &Value) -> bool {
    variant["type"] == "string" && variant.get("const").or(variant.get("enum")).is_none()
}

/// The type of a schema on one line, without documentation.
fn flat(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        return name.rsplit('/').next().unwrap().to_owned();
    }
    if let Some(literal) = schema.get("const") {
        return literal.to_string();
    }
    if let Some(literals) = schema["enum"].as_array() {
        return joined(literals.iter().map(Value::to_string));
    }
    if let Some(variants) = variants(schema) {
        return joined(variants.iter().map(flat));
    }
    match &schema["type"] {
        Value::Null => "unknown".to_owned(),
        Value::Array(names) => joined(names.iter().map(|name| {
            let mut one = schema.clone();
            one["type"] = name.clone();
            flat(&one)
        })),
        name => match name.as_str().unwrap() {
            "integer" => "number".to_owned(),
            "array" => array(schema),
            "object" => object(schema),
            name => name.to_owned(),
        },
    }
}

fn array(schema: &Value) -> String {
    if let Some(items) = schema["prefixItems"].as_array() {
        let items: Vec<String> = items.iter().map(flat).collect();
        return format!("[{}]", items.join(", "));
    }
    let item = flat(&schema["items"]);
    if item.contains(" | ") {
        format!("({item})[]")
    } else {
        format!("{item}[]")
    }
}

fn object(schema: &Value) -> String {
    let members = members(schema, 0);
    if !members.is_empty() {
        let members: Vec<&str> = members.iter().map(|member| member.text.as_str()).collect();
        return format!("{{ {} }}", members.join("; "));
    }
    match schema.get("additionalProperties") {
        None | Some(Value::Bool(false)) => "Record<string, never>".to_owned(),
        Some(values) => format!("Record<string, {}>", flat(values)),
    }
}

/// A property with its type, and its documentation with a line break at the end.
struct MessageField {
    doc: String,
    text: String,
}

/// The properties of an object whose first line is indented by `indent`.
fn members(schema: &Value, indent: usize) -> Vec<MessageField> {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|n| n == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let indent = indent + INDENT;
    let member = |(name, schema): (&String, &Value)| {
        let key = if is_required(name) {
            format!("{name}: ")
        } else {
            format!("{name}?: ")
        };
        let mut ty = typescript(schema, indent, indent + key.len());
        // An optional field is absent rather than null.
        if !is_required(name) && ty.ends_with(" | null") {
            ty.truncate(ty.len() - " | null".len());
        }
        MessageField {
            doc: comment(described(schema), indent),
            text: key + &ty,
        }
    };
    properties.map(member).collect()
}

fn block(members: &[MessageField], indent: usize) -> String {
    let pad = " ".repeat(indent);
    let mut inner = String::new();
    for member in members {
        _ = writeln!(inner, "{}{pad}  {};", member.doc, member.text);
    }
    format!("{{\n{inner}{pad}}}")
}

fn variants(schema: &Value) -> Option<&Vec<Value>> {
    schema["oneOf"].as_array().or(schema["anyOf"].as_array())
}

fn joined(types: impl Iterator<Item = String>) -> String {
    types.collect::<Vec<_>>().join(" | ")
}

/// Returns true if any part of the type has documentation.
fn has_inner_docs(schema: &Value) -> bool {
    let variants = variants(schema).into_iter().flatten();
    let properties = schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(|all| all.values());
    variants
        .chain(properties)
        .any(|inner| !described(inner).is_empty() || has_inner_docs(inner))
}

fn described(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

/// Documentation as a comment, with rustdoc links as plain text.
fn comment(doc: &str, indent: usize) -> String {
    if doc.is_empty() {
        return String::new();
    }
    let doc = without_links(doc);
    let pad = " ".repeat(indent);
    if !doc.contains('\n') && indent + doc.chars().count() + "/**  */".len() <= MAX_COLUMNS {
        return format!("{pad}/** {doc} */\n");
    }
    let mut lines = String::new();
    for line in doc.lines() {
        _ = writeln!(lines, "{pad} * {line}");
    }
    format!("{pad}/**\n{lines}{pad} */\n")
}

/// `` [`crate::Hello::agent`] `` as `` `Hello.agent` ``, and `` [`ask`](crate::NoticeKind::Ask) `` as `` `ask` ``.
fn without_links(doc: &str) -> String {
    let mut text = String::new();
    let mut rest = doc;
    while let Some((before, after)) = rest.split_once("[`") {
        let (name, after) = after.split_once("`]").expect("a link to a name");
        let name = name.trim_start_matches("crate::").replace("::", ".");
        _ = write!(text, "{before}`{name}`");
        rest = match after.strip_prefix('(') {
            Some(target) => target.split_once(')').expect("a link's target").1,
            None => after,
        };
    }
    text + rest
}
