//! Schemas of the tests with damaged text and changed introspection results, calls of their functions, and documents.

use std::{collections::BTreeSet, ops::ControlFlow};

use apollo_compiler::{
    ExecutableDocument, Schema,
    ast::{Definition, Document, OperationType, Selection},
    validation::Valid,
};
use mux_chance::{
    broken,
    damage::{damage_of, damaged},
    holds,
    json::{self, Change, change, changed},
};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::super::{
    equivalent_fields::{self, EquivalentField},
    function_call::{self, CallOptions, FunctionCallError},
    parse_schema,
    query_document::QueryDocument,
    tool_list::{self, ANY_QUERY_TOOL},
};
use crate::http::RequestBody;

const SCHEMAS: &[&str] = &[
    include_str!("../../../../../tests/data/graphql/blog.graphql"),
    include_str!("../../../../../tests/data/graphql/inputs.graphql"),
    include_str!("../../../../../tests/data/graphql/roots.graphql"),
    include_str!("../../../../../tests/data/graphql/unions.graphql"),
];
const TOKENS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "!",
    "|",
    "&",
    "=",
    ":",
    "@",
    "$",
    "...",
    "\"",
    "\"\"\"",
    "#",
    "\n",
    "type ",
    "input ",
    "enum ",
    "union ",
    "interface ",
    "scalar ",
    "schema ",
    "extend ",
    "directive @a on FIELD ",
    "implements ",
    "query: ",
    "Query",
    "Mutation",
    "ID",
    "Int",
    "String",
    "null",
    "true",
    "1e999",
    "-1",
    "__typename",
    "__schema",
    "id",
    "fragment F on ",
    "on ",
    "mutation ",
    "subscription ",
    "query ",
    "\u{feff}",
    ",",
    "@deprecated",
    "@oneOf",
    "@skip(if: true)",
    "\\u{110000}",
];
const WORDS: &[&str] = &[
    "kind",
    "name",
    "fields",
    "args",
    "type",
    "ofType",
    "NON_NULL",
    "LIST",
    "OBJECT",
    "INTERFACE",
    "UNION",
    "ENUM",
    "SCALAR",
    "INPUT_OBJECT",
    "inputFields",
    "enumValues",
    "possibleTypes",
    "interfaces",
    "defaultValue",
    "queryType",
    "mutationType",
    "subscriptionType",
    "types",
    "Query",
    "User",
    "ID",
    "id",
    "isDeprecated",
    "description",
    "__typename",
    "1) } evil {",
    "[[[[[[[[[[ID]]]]]]]]]]",
    "data",
    "__schema",
    "",
    "isOneOf",
];
/// Selections and parts of them.
const SELECTIONS: &[&str] = &[
    "{ id }",
    "id name",
    "{ ... on User { id } }",
    "__typename",
    "{ id } } mutation { x",
    "a: id",
    "id @skip(if: true)",
    "posts(first: 1) { id }",
    "...F",
    "{ id(x: $v) }",
    "# }\nid",
    "\"",
    "{",
    "{ user { id } }",
    "x(a: \"\"\"\n}\"\"\") { y }",
    "fragment F on User { id }",
    "",
    " ",
    "\u{202e}",
];
const DOCUMENTS: &[&str] = &[
    "{ user(id: 1) { name } }",
    "query A($i: ID = 1) { ...F a: node(id: $i) { id ... on User { name } } } fragment F on Query { version users { id } }",
    "mutation M { x: rename(input: { id: 1, name: \"a\" }) { ok } deleteUser(id: 1) }",
    "mutation($i: ID!) { ...F ... on Mutation { b(i: $i) @skip(if: true) } ...F } fragment F on Mutation { a ...F }",
    "subscription { renamed { id } }",
    "{ feed { __typename ... on Photo { size } } only { ... on Note { text } } }",
];

/// An introspection result like that of a small API.
fn introspection() -> Value {
    let named = |name: &str| json!({ "kind": "OBJECT", "name": name });
    let needed = |inner: Value| json!({ "kind": "NON_NULL", "ofType": inner });
    let list = |inner: Value| json!({ "kind": "LIST", "ofType": inner });
    let scalar = |name: &str| json!({ "kind": "SCALAR", "name": name });
    json!({ "data": { "__schema": {
        "queryType": { "name": "Query" }, "mutationType": { "name": "Mutation" }, "subscriptionType": null,
        "types": [
            { "kind": "OBJECT", "name": "Query", "interfaces": [], "fields": [
                { "name": "user", "description": "One.", "type": named("User"), "isDeprecated": false, "args": [
                    { "name": "id", "type": needed(scalar("ID")), "defaultValue": null },
                    { "name": "style", "type": { "kind": "ENUM", "name": "Style" }, "defaultValue": "FULL" },
                ] },
                { "name": "users", "type": needed(list(needed(named("User")))), "args": [
                    { "name": "where", "type": { "kind": "INPUT_OBJECT", "name": "Filter" }, "defaultValue": "{limit: 3}" },
                ] },
            ] },
            { "kind": "OBJECT", "name": "Mutation", "fields": [
                { "name": "rename", "type": named("User"), "args": [{ "name": "id", "type": scalar("ID") }] },
            ] },
            { "kind": "OBJECT", "name": "User", "interfaces": [{ "kind": "INTERFACE", "name": "Node" }], "fields": [
                { "name": "id", "type": needed(scalar("ID")), "args": [] },
                { "name": "friends", "type": list(named("User")), "args": [] },
            ] },
            { "kind": "INTERFACE", "name": "Node", "possibleTypes": [named("User")],
              "fields": [{ "name": "id", "type": scalar("ID"), "args": [] }] },
            { "kind": "UNION", "name": "Found", "possibleTypes": [named("User")] },
            { "kind": "ENUM", "name": "Style", "enumValues": [{ "name": "FULL" }, { "name": "SHORT", "isDeprecated": true }] },
            { "kind": "INPUT_OBJECT", "name": "Filter", "inputFields": [
                { "name": "limit", "type": scalar("Int"), "defaultValue": "10" },
                { "name": "and", "type": list(needed(json!({ "kind": "INPUT_OBJECT", "name": "Filter" }))) },
            ] },
            { "kind": "SCALAR", "name": "ID" }, { "kind": "SCALAR", "name": "Int" },
        ],
    } } })
}

fn schema_text() -> impl Strategy<Value = String> {
    let of_text = (select(SCHEMAS), vec(damage_of(TOKENS), 0..4))
        .prop_map(|(text, damages)| String::from_utf8_lossy(&damaged(text, &damages)).into_owned());
    let of_values = vec(change(WORDS), 0..5)
        .prop_map(|changes: Vec<Change>| changed(introspection(), &changes).to_string());
    let noise = prop_oneof![
        any::<String>(),
        vec(select(TOKENS), 0..40).prop_map(|tokens| tokens.concat()),
        json::value().prop_map(|value| json!({ "data": { "__schema": value } }).to_string()),
    ];
    prop_oneof![5 => of_text, 4 => of_values, 1 => noise]
}

/// The schema as read by apollo-compiler, if it is valid by the specification.
fn strict(text: &str) -> Option<Valid<Schema>> {
    Schema::parse_and_validate(text, "s").ok()
}

/// Asserts that a query is one operation with the one field of a function.
fn is_of_function(query: &str, function: &str) -> Result<(), TestCaseError> {
    let parsed = Document::parse(query, "query");
    let parsed = parsed.map_err(|wrong| broken(format!("{query}: {}", wrong.errors)))?;
    let [Definition::OperationDefinition(operation)] = parsed.definitions.as_slice() else {
        return Err(broken(format!("{query} is no single operation")));
    };
    let [Selection::Field(field)] = operation.selection_set.as_slice() else {
        return Err(broken(format!("{query} has no single field")));
    };
    let kind = match operation.operation_type {
        OperationType::Query => "query",
        OperationType::Mutation => "mutation",
        OperationType::Subscription => "subscription",
    };
    prop_assert_eq!(format!("{kind}.{}", field.name), function, "{}", query);
    Ok(())
}

#[test]
fn fuzz_any_schema_gives_functions_with_valid_queries_or_an_error() {
    holds("graphql", 200, schema_text(), |text| {
        let (schema, _) = match parse_schema(&text, "s") {
            Ok(schema) => schema,
            Err(why) => {
                prop_assert!(why.starts_with("s:") || why.contains("s:"), "{why}");
                return Ok(());
            }
        };
        let listed = tool_list::all(&schema, 2);
        let again = tool_list::all(&parse_schema(&text, "s").unwrap().0, 2);
        prop_assert_eq!(&listed.tools, &again.tools, "another reading");
        let mut names = BTreeSet::new();
        for tool in &listed.tools {
            let name = tool["name"].as_str().unwrap_or_default();
            prop_assert!(names.insert(name), "{name:?} twice");
            for side in ["inputSchema", "outputSchema"] {
                if let Some(schema) = tool.get(side) {
                    prop_assert!(
                        mux_schema::can_be_checked(schema),
                        "{name} {side}: {schema}"
                    );
                }
            }
        }
        let queries = function_call::queries(&schema, 2, &listed.room).map_err(broken)?;
        let strict = strict(&text);
        for (function, query) in queries {
            prop_assert!(names.contains(function.as_str()), "{function}");
            is_of_function(&query, &function)?;
            if let Some(strict) = &strict {
                let valid = ExecutableDocument::parse_and_validate(strict, &query, "query");
                prop_assert!(valid.is_ok(), "{query}: {}", valid.unwrap_err().errors);
            }
        }
        Ok(())
    });
}

/// A selection of a caller.
fn choice() -> impl Strategy<Value = Value> {
    let names = select(
        &[
            "id",
            "name",
            "posts",
            "author",
            "user",
            "__typename",
            "... on User",
            "$args",
            "title",
            "x) { y",
            "related",
            "size",
        ][..],
    );
    let leaf = prop_oneof![3 => Just(json!(true)), 1 => json::value()];
    let object = leaf.prop_recursive(3, 12, 3, move |inner| {
        vec((names.clone(), inner), 1..4).prop_map(|members| {
            let members = members.into_iter();
            Value::Object(
                members
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect(),
            )
        })
    });
    let text = vec(select(SELECTIONS), 1..4).prop_map(|pieces| Value::from(pieces.join(" ")));
    let tokens = vec(select(TOKENS), 0..10).prop_map(|tokens| Value::from(tokens.concat()));
    prop_oneof![3 => object, 3 => text, 1 => tokens, 1 => json::value()]
}

#[test]
fn fuzz_call_sends_one_operation_with_its_one_field() {
    let values = (select(SCHEMAS), choice(), vec(json::value(), 1..4));
    holds("graphql_calls", 100, values, |(text, choice, values)| {
        let (schema, _) = parse_schema(text, "s").unwrap();
        let listed = tool_list::all(&schema, 2);
        let means = CallOptions {
            depth: 2,
            room: &listed.room,
            credentials: &[],
        };
        for tool in &listed.tools {
            let name = tool["name"].as_str().unwrap_or_default();
            if name == ANY_QUERY_TOOL {
                continue;
            }
            let names = tool["inputSchema"]["properties"].as_object();
            let names = names.into_iter().flatten().map(|(name, _)| name.clone());
            let mut given: Map<String, Value> = names.zip(values.iter().cycle().cloned()).collect();
            given.insert("$select".into(), choice.clone());
            let call = match function_call::call(&schema, name, given.clone(), means) {
                Ok(call) => call,
                Err(FunctionCallError::Mistake(why)) => {
                    prop_assert!(why.contains("$select"), "{why}");
                    continue;
                }
                Err(FunctionCallError::Unknown) => {
                    return Err(broken(format!("{name} is unknown")));
                }
            };
            let Some(RequestBody::Json(body)) = call.request.body else {
                return Err(broken("no JSON"));
            };
            is_of_function(body["query"].as_str().unwrap_or_default(), name)?;
            given.shift_remove("$select");
            prop_assert_eq!(&body["variables"], &Value::Object(given));
        }
        Ok(())
    });
}

/// The root fields named in a document's text, without a schema.
fn root_fields(document: &Document) -> BTreeSet<String> {
    fn collect(
        document: &Document,
        kind: &str,
        selections: &[Selection],
        seen: &mut BTreeSet<String>,
        found: &mut BTreeSet<String>,
    ) {
        for selection in selections {
            match selection {
                Selection::Field(field) if field.name == "__typename" => {}
                Selection::Field(field) => drop(found.insert(format!("{kind}.{}", field.name))),
                Selection::InlineFragment(fragment) => {
                    collect(document, kind, &fragment.selection_set, seen, found);
                }
                Selection::FragmentSpread(spread) => {
                    let name = spread.fragment_name.as_str();
                    if !seen.insert(name.to_owned()) {
                        continue;
                    }
                    for definition in &document.definitions {
                        if let Definition::FragmentDefinition(fragment) = definition
                            && fragment.name == name
                        {
                            collect(document, kind, &fragment.selection_set, seen, found);
                        }
                    }
                }
            }
        }
    }
    let mut found = BTreeSet::new();
    for definition in &document.definitions {
        if let Definition::OperationDefinition(operation) = definition {
            let kind = match operation.operation_type {
                OperationType::Query => "query",
                OperationType::Mutation => "mutation",
                OperationType::Subscription => "subscription",
            };
            collect(
                document,
                kind,
                &operation.selection_set,
                &mut BTreeSet::new(),
                &mut found,
            );
        }
    }
    found
}

#[test]
fn fuzz_every_root_field_of_a_document_is_judged() {
    let document = (select(DOCUMENTS), vec(damage_of(TOKENS), 0..4))
        .prop_map(|(text, damages)| String::from_utf8_lossy(&damaged(text, &damages)).into_owned());
    let noise = vec(select(TOKENS), 0..30).prop_map(|tokens| tokens.concat());
    let values = (
        prop_oneof![5 => document, 1 => noise],
        proptest::option::of(select(SCHEMAS)),
        json::value(),
    );
    holds(
        "graphql_documents",
        400,
        values,
        |(text, schema, variables)| {
            let Ok(document) = QueryDocument::read(&text) else {
                return Ok(());
            };
            let schema = schema.map(|schema| parse_schema(schema, "s").unwrap().0);
            let mut judged = BTreeSet::new();
            let mut judge = |field: &mut EquivalentField<'_, '_>| {
                judged.insert(field.function.to_owned());
                drop(field.arguments());
                ControlFlow::Continue(())
            };
            let given = variables.as_object();
            let deadline = equivalent_fields::judging_deadline();
            let effects = equivalent_fields::judge_document(
                schema.as_ref(),
                &document,
                given,
                deadline,
                &mut judge,
            );
            if let Err(error) = effects {
                prop_assert!(!error.to_string().is_empty());
                return Ok(());
            }
            let parsed = Document::parse(text.as_str(), "query").unwrap();
            for field in root_fields(&parsed) {
                prop_assert!(
                    judged.contains(&field),
                    "{field} is not among {judged:?} of {text}"
                );
            }
            Ok(())
        },
    );
}
