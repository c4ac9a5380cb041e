//! Random rules and overrides get one verdict on every way to a tool, and a value that they deny is never sent.
//!
//! Invariant: a new way of calling a tool is added to [`Callers`].

use std::{
    fmt::Write as _,
    fs,
    sync::{Arc, Mutex},
};

use axum::{Router, extract::Request, response::IntoResponse};
use mux_chance::holds;
use mux_tests::{Agent, GraphqlServer, TestEnv, web::Web};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

/// The number of configurations. Each is tried on all ways.
const CASES: u32 = 10;

/// Two connections of one agent: the first calls tools by path, the second has the tools of a server as its own.
struct Callers<'a> {
    env: &'a TestEnv,
    server: &'static str,
    agent: Agent,
    through: Agent,
}

impl<'a> Callers<'a> {
    fn new(env: &'a TestEnv, server: &'static str) -> Self {
        let passthrough = format!("--passthrough={server}");
        Self {
            agent: Agent::legacy(env, &["--agent", "small"], json!({})),
            through: Agent::legacy(env, &["--agent", "small", &passthrough], json!({})),
            server,
            env,
        }
    }

    /// How a call ends on each way: `ok`, or the kind of the error.
    fn ends(&mut self, tool: &str, arguments: &Value) -> Vec<(String, String)> {
        let path = format!("{}.{tool}", self.server);
        let given = json!({ "path": path, "arguments": arguments });
        let code = format!("return await mux.call({path:?}, {arguments})");
        let step = json!({ "id": "only", "tool": path, "args": arguments });
        let mut ends = vec![
            ("call", self.agent.call("call", given)),
            ("run", self.agent.call("run", json!({ "code": code }))),
            (
                "steps",
                self.agent.call("run_program", json!({ "steps": [step] })),
            ),
        ];
        let is_offered = self.through.tools().iter().any(|offered| offered == tool);
        assert!(is_offered || tool != "graphql", "it is hidden from no one");
        if is_offered {
            ends.push(("direct", self.through.call(tool, arguments.clone())));
        }
        let named =
            |(way, result): (&str, Value)| (format!("{way} {tool} {arguments}"), end(&result));
        ends.into_iter().map(named).collect()
    }

    /// How `mux call`, which is not an agent, ends.
    fn end_of_command(&self, tool: &str, arguments: &Value) -> (String, String) {
        let path = format!("{}.{tool}", self.server);
        let typed = arguments.to_string();
        let called = self.env.mux(["--json", "call", &path, &typed]).json();
        let kind = called["error"]["kind"].as_str().unwrap_or("ok");
        (format!("mux call {tool} {arguments}"), kind.to_owned())
    }
}

fn end(result: &Value) -> String {
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    match result["isError"] == true {
        // A program of steps is checked before it begins.
        true if text.contains("there is no tool") => "not_found".into(),
        true => {
            let kinds = ["denied", "not_found", "validation"];
            let kind = kinds.iter().find(|kind| text.contains(**kind));
            kind.map_or(text, |kind| kind).to_owned()
        }
        false => "ok".into(),
    }
}

fn rules(
    matches: &'static [&'static str],
    conditions: &'static [&'static str],
) -> impl Strategy<Value = String> {
    let rule = (
        select(matches),
        select(conditions),
        select(&["allow", "deny"][..]),
    );
    let rule = rule.prop_map(|(matches, condition, action)| {
        format!("[[policy]]\nmatch = {matches:?}\naction = {action:?}\n{condition}\n")
    });
    vec(rule, 0..4).prop_map(|rules| rules.concat())
}

/// The entry's override of `query.user`, with the resulting name.
const OVERRIDES: &[(&str, &str)] = &[
    ("", "query.user"),
    ("name = \"person\"", "person"),
    ("name = \"people.find-one\"", "people.find-one"),
    ("annotations = { destructive = true }", "query.user"),
    (
        "name = \"person\"\nannotations = { read_only = false, destructive = true }",
        "person",
    ),
    ("name = \"query.version\"", "query.user"),
];

#[test]
fn random_rules_get_one_verdict_on_every_way_to_a_graphql_function() {
    let env = TestEnv::new();
    let server = GraphqlServer::start(&env, &["again"]);
    let graphql =
        "[[policy]]\nmatch = [\"blog.graphql\", \"blog.query.query\"]\naction = \"allow\"\n";
    env.write_config(&server.source(""));
    env.mux(["tools", "--server", "blog"]).ok();
    let matches = &[
        "blog.query.user",
        "blog.person",
        "blog.people.find_one",
        "blog.people.*",
        "blog.query.*",
        "*.p*",
        "*",
    ];
    let conditions = &[
        "",
        "arguments = { id = \"2\" }",
        "arguments = { id = { not = \"2\" } }",
        "annotations = { destructive = true }",
        "annotations = { read_only = true }",
    ];
    let hidden = select(
        &[
            "",
            "blog.person",
            "blog.query.user",
            "*.find_one",
            "blog.none",
        ][..],
    );
    let excluded = select(&["", "", "", "person", "query.us*", "people.*"][..]);
    let values = (
        rules(matches, conditions),
        select(OVERRIDES),
        hidden,
        excluded,
        select(&["1", "2"][..]),
    );
    let env = &env;
    holds(
        "policy_ways_graphql",
        CASES,
        values,
        |(rules, (changes, name), hidden, excluded, id)| {
            let mut entry = String::new();
            if !excluded.is_empty() {
                entry = format!("tools = {{ exclude = [{excluded:?}] }}\n");
            }
            if !changes.is_empty() {
                _ = write!(entry, "[sources.blog.override.\"query.user\"]\n{changes}\n");
            }
            let view = match hidden {
                "" => String::new(),
                glob => format!("[agents.small]\nexclude = [{glob:?}]\n"),
            };
            let config = server.source(&format!("{entry}{view}{graphql}{rules}"));
            env.write_config(&config);
            env.mux(["reload"]).ok();
            let mut callers = Callers::new(env, "blog");
            let field = format!("user(id: {id:?}) {{ name }}");
            let select = json!({ "user": { "$args": { "id": id }, "name": true } });
            let mut ends = callers.ends(name, &json!({ "id": id }));
            let expected = ends[0].1.clone();
            let typed = callers.end_of_command(name, &json!({ "id": id })).1;
            for (tool, arguments) in [
                ("graphql", json!({ "query": format!("{{ {field} }}") })),
                (
                    "graphql",
                    json!({
                        "query": "query($i: ID!) { query { ...F } } fragment F on Query { x: user(id: $i) { name } }",
                        "variables": { "i": id },
                    }),
                ),
                (
                    "query.query",
                    json!({ "$select": format!("{{ {field} }}") }),
                ),
                ("query.query", json!({ "$select": select })),
            ] {
                ends.extend(callers.ends(tool, &arguments));
                let (way, end) = callers.end_of_command(tool, &arguments);
                prop_assert_eq!(&end, &typed, "{}\n{}", way, config);
            }
            for (way, end) in ends {
                prop_assert_eq!(&end, &expected, "{}\n{}", way, config);
            }
            Ok(())
        },
    );
}

/// An API with the function `shop.pay`, whose requests are logged.
fn shop(env: &TestEnv) -> (Web, Arc<Mutex<Vec<String>>>, String) {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&log);
    let routes = Router::new().fallback(move |request: Request| {
        seen.lock().unwrap().push(request.uri().to_string());
        async { axum::Json(json!({})).into_response() }
    });
    let web = Web::open(routes);
    let object =
        |name: &str| json!({ "name": name, "in": "query", "schema": { "type": "object" } });
    let parameters = json!([
        { "name": "id", "in": "path", "required": true, "allowReserved": true, "schema": { "type": "string" } },
        { "name": "account", "in": "query", "schema": { "type": "string" } },
        object("filter"),
        object("more"),
    ]);
    let operation = json!({ "tags": ["shop"], "operationId": "pay", "parameters": parameters });
    let described = json!({
        "openapi": "3.1.0",
        "info": { "title": "Shop", "version": "1" },
        "servers": [{ "url": web.url }],
        "paths": { "/pay/{id}": { "get": operation } },
    });
    let file = env.path("shop.json");
    fs::write(&file, described.to_string()).unwrap();
    let source = format!("[sources.api]\nopenapi = {file:?}\n");
    (web, log, source)
}

/// Arguments by which a caller tries to send `victim` as the account, or `secret` as the owner.
fn attempts() -> impl Strategy<Value = Value> {
    let names = select(
        &[
            "account",
            "Account",
            "acc-ount",
            "account[]",
            "acc%6Funt",
            "owner",
            "owner[0]",
            "plain",
        ][..],
    );
    let value = select(&["victim", "VICTIM", "secret", "me"][..]);
    let id = select(
        &[
            "1",
            "1/2",
            "1?account=victim",
            "1&owner=secret",
            "1#x",
            "1/../2",
        ][..],
    );
    let place = select(&["filter", "more"][..]);
    (names, value, id, place, any::<bool>()).prop_map(|(name, value, id, place, is_member)| {
        let mut arguments = json!({ "id": id });
        if is_member {
            arguments[place] = json!({ name: value });
        } else {
            arguments["account"] = value.into();
        }
        arguments
    })
}

#[test]
fn random_rules_and_fixed_arguments_hold_for_every_place_of_a_request() {
    let env = TestEnv::new();
    let (web, log, source) = shop(&env);
    env.write_config(&source);
    env.mux(["tools", "--server", "api"]).ok();
    let matches = &["api.shop.pay", "api.order", "api.*", "*.pay"];
    let conditions = &[
        "arguments = { account = \"victim\" }",
        "arguments = { owner = \"secret\" }",
    ];
    let changes = select(
        &[
            ("", "shop.pay"),
            ("name = \"order\"", "order"),
            ("fixed = { account = \"me\" }", "shop.pay"),
            ("name = \"order\"\nfixed = { account = \"me\" }", "order"),
        ][..],
    );
    let values = (rules(matches, conditions), changes, vec(attempts(), 1..4));
    let env = &env;
    let log = &log;
    let source = &source;
    holds(
        "policy_ways_openapi",
        CASES,
        values,
        move |(rules, (changes, name), attempts)| {
            let entry = match changes {
                "" => String::new(),
                changes => format!("[sources.api.override.\"shop.pay\"]\n{changes}\n"),
            };
            let config = format!("{source}{entry}{rules}");
            env.write_config(&config);
            env.mux(["reload"]).ok();
            let mut callers = Callers::new(env, "api");
            let plainly = |arguments: Value| {
                let mut fresh = Callers::new(env, "api");
                fresh.ends(name, &arguments).remove(0).1
            };
            let forbids_victim = plainly(json!({ "id": "9", "account": "victim" })) != "ok";
            let forbids_secret =
                plainly(json!({ "id": "9", "filter": { "owner": "secret" } })) != "ok";
            for arguments in attempts {
                log.lock().unwrap().clear();
                let mut ends = callers.ends(name, &arguments);
                ends.push(callers.end_of_command(name, &arguments));
                let expected = ends[0].1.clone();
                for (way, end) in &ends {
                    prop_assert_eq!(end, &expected, "{}\n{}", way, config);
                }
                for target in log.lock().unwrap().iter() {
                    let url = url::Url::parse(&format!("{}{target}", web.url)).unwrap();
                    let segments = url.path_segments().unwrap().count();
                    prop_assert_eq!(segments, 2, "{} {}", arguments, target);
                    let accounts = url.query_pairs().filter(|(name, _)| name == "account");
                    prop_assert!(accounts.count() <= 1, "{arguments} {target}");
                    for (name, value) in url.query_pairs() {
                        let name: String = name.chars().filter(char::is_ascii_alphabetic).collect();
                        let name = name.to_lowercase();
                        let is_victim = name == "account" && value.to_lowercase() == "victim";
                        let is_secret = name == "owner" && value == "secret";
                        prop_assert!(
                            !(is_victim && forbids_victim),
                            "{arguments} {target}\n{config}"
                        );
                        prop_assert!(
                            !(is_secret && forbids_secret),
                            "{arguments} {target}\n{config}"
                        );
                    }
                }
            }
            Ok(())
        },
    );
}
