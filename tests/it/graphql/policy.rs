//! A rule on a function holds for the query that does the same.

use mux_tests::Agent;
use serde_json::json;

use super::home;

const DROP: &str = "mutation { deletePost(id: \\\"p1\\\") }";

fn query(document: &str) -> String {
    format!("return await mux.blog.graphql({{ query: \"{document}\", variables: {{ id: 'p1' }} }})")
}

#[test]
fn a_rule_on_mutations_is_not_gone_around_by_a_query_of_ones_own() {
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
    let told = blind.call("call", asked).to_string();
    assert!(
        told.contains("not_found") && told.contains("blog.mutation.vanish"),
        "{told}"
    );
    // What nobody can read is sent to nobody.
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
    let told = env.mux([
        "policy",
        "explain",
        "blog.graphql",
        "query=mutation { vanish }",
    ]);
    let told = format!("{:?}", told.ok());
    assert!(
        told.contains("deny") && told.contains("reaches `blog.mutation.vanish`"),
        "{told}"
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
fn an_approval_of_a_query_covers_what_it_reaches_and_nothing_else() {
    let rules = "[[policy]]\nmatch = \"blog.mutation.*\"\naction = \"ask\"\n\
                 [[policy]]\nmatch = \"blog.*\"\naction = \"allow\"\n";
    let (env, server) = home(&[], rules);
    let rename = "mutation { rename(input: { id: 1, name: \\\"Eve\\\" }) { user { name } } }";
    let mut run = env.begin(["run", "--no-check", "-e", &query(rename)]);
    run.hear("waiting for approval A1");
    env.mux(["approve", "A1", "--always"]).ok();
    run.wait().ok();
    env.mux(["run", "--no-check", "-e", &query(rename)]).ok();
    env.mux(["run", "--no-check", "-e", &query("{ version }")])
        .ok();
    let mut run = env.begin(["run", "--no-check", "-e", &query(DROP)]);
    run.hear("waiting for approval A2");
    env.mux(["deny", "A2"]).ok();
    run.wait().fails(5, &["denied by the user"]);
    assert_eq!(server.heard("deletePost"), 0);
}
