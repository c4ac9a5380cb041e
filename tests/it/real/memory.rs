//! State in a server outlives the program that created it, because the session does.

use mux_tests::TestEnv;
use serde_json::{Value, json};

use super::{console, memory, run, server_info, thinking};

#[test]
fn real_graph_built_in_one_run_is_queried_in_another_on_the_same_session() {
    let env = TestEnv::new();
    env.write_config(&memory(&env));
    assert_eq!(run(&env, "graph_build", &Value::Null)["result"], 4);
    let built = server_info(&env, "memory");

    let found = run(&env, "graph_query", &Value::Null);
    assert_eq!(
        found["result"],
        json!({
            "people": ["Ada", "Grace", "Linus"],
            "compiler": ["Ada", "Grace"],
            "kernelNeeds": ["Ada", "Grace"],
            "whoFoundAMoth": ["Grace"],
            "opened": ["kernel is a project"],
        })
    );
    let queried = server_info(&env, "memory");
    assert_eq!(queried["starts"], 1, "{queried:#}");
    assert_eq!(queried["pid"], built["pid"], "{queried:#}");
    assert!(
        queried["calls"].as_u64() > built["calls"].as_u64(),
        "{queried:#}"
    );
}

#[test]
fn real_thoughts_are_remembered_by_the_server_across_runs() {
    let env = TestEnv::with_config(&thinking());
    let first = run(&env, "thoughts", &Value::Null);
    assert_eq!(first["result"], json!([1, 2, 3]));
    assert_eq!(
        console(&first),
        [
            "thought 1 of 3, more",
            "thought 2 of 3, more",
            "thought 3 of 3, done",
        ]
    );
    // The history is that of this one session.
    assert_eq!(
        run(&env, "thoughts", &Value::Null)["result"],
        json!([4, 5, 6])
    );
    assert_eq!(server_info(&env, "thinking")["starts"], 1);
}
