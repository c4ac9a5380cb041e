//! The functions to which documents amount, and the limits of that check.

use std::{collections::BTreeSet, ops::ControlFlow};

use serde_json::{Map, Value, json};

use super::{
    super::{
        custom_selection,
        equivalent_fields::{self, CallEffects, EquivalentField},
        function_call, parse_schema,
        query_document::{
            DocumentEffect, DocumentError, MAX_DOCUMENT_BYTES, MAX_DOCUMENT_TOKENS, QueryDocument,
        },
        schema_model::GraphqlSchema,
        tool_list::{self, OFFERED_OPERATIONS},
    },
    TEST_BUDGET, means,
};

fn schema(text: &str) -> GraphqlSchema {
    parse_schema(text, "s").unwrap().0
}

/// The functions to which a document amounts, each with its arguments.
fn reached(
    schema: Option<&GraphqlSchema>,
    query: &str,
    variables: &Value,
) -> Result<(Vec<String>, CallEffects), DocumentError> {
    let document = QueryDocument::read(query)?;
    let mut functions = Vec::new();
    let mut wrong = None;
    let mut judge = |field: &mut EquivalentField<'_, '_>| match field.arguments() {
        Ok(arguments) => {
            functions.push(format!("{} {arguments}", field.function));
            ControlFlow::Continue(())
        }
        Err(error) => {
            wrong = Some(error);
            ControlFlow::Break(())
        }
    };
    let given = variables.as_object();
    let deadline = equivalent_fields::judging_deadline();
    let reach = equivalent_fields::judge_document(schema, &document, given, deadline, &mut judge);
    match wrong {
        Some(error) => Err(error),
        None => Ok((functions, reach?)),
    }
}

fn functions_of(query: &str, variables: &Value) -> Result<Vec<String>, DocumentError> {
    reached(None, query, variables).map(|(functions, _)| functions)
}

#[test]
fn root_fields_are_reported_with_their_arguments() {
    for (query, variables, expected) in [
        (
            "{ user(id: 1) { name } }",
            json!({}),
            &["query.user {\"id\":1}"][..],
        ),
        (
            "query A { a } mutation B($i: ID = \"d\", $n: Int) { x: drop(id: $i, n: $n) keep(o: { k: [E, $i, 1.5] }) }",
            json!({}),
            &[
                "query.a {}",
                "mutation.drop {\"id\":\"d\"}",
                "mutation.keep {\"o\":{\"k\":[\"E\",\"d\",1.5]}}",
            ],
        ),
        (
            "mutation($i: ID!) { ...F ... on Mutation { b(i: $i) @skip(if: true) } ...F } fragment F on Mutation { a ...F }",
            json!({ "i": { "x": [7] } }),
            &["mutation.b {\"i\":{\"x\":[7]}}", "mutation.a {}"],
        ),
        ("subscription { s }", json!(null), &["subscription.s {}"]),
        ("{ a a b: a }", json!({}), &["query.a {}"]),
    ] {
        assert_eq!(
            functions_of(query, &variables).unwrap(),
            expected,
            "{query}"
        );
    }
}

#[test]
fn root_fields_are_recognized_by_the_type_they_are_selected_on() {
    let schema = schema(
        "interface Node { id: ID } type Query implements Node { id: ID a(x: Int): Int query: Query user: User node: Node }
         type User implements Node { id: ID root: [Query!]! } type Mutation { wipe: User }",
    );
    for (query, expected) in [
        (
            "{ user { root { a(x: 1) } } }",
            &["query.user {}", "query.a {\"x\":1}"][..],
        ),
        (
            "{ user { id } node { id } }",
            &["query.user {}", "query.node {}", "query.id {}"],
        ),
        (
            "mutation { wipe { root { id } } }",
            &["mutation.wipe {}", "query.id {}"],
        ),
        ("{ query { __typename } }", &["query.query {}"]),
    ] {
        let (functions, reach) = reached(Some(&schema), query, &json!({})).unwrap();
        assert_eq!(functions, expected, "{query}");
        assert_eq!(reach.undecided, None, "{query}");
    }
}

/// Asserts that a document exceeds the limit of this name and value.
#[track_caller]
fn refused(query: &str, variables: &Value, name: &str, value: &str) {
    let error = functions_of(query, variables).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, DocumentError::Limit { remedy, .. } if !remedy.is_empty()),
        "{text}"
    );
    assert!(
        text.contains(&format!("`{name}` is {value}")),
        "{query:.40}: {text}"
    );
}

#[test]
fn exceeded_limit_is_named_in_the_error() {
    let many =
        |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<String>();
    let long = format!("{{ a(x: \"{}\") }}", "y".repeat(MAX_DOCUMENT_BYTES));
    refused(&long, &json!({}), "max_document_bytes", "262144");
    let signs = format!("{{ a(x: [{}]) }}", "1,".repeat(MAX_DOCUMENT_TOKENS / 2));
    refused(&signs, &json!({}), "max_document_tokens", "100000");
    let operations = many(101, &|n| format!("query q{n} {{ a }} "));
    refused(&operations, &json!({}), "max_operations", "100");
    let fields = many(1_001, &|n| format!("f{n} "));
    refused(
        &format!("{{ {fields} }}"),
        &json!({}),
        "max_root_fields",
        "1000",
    );
    let fields = many(20_001, &|_| "a ".into());
    refused(
        &format!("{{ {fields} }}"),
        &json!({}),
        "max_visits",
        "20000",
    );
    // Each operation has another default, so the fragment is walked for each operation.
    let operations = many(100, &|n| format!("query q{n}($v: Int = {n}) {{ ...F }} "));
    let fields = many(900, &|n| format!("b{n} "));
    let query = format!("{operations} fragment F on Query {{ a {{ {fields} }} }}");
    refused(&query, &json!({}), "max_visits", "20000");
    let fields = many(50, &|n| format!("f{n}(x: $v) "));
    let query = format!("query($v: String) {{ {fields} }}");
    refused(
        &query,
        &json!({ "v": "x".repeat(100_000) }),
        "max_argument_bytes",
        "4194304",
    );
    let items = "$v ".repeat(20_000);
    let query = format!("query($v: String) {{ a(x: [{items}]) }}");
    refused(
        &query,
        &json!({ "v": "x".repeat(1_000) }),
        "max_argument_bytes",
        "4194304",
    );
}

#[test]
fn check_after_the_deadline_exceeds_a_limit() {
    let document = QueryDocument::read("{ a }").unwrap();
    let mut judge = |_: &mut EquivalentField<'_, '_>| ControlFlow::Continue(());
    let over = equivalent_fields::thread_cpu_time();
    let error = equivalent_fields::judge_document(None, &document, None, over, &mut judge);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("`max_judging_time` is 2s"), "{error}");
}

#[test]
fn fragment_is_walked_once_for_each_root_type() {
    let operations: Vec<_> = (0..100)
        .map(|n| format!("query q{n}($v: String) {{ ...F }} "))
        .collect();
    let operations = operations.concat();
    let fields = "a(x: $v) ".repeat(5_000);
    let query = format!("{operations} fragment F on Query {{ {fields} }}");
    let given = json!({ "v": "x".repeat(1 << 20) });
    let functions = functions_of(&query, &given).unwrap();
    assert_eq!(functions.len(), 1);
}

#[test]
fn long_chain_of_fragments_is_followed() {
    let count = 5_000;
    let chain: Vec<_> = (0..count)
        .map(|n| format!("fragment F{n} on Query {{ ...F{} }} ", n + 1))
        .collect();
    let chain = chain.concat();
    let query = format!("{{ ...F0 }} {chain} fragment F{count} on Query {{ end }}");
    assert_eq!(functions_of(&query, &json!({})).unwrap(), ["query.end {}"]);
}

#[test]
fn document_with_duplicate_names_is_refused() {
    for query in [
        "{ ...F } fragment F on Query { a } fragment F on Query { b }",
        "query A { a } query A { b }",
        "{ a(x: 1, x: 2) }",
        "{ a { b(x: 1, x: 2) } }",
        "{ a @include(if: true, if: false) }",
        "query($v: Int = 1, $v: Int = 2) { a(x: $v) }",
        "{ a(x: { k: 1, k: 2 }) }",
        "{ a(x: [{ k: { l: 1, l: 2 } }]) }",
        "query($v: I = { k: 1, k: 2 }) { a }",
        "{ a } fragment F on Query { b(x: 1, x: 2) }",
    ] {
        let error = functions_of(query, &json!({})).unwrap_err().to_string();
        assert!(error.contains("has two"), "{query}: {error}");
    }
    for query in [
        "{ a b: a a }",
        "query A { a } mutation B { a }",
        "{ a(x: 1) b(x: 1) }",
    ] {
        functions_of(query, &json!({})).unwrap();
    }
}

#[test]
fn invalid_document_is_refused() {
    let deep = format!("{{ a{} }}", "{ a".repeat(1_000));
    let value = format!("{{ a(x: {}1{}) }}", "[".repeat(1_000), "]".repeat(1_000));
    for (query, part) in [
        ("mutation { drop ", "not a valid GraphQL"),
        ("{ a } rubbish", "not a valid GraphQL"),
        (deep.as_str(), "not a valid GraphQL"),
        (value.as_str(), "not a valid GraphQL"),
        ("query($v: Int = $v) { a(x: $v) }", "not a valid GraphQL"),
        ("fragment F on Mutation { a }", "no operation"),
        ("", "no"),
        ("{ ...G }", "no fragment `G`"),
    ] {
        let error = functions_of(query, &json!({})).unwrap_err().to_string();
        assert!(error.contains(part), "{query:.40}: {error}");
    }
    assert!(function_call::document_of(&Map::from_iter([("query".to_owned(), json!(3))])).is_err());
}

#[test]
fn effect_is_that_of_the_named_operation() {
    let document =
        QueryDocument::read("query A { a } mutation B { b } subscription C { c }").unwrap();
    for (name, expected) in [
        (Some("A"), DocumentEffect::Reads),
        (Some("B"), DocumentEffect::Changes),
        (Some("C"), DocumentEffect::Subscribes),
        (Some("D"), DocumentEffect::Changes),
        (None, DocumentEffect::Subscribes),
    ] {
        assert_eq!(document.effect(name), expected, "{name:?}");
    }
}

/// The functions that default selections of a schema reach besides their own fields.
fn reached_by_defaults(text: &str) -> BTreeSet<String> {
    let schema = schema(text);
    let mut functions = BTreeSet::new();
    for depth in [1, 2, 6] {
        for operation in OFFERED_OPERATIONS {
            for field in operation.fields(&schema) {
                let selection = tool_list::default(&schema, operation, field, depth, &TEST_BUDGET);
                let Some(selection) = selection else { continue };
                let query = format!("{{ field {} }}", selection.text());
                let document = QueryDocument::read(&query).unwrap();
                let mut judge = |field: &mut EquivalentField<'_, '_>| {
                    functions.insert(field.function.to_owned());
                    ControlFlow::Continue(())
                };
                let ty = field.ty.name();
                let reach = equivalent_fields::judge_function_document(
                    &schema,
                    &document,
                    ty,
                    equivalent_fields::judging_deadline(),
                    &mut judge,
                )
                .unwrap();
                assert_eq!(reach.undecided, None, "{query}");
            }
        }
    }
    functions
}

#[test]
fn default_selection_has_no_fields_of_root_types() {
    let text = "interface Node { id: ID } union Any = User | Query
        type Query implements Node { id: ID a: Int query: Query! user: User node: Node any: Any events: [Subscription!] }
        type User { name: String root: Query any: Any node: Node changes: Mutation }
        type Mutation { wipe: Payload! user: UserMutations } type Payload { ok: Int query: Query }
        type UserMutations { purgeAll: Int count: Int } type Subscription { it: Int }";
    assert_eq!(reached_by_defaults(text), BTreeSet::new());
    let schema = schema(text);
    let selected = |operation: usize, name: &str| {
        let operation = OFFERED_OPERATIONS[operation];
        let mut fields = operation.fields(&schema).iter();
        let field = fields.find(|field| field.name == name).unwrap();
        let selection = tool_list::default(&schema, operation, field, 2, &TEST_BUDGET);
        selection.unwrap().text()
    };
    assert_eq!(selected(0, "query"), "{ __typename }");
    assert_eq!(
        selected(0, "user"),
        "{ name any { __typename ... on User { name } } node { __typename } }"
    );
    assert_eq!(selected(1, "wipe"), "{ ok }");
    // Selecting the field would execute it.
    assert_eq!(selected(1, "user"), "{ count }");
}

#[test]
fn interfaces_of_root_types_are_read_from_introspection() {
    let named = |name: &str| json!({ "kind": "SCALAR", "name": name });
    let field = |name: &str, kind: &str, of: &str| json!({ "name": name, "args": [], "type": { "kind": kind, "name": of } });
    let answer = |possible: Value| {
        let fields = [
            json!({ "name": "id", "args": [], "type": named("ID") }),
            field("node", "INTERFACE", "Node"),
        ];
        let types = json!([
            { "kind": "OBJECT", "name": "Root", "fields": fields },
            { "kind": "INTERFACE", "name": "Node", "fields": [fields[0]], "possibleTypes": possible },
        ]);
        let introspected =
            json!({ "__schema": { "queryType": { "name": "Root" }, "types": types } });
        parse_schema(&introspected.to_string(), "s").unwrap().0
    };
    for (possible, expected) in [
        (json!([{ "name": "Root" }]), 2),
        (json!([{ "name": "Other" }]), 1),
        // Without `possibleTypes` the type may be a root type.
        (Value::Null, 2),
    ] {
        let schema = answer(possible);
        let (functions, _) = reached(Some(&schema), "{ node { id } }", &json!({})).unwrap();
        assert_eq!(functions.len(), expected, "{functions:?}");
    }
}

/// A schema with a type that has many scalars and many fields of its own type.
fn wide() -> GraphqlSchema {
    let scalars = (0..118).map(|n| format!("a_rather_long_name_of_a_field_{n}: Int "));
    let own = (0..60).map(|n| format!("c{n}: T "));
    let fields: Vec<_> = scalars.chain(own).collect();
    let fields = fields.concat();
    schema(&format!("type Query {{ t: T }} type T {{ {fields} }}"))
}

#[test]
fn selection_limit_is_the_same_for_text_and_object() {
    let schema = wide();
    let nested =
        |inner: Value| -> Value { (0..60).map(|n| (format!("c{n}"), inner.clone())).collect() };
    // Short as written, long when expanded.
    let object = nested(nested(json!(true)));
    let written = object.to_string();
    assert!(written.len() < 60 << 10, "{}", written.len());
    // Long as written.
    let nest = |inner: &str| -> String {
        let fields: Vec<_> = (0..60).map(|n| format!("c{n} {{ {inner} }} ")).collect();
        fields.concat()
    };
    let all = nest(&nest("a_rather_long_name_of_a_field_1"));
    let long = nested(nested(nested(json!(true))));
    for (choice, part) in [
        (
            object,
            "its expansion is longer than 65536 bytes (max_selection_bytes)",
        ),
        (
            json!(written),
            "its expansion is longer than 65536 bytes (max_selection_bytes)",
        ),
        (
            json!(all),
            "it is longer than 65536 bytes (max_selection_bytes)",
        ),
        (
            json!(long.to_string()),
            "it is longer than 65536 bytes (max_selection_bytes)",
        ),
        (long, "it is longer than 65536 bytes (max_selection_bytes)"),
    ] {
        let error = custom_selection::spelled(&schema, "T", &choice, means().room).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    let fits = nested(json!({ "c1": { "a_rather_long_name_of_a_field_1": true } }));
    custom_selection::spelled(&schema, "T", &fits, means().room).unwrap();
}
