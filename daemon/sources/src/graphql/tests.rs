//! Small schemas of every kind, and hostile ones.

mod hostile;
mod judging;

use serde_json::{Map, Value, json};

use super::{
    function_call::{self, CallOptions, FunctionCall, FunctionCallError},
    introspection, parse_schema, sdl,
    tool_list::{self, ToolBudget},
};
use crate::http::RequestBody;

const SHOP: &str = r#"
"Where to begin"
schema { query: Root mutation: Changes subscription: Events }
directive @cost(weight: Int) on FIELD_DEFINITION

type Root {
  "One of them."
  user(id: ID!, "How it is shown" as: Style = FULL): User @cost(weight: 2) @unheard(of: "it")
  users(where: Filter = {limit: 3, tags: ["a", "b"], style: FULL}, first: Int): [User!]!
  version: String
  found(text: String!): [Found!]
  node(id: ID!): Node
  orders(first: Int): OrderConnection!
  legacy: Int @deprecated(reason: "use version")
}
type Changes {
  rename(input: RenameInput!): RenamePayload
  deleteUser(id: ID!, "" why: String @deprecated): Boolean!
}
type Events { renamed: User }
enum Style { FULL SHORT @deprecated }
input Filter { limit: Int! = 10, tags: [String!], style: Style, and: [Filter!] }
input RenameInput { id: ID!, name: String, by: Key }
input Key @oneOf { id: ID, name: String }
type RenamePayload { user: User, ok: Boolean! }
interface Node { id: ID! }
type User implements Node {
  id: ID! name: String style: Style! friends: [User!] posts: [Post!]! born: DateTime meta: Anything
  avatar(size: Int!): String picture(size: Int): String orders(first: Int): OrderConnection!
}
type Post implements Node { id: ID! title: String! author: User! size: Int }
union Found = User | Post | Shop
type Shop { id: String name: String! }
type OrderConnection { edges: [OrderEdge] total: Int! pageInfo: PageInfo! }
type OrderEdge { cursor: String! node: Order }
type Order { id: ID! user: User lines: [Line!]! }
type Line { count: Int! }
type PageInfo { endCursor: String }
scalar DateTime
scalar Anything
"#;

const TEST_BUDGET: ToolBudget = ToolBudget {
    arguments: 4096,
    leaves: 60,
    words: 200,
    result_words: 0,
};

fn means() -> CallOptions<'static> {
    CallOptions {
        depth: 2,
        room: &TEST_BUDGET,
        credentials: &[],
    }
}

fn tools(text: &str, depth: u32) -> Map<String, Value> {
    let (schema, _) = parse_schema(text, "s").unwrap();
    let tools = tool_list::all(&schema, depth).tools;
    let named = tools
        .into_iter()
        .map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool));
    named.collect()
}

fn called(tool: &str, arguments: Value) -> Result<FunctionCall, FunctionCallError> {
    let (schema, _) = parse_schema(SHOP, "s").unwrap();
    let Value::Object(arguments) = arguments else {
        panic!("{arguments}");
    };
    function_call::call(&schema, tool, arguments, means())
}

/// The query and the variables that a call sends.
fn sent(tool: &str, arguments: Value) -> (String, Value) {
    let call = called(tool, arguments).unwrap();
    let Some(RequestBody::Json(mut body)) = call.request.body else {
        panic!("no JSON");
    };
    let query = body["query"].as_str().unwrap().to_owned();
    (query, body["variables"].take())
}

/// The selection that `query.user` sends for `$select`, or the error.
fn selected(select: &Value) -> Result<String, String> {
    match called("query.user", json!({ "id": 1, "$select": select })) {
        Ok(call) => {
            let Some(RequestBody::Json(body)) = call.request.body else {
                panic!("no JSON");
            };
            let query = body["query"].as_str().unwrap();
            let rest = query
                .strip_prefix("query user($id: ID!) { user(id: $id) ")
                .unwrap();
            Ok(rest.strip_suffix(" }").unwrap().to_owned())
        }
        Err(FunctionCallError::Mistake(why)) => Err(why),
        Err(FunctionCallError::Unknown) => panic!("unknown"),
    }
}

#[test]
fn values_are_sent_as_variables_and_only_given_arguments_are_named() {
    let (query, variables) = sent("query.user", json!({ "id": "1", "as": "SHORT" }));
    assert_eq!(
        query,
        "query user($id: ID!, $as: Style) { user(id: $id, as: $as) { id name style born meta picture \
         posts { id title size } } }"
    );
    assert_eq!(variables, json!({ "id": "1", "as": "SHORT" }));
    let (query, variables) = sent("query.version", json!({}));
    assert_eq!(
        (query.as_str(), variables),
        ("query version { version }", json!({}))
    );
    let (query, _) = sent("mutation.rename", json!({ "input": { "id": 1 } }));
    assert_eq!(
        query,
        "mutation rename($input: RenameInput!) { rename(input: $input) { ok user { id name style born meta \
         picture } } }"
    );
    for (tool, safe) in [("query.version", true), ("mutation.rename", false)] {
        assert_eq!(
            called(tool, json!({ "input": {} })).unwrap().request.safe,
            safe
        );
    }
    for unknown in [
        "query.nope",
        "user",
        "subscription.renamed",
        "mutation.user",
    ] {
        assert_eq!(
            called(unknown, json!({})).unwrap_err(),
            FunctionCallError::Unknown
        );
    }
}

#[test]
fn default_selection_has_leaves_without_pages_and_cycles() {
    for (field, arguments, selection) in [
        (
            "found",
            json!({ "text": "x" }),
            "{ __typename ... on User { User_id: id User_name: name style born meta picture posts { id title size } } \
             ... on Post { Post_id: id title size author { id name style born meta picture } } \
             ... on Shop { Shop_id: id Shop_name: name } }",
        ),
        ("node", json!({ "id": 1 }), "{ __typename id }"),
        (
            "orders",
            json!({}),
            "{ total edges { cursor node { id } } pageInfo { endCursor } }",
        ),
    ] {
        let (query, _) = sent(&format!("query.{field}"), arguments);
        assert!(query.ends_with(&format!(" {selection} }}")), "{query}");
    }
}

#[test]
fn selection_is_accepted_as_text_and_as_object() {
    for (select, expected) in [
        (json!("{ id name }"), "{ id name }"),
        (json!("id name"), "{ id name }"),
        (
            json!("{ id, n: name posts { title ... on Node { id } __typename } # why\n }"),
            "{ id n: name posts { title ... on Node { id } __typename } }",
        ),
        (
            json!("{ avatar(size: 3) orders(first: 2) { total } name @include(if: true) }"),
            "{ avatar(size: 3) orders(first: 2) { total } name @include(if: true) }",
        ),
        (json!({ "id": true, "name": false, "born": null }), "{ id }"),
        (
            json!({ "posts": true, "orders": { "$args": { "first": 2 }, "total": true } }),
            "{ posts { id title size } orders(first: 2) { total } }",
        ),
        (
            json!({ "avatar": { "$args": { "size": 1 } } }),
            "{ avatar(size: 1) }",
        ),
        (
            json!({ "... on Node": { "id": true }, "__typename": true }),
            "{ ... on Node { id } __typename }",
        ),
        (json!("{\"id\": true}"), "{ id }"),
    ] {
        assert_eq!(selected(&select).as_deref(), Ok(expected), "{select}");
    }
}

#[test]
fn invalid_selection_error_suggests_a_valid_one() {
    for (select, part) in [
        (json!("{ nmae }"), "did you mean `name`?"),
        (
            json!("{ posts }"),
            "`posts` is a Post: select fields of it, such as posts { id title size }",
        ),
        (json!("{ name { first } }"), "has no fields"),
        (json!("{ posts { title(x: 1) } }"), "takes no argument `x`"),
        (json!("{ avatar(size: $size) }"), "variables"),
        (json!("{ name @include(if: $x) }"), "variables"),
        (json!("{ ...Everything }"), "fragment"),
        (json!("{ ... on Nobody { id } }"), "no type \"Nobody\""),
        (json!("{ id"), "syntax error"),
        (json!(""), "syntax error"),
        (json!({}), "no field of User"),
        (json!({ "posts": { "title": { "x": true } } }), "no fields"),
        (json!({ "posts": 1 }), "`true`"),
        (json!({ "nmae": true }), "`name`"),
        (json!({ "avatar": { "$args": { "sise": 1 } } }), "`size`"),
        (
            json!({ "avatar": { "$args": { "size": { "a b": 1 } } } }),
            "cannot be written",
        ),
        (json!({ "... on No": { "id": true } }), "no type"),
        (json!(7), "a string or an object"),
    ] {
        let why = selected(&select).unwrap_err();
        assert!(why.contains(part), "{select}: {why}");
        assert!(why.starts_with("`$select`: "), "{why}");
    }
}

/// A schema whose fields require arguments at every depth.
const DEMANDING: &str = "
type Query { all: All }
type All {
  a(x: Int!): Int  b(x: Int! = 1, y: Int): Int  c(in: In!, list: [In!]): All  d(one: One): Int  all: All
  e(x: Int!): All
}
input In { need: Int! deep: In with: Int! = 2 more: [In!] }
input One @oneOf { a: Int b: Int }
";

#[test]
fn selection_has_the_arguments_and_members_that_the_schema_requires() {
    let schema = sdl::read(DEMANDING, "schema").unwrap();
    let spelled =
        |select: &Value| super::custom_selection::spelled(&schema, "All", select, &TEST_BUDGET);
    for select in [
        json!("{ a(x: 1) b }"),
        json!("{ n: a(x: 1) all { ... on All { b(y: null) } } }"),
        json!("{ c(in: { need: 1, deep: null, more: { need: 2 } }, list: []) { b } }"),
        json!("{ d d2: d(one: { a: 1 }) }"),
        json!({ "a": { "$args": { "x": 1 } }, "b": true, "all": true }),
        json!({ "c": { "$args": { "in": { "need": 1 } }, "b": true } }),
    ] {
        assert!(spelled(&select).is_ok(), "{select}: {:?}", spelled(&select));
    }
    for (select, part) in [
        (json!("{ a }"), "`a` needs the argument `x` of type Int!"),
        (json!("{ n: a }"), "`a` needs the argument `x` of type Int!"),
        (json!("{ all { all { a } } }"), "`a` needs the argument `x`"),
        (json!("{ ... on All { a } }"), "`a` needs the argument `x`"),
        (json!("{ ... { a } }"), "`a` needs the argument `x`"),
        (
            json!("{ e { b } }"),
            "`e` needs the argument `x` of type Int!",
        ),
        (json!("{ a(x: null) }"), "`x` of type Int! must not be null"),
        (json!("{ b(x: null) }"), "`x` of type Int! must not be null"),
        (json!("{ b(z: 1) }"), "`b` takes no argument `z`"),
        (
            json!("{ c { b } }"),
            "`c` needs the argument `in` of type In!",
        ),
        (
            json!("{ c(in: {}) { b } }"),
            "`in` needs the member `need` of type Int!",
        ),
        (
            json!("{ c(in: { need: 1, deep: {} }) { b } }"),
            "`in.deep` needs the member `need`",
        ),
        (
            json!("{ c(in: { need: 1, more: [{ need: 1 }, {}] }) { b } }"),
            "`in.more` needs the member",
        ),
        (
            json!("{ c(in: { need: 1, nede: 1 }) { b } }"),
            "In has no member `nede`; did you mean `need`?",
        ),
        (
            json!("{ c(in: { need: 1 }, list: [null]) { b } }"),
            "`list` of type In! must not be null",
        ),
        (json!("{ c(in: 1) { b } }"), "`in` must be an object of In"),
        (
            json!("{ d(one: { a: 1, b: 2 }) }"),
            "exactly one member of One",
        ),
        (
            json!("{ d(one: { a: null }) }"),
            "exactly one member of One",
        ),
        (json!({ "a": true }), "`\"a\": { \"$args\": { \"x\": … } }`"),
        (json!({ "a": {} }), "`a` needs the argument `x`"),
        (json!({ "e": true }), "`e` needs the argument `x`"),
        (
            json!({ "all": { "a": { "$args": {} } } }),
            "`a` needs the argument `x`",
        ),
        (
            json!({ "... on All": { "a": true } }),
            "`a` needs the argument `x`",
        ),
        (
            json!({ "c": { "$args": { "in": { "need": null } }, "b": true } }),
            "`in.need` of type Int!",
        ),
    ] {
        let why = spelled(&select).unwrap_err();
        assert!(why.contains(part), "{select}: {why}");
        assert!(why.starts_with("`$select`: "), "{why}");
    }
}

#[test]
fn selection_cannot_escape_its_field() {
    for select in [
        "{ id } version",
        "{ id } } query x { version",
        "id } version { id",
        "{ id } mutation x { deleteUser(id: 1) }",
        "query { id }",
        "{ id } { id }",
        "fragment f on User { id }",
        "subscription { renamed { id } }",
    ] {
        let outcome = selected(&json!(select));
        assert!(outcome.is_err(), "{select}: {outcome:?}");
    }
    let deep = "{ friends ".repeat(5_000) + &"}".repeat(5_000);
    assert!(selected(&json!(deep)).is_err());
    let long = format!("{{ {} }}", "id ".repeat(40_000));
    assert!(selected(&json!(long)).unwrap_err().contains("longer than"));
}

#[test]
fn document_is_retried_only_if_it_only_reads() {
    for (query, name, safe) in [
        ("{ version }", None, true),
        (
            "query a { version } mutation b { deleteUser(id: 1) }",
            None,
            false,
        ),
        (
            "query a { version } mutation b { deleteUser(id: 1) }",
            Some("a"),
            true,
        ),
        ("mutation { deleteUser(id: 1) }", None, false),
        ("query a { version }", Some("b"), false),
    ] {
        let call = called("graphql", json!({ "query": query, "operationName": name })).unwrap();
        assert_eq!((call.request.safe, call.field), (safe, None), "{query}");
    }
    let unread = called(
        "graphql",
        json!({ "query": "mutation { deleteUser(id: 1)" }),
    );
    assert!(matches!(unread, Err(FunctionCallError::Mistake(why)) if why.contains("is not sent")));
    let refused = called(
        "graphql",
        json!({ "query": "subscription { renamed { id } }" }),
    );
    assert!(
        matches!(refused, Err(FunctionCallError::Mistake(why)) if why.contains("subscription"))
    );
}

#[test]
fn sdl_and_introspection_give_the_same_schema() {
    let written = sdl::read(SHOP, "s").unwrap();
    let answer: Value = serde_json::from_str(include_str!("tests/shop.json")).unwrap();
    let asked = introspection::read(&answer).unwrap();
    for (name, ty) in &written.types {
        assert_eq!(Some(ty), asked.types.get(name), "{name}");
    }
    assert_eq!(written, asked);
    assert_eq!(written.types.len(), 20);
}

#[test]
fn introspection_query_exists_for_each_generation_of_servers() {
    let queries: Vec<String> = introspection::introspection_queries().collect();
    assert!(queries[0].contains("isOneOf") && !queries[1].contains("isOneOf"));
    assert!(queries[1].contains("args(includeDeprecated: true)"));
    assert!(
        queries[2].contains(" args {") && queries[2].contains(" fields(includeDeprecated: true)")
    );
    for query in queries {
        let parsed = apollo_compiler::ast::Document::parse(query.clone(), "q");
        assert!(parsed.is_ok(), "{query}");
    }
}

#[test]
fn schema_errors_name_the_position() {
    for (text, part) in [
        ("type Query { a: Nope }", "s:1:17: "),
        ("type Query {\n  a: Int\n  b: }", "s:3:6: syntax error"),
        ("type Query { a: Int }\ntype Query { b: Int }", "s:2:6: "),
        ("enum A { B }", "s: "),
        ("{\"data\": {}}", "no `__schema`"),
        ("{", "JSON"),
        ("", "s"),
    ] {
        let why = parse_schema(text, "s").unwrap_err();
        assert!(why.contains(part), "{text}: {why}");
    }
}

#[test]
fn duplicate_definitions_in_a_schema_count_once() {
    let text = "type Query { a: Int b: Int a: Int } enum E { A A } union U = Query | Query";
    let (schema, _) = parse_schema(text, "s").unwrap();
    assert_eq!(schema.fields("Query").unwrap().len(), 2);
}
