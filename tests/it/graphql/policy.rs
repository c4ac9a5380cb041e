//! Rules on functions also apply to raw queries and selections that reach the same fields.

use mux_tests::Agent;
use serde_json::json;

use super::home;

const DROP: &str = "mutation { deletePost(id: \\\"p1\\\") }";

fn query(document: &str) -> String {
    format!("return await mux.blog.graphql({{ query: \"{document}\", variables: {{ id: 'p1' }} }})")
}

#[test]
fn rules_on_functions_apply_to_raw_queries() {
    let rules = "[[policy]]\nmatch = \"blog.mutation.*\"\naction = \"deny\"\n\
                 [[policy]]\nmatch = \"blog.query.user\"\narguments = { id = 1 }\naction = \"deny\"\n\
                 [agents.blind]\nexclude = [\"blog.mutation.*\"]\npolicy = []\n";
    let (env, server) = home(&[], rules);
    for document in [
        DROP,
        "mutation($id: ID!) { x: deletePost(id: $id) }",
        "query A { version } mutation B { ...F } fragment F on Mutation { ... { deletePost(id: 1) } }",
        "{ version user(id: 1) { name } }",
    ] {
        let ended = env.mux(["run", "--no-check", "-e", &query(document)]);
        ended.fails(5, &["error[denied]", "denied by the policy \"blog."]);
    }
    let typed = env.mux(["call", "blog.graphql", "query=mutation { vanish }"]);
    typed.fails(5, &["blog.mutation.vanish is denied"]);
    let mut blind = Agent::legacy(&env, &["--agent", "blind"], json!({}));
    let asked = json!({ "path": "blog.graphql", "arguments": { "query": "mutation { vanish }" } });
    let output = blind.call("call", asked).to_string();
    assert!(
        output.contains("not_found") && output.contains("blog.mutation.vanish"),
        "{output}"
    );
    // An unparseable query is not sent.
    env.mux([
        "run",
        "--no-check",
        "-e",
        &query("mutation { deletePost(id: 1)"),
    ])
    .fails(1, &["error[validation]", "is not sent"]);
    assert_eq!((server.heard("deletePost"), server.heard("vanish")), (0, 0));
    env.mux([
        "run",
        "--no-check",
        "-e",
        &query("{ version user(id: 2) { name } }"),
    ])
    .ok();
    let output = env.mux([
        "policy",
        "explain",
        "blog.graphql",
        "query=mutation { vanish }",
    ]);
    let output = format!("{:?}", output.ok());
    assert!(
        output.contains("deny") && output.contains("reaches `blog.mutation.vanish`"),
        "{output}"
    );
    env.stop();
    let list = env
        .mux(["--json", "audit", "--tool", "blog.graphql"])
        .ok()
        .json();
    let entries = list["entries"].as_array().unwrap();
    let vanish = entries
        .iter()
        .find(|entry| entry["reaches"] == json!(["blog.mutation.vanish"]))
        .unwrap();
    assert_eq!(
        (&vanish["decision"], &vanish["by"]),
        (&json!("deny"), &json!("blog.mutation.*"))
    );
}

#[test]
fn approval_of_a_raw_query_covers_only_the_fields_it_reaches() {
    let rules = "[[policy]]\nmatch = \"blog.mutation.*\"\naction = \"ask\"\n\
                 [[policy]]\nmatch = \"blog.*\"\naction = \"allow\"\n";
    let (env, server) = home(&[], rules);
    let rename = "mutation { rename(input: { id: 1, name: \\\"Eve\\\" }) { user { name } } }";
    let mut run = env.begin(["run", "--no-check", "-e", &query(rename)]);
    run.wait_for("waiting for approval A1");
    env.mux(["approve", "A1", "--always"]).ok();
    run.wait().ok();
    env.mux(["run", "--no-check", "-e", &query(rename)]).ok();
    env.mux(["run", "--no-check", "-e", &query("{ version }")])
        .ok();
    let mut run = env.begin(["run", "--no-check", "-e", &query(DROP)]);
    run.wait_for("waiting for approval A2");
    env.mux(["deny", "A2"]).ok();
    run.wait().fails(5, &["denied by the user"]);
    assert_eq!(server.heard("deletePost"), 0);
}

#[test]
fn rule_on_a_function_applies_to_nested_root_types() {
    let rules = "[[policy]]\nmatch = \"blog.query.version\"\naction = \"deny\"\n\
                 [[policy]]\nmatch = \"blog.mutation.*\"\naction = \"allow\"\n\
                 [agents.blind]\nexclude = [\"blog.query.version\"]\npolicy = []\n";
    let (env, server) = home(&["again"], rules);
    let denied = ["denied by the policy \"blog.query.version\""];
    for document in [
        "{ version }",
        "{ query { version } }",
        "{ query { query { ...F } } } fragment F on Query { version }",
    ] {
        let query = format!("query={document}");
        env.mux(["call", "blog.graphql", &query]).fails(5, &denied);
        let output = env.mux(["policy", "explain", "blog.graphql", &query]);
        let output = format!("{:?}", output.ok());
        assert!(output.contains("reaches `blog.query.version`"), "{output}");
    }
    for select in [
        "{ version }",
        "query { version }",
        "{\"query\": {\"version\": true}}",
    ] {
        let select = format!("$select={select}");
        env.mux(["call", "blog.query.query", &select])
            .fails(5, &denied);
    }
    let renaming =
        "return await mux.blog.mutation.rename({ input: { id: 1, name: 'Eve' }, $select: SELECT })";
    for select in ["'{ query { version } }'", "{ query: { version: true } }"] {
        let program = renaming.replace("SELECT", select);
        env.mux(["run", "--no-check", "-e", &program])
            .fails(5, &denied);
    }
    assert_eq!(server.heard("rename("), 0);
    // Default selections do not reach the denied field.
    env.mux(["call", "blog.query.query"]).ok();
    env.mux([
        "run",
        "--no-check",
        "-e",
        &renaming.replace(", $select: SELECT", ""),
    ])
    .ok();
    let mut blind = Agent::legacy(&env, &["--agent", "blind"], json!({}));
    for (path, arguments) in [
        ("blog.graphql", json!({ "query": "{ query { version } }" })),
        ("blog.query.query", json!({ "$select": "{ version }" })),
    ] {
        let asked = json!({ "path": path, "arguments": arguments });
        let output = blind.call("call", asked).to_string();
        assert!(output.contains("not_found"), "{output}");
    }
    assert_eq!(server.heard("version"), 0);
    env.mux(["call", "blog.query.query", "$select={ old }"])
        .ok();
}

#[test]
fn document_with_two_fragments_of_one_name_is_not_sent() {
    let (env, server) = home(&[], "");
    let query = "query={ ...F } fragment F on Query { version } fragment F on Query { old }";
    env.mux(["call", "blog.graphql", query])
        .fails(1, &["error[validation]", "two fragments named `F`"]);
    assert_eq!(server.heard("version"), 0);
}

/// The catalog's view of `query.version`, and how each call of it ends.
const VERSION_OTHERWISE: &[(&str, &str, &str)] = &[
    (
        "[sources.blog.override.\"query.version\"]\nname = \"edition\"\n",
        "[[policy]]\nmatch = \"blog.edition\"\naction = \"deny\"\n",
        "denied",
    ),
    (
        "[sources.blog.override.\"query.version\"]\nannotations = { destructive = true }\n",
        "[[policy]]\nmatch = \"blog.query.*\"\nannotations = { destructive = true }\naction = \"deny\"\n",
        "denied",
    ),
    (
        "[sources.blog.override.\"query.version\"]\nname = \"edition\"\n",
        "[agents.small]\nexclude = [\"blog.edition\"]\npolicy = []\n",
        "not_found",
    ),
    (
        "tools = { exclude = [\"edition\"] }\n[sources.blog.override.\"query.version\"]\nname = \"edition\"\n",
        "",
        "not_found",
    ),
    (
        "[sources.blog.override.\"query.version\"]\nname = \"query.user\"\n",
        "",
        "not_found",
    ),
    (
        "[sources.blog.override.\"query.version\"]\nname = \"edition\"\n",
        "",
        "ok",
    ),
];

#[test]
fn every_way_to_an_overridden_function_ends_like_a_call_of_its_tool() {
    for (entry, rules, expected) in VERSION_OTHERWISE {
        let (env, server) = home(&["again"], &format!("{entry}{rules}"));
        let mut agent = Agent::legacy(&env, &["--agent", "small"], json!({}));
        let mut through =
            Agent::legacy(&env, &["--agent", "small", "--passthrough=blog"], json!({}));
        let named = if entry.contains("edition") {
            "edition"
        } else {
            "query.version"
        };
        let document = json!({ "query": "{ query { version } }" });
        let select = json!({ "$select": "{ version }" });
        let mut ends = Vec::new();
        for (tool, arguments) in [
            (named, json!({})),
            ("graphql", document),
            ("query.query", select),
        ] {
            let path = format!("blog.{tool}");
            let called = agent.call("call", json!({ "path": path, "arguments": arguments }));
            ends.push((format!("call {tool}"), called));
            let code = format!("return await mux.call({path:?}, {arguments})");
            let ran = agent.call("run", json!({ "code": code }));
            ends.push((format!("run {tool}"), ran));
            let step = json!({ "id": "only", "tool": path, "args": arguments });
            let ran = agent.call("run_program", json!({ "steps": [step] }));
            ends.push((format!("run_program {tool}"), ran));
            if through.tools().iter().any(|offered| offered == tool) {
                let called = through.call(tool, arguments);
                ends.push((format!("passthrough {tool}"), called));
            }
        }
        for (way, result) in ends {
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            let end = match result["isError"] == true {
                true if text.contains(expected) => expected,
                // A program of steps is checked before it begins.
                true if text.contains("there is no tool") => "not_found",
                true => text,
                false => "ok",
            };
            assert_eq!(end, *expected, "{way}: {entry}{rules}");
        }
        if *expected != "ok" {
            assert_eq!(server.heard("version"), 0, "{entry}{rules}");
        }
    }
}

#[test]
fn function_that_its_pin_refuses_is_not_reached_by_a_document() {
    let env = mux_tests::TestEnv::new();
    let server = mux_tests::GraphqlServer::start(&env, &["again"]);
    let schema = "schema { query: Query }\ntype Query { \"NOTE\" version: String query: Query! }\n";
    std::fs::write(env.path("blog.graphql"), schema).unwrap();
    let file = env.path("blog.graphql");
    env.write_config(&server.source(&format!("schema = {file:?}\n")));
    env.mux(["call", "blog.query.version"]).ok();
    env.mux(["call", "blog.graphql", "query={ version }"]).ok();
    let heard = server.heard("version");
    std::fs::write(&file, schema.replace("NOTE", "Another one.")).unwrap();
    env.mux(["sources", "refresh", "blog"]).ok();
    for arguments in [
        ["blog.query.version", "{}"],
        ["blog.graphql", "query={ version }"],
        ["blog.query.query", "$select={ version }"],
    ] {
        env.mux(["call", arguments[0], arguments[1]]).fails(
            5,
            &["blog.query.version has changed since you first trusted it"],
        );
    }
    assert_eq!(server.heard("version"), heard);
}
