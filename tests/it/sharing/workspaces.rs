//! `${workspace}` in the entry of a process.

use serde_json::json;

use super::{Client, seen, workspace};
use mux_tests::TestEnv;

#[tokio::test(flavor = "multi_thread")]
async fn entry_with_the_workspace_variable_has_a_process_per_workspace() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!(
        "{fix}cwd = \"${{workspace}}\"\nenv = {{ HERE = \"<${{workspace}}>\" }}\n"
    ));
    let a = workspace(&env, "a");
    let b = workspace(&env, "b");
    let in_a = Client::at(&env, Some(a.clone())).await;
    let in_b = Client::at(&env, Some(b.clone())).await;
    assert_eq!(in_a.call("fix.cwd").await, json!(a));
    assert_eq!(in_b.call("fix.cwd").await, json!(b));
    assert_ne!(in_a.pid("fix").await, in_b.pid("fix").await);
    let here = "return await mux.fix.env({ name: 'HERE' })";
    assert_eq!(in_a.run(here).await, json!(format!("<{}>", a.display())));
    // There is one tool list, and `mux servers` shows why there are several sessions.
    let server = seen(&env, "fix");
    assert_eq!(server["share_reason"], "its entry uses ${workspace}");
    assert_eq!(server["sessions"].as_array().unwrap().len(), 2);
    let shown = env.mux(["servers"]).ok().stdout;
    assert!(shown.contains("one session per workspace"), "{shown}");
    assert!(shown.contains(a.to_str().unwrap()), "{shown}");
    let nowhere = Client::at(&env, None).await;
    let error = nowhere.try_call("fix.cwd").await.unwrap_err();
    assert_eq!(error.kind, mux_proto::Kind::Unavailable);
    assert!(error.hint.unwrap().contains("--workspace"));
}
