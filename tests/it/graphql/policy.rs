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
