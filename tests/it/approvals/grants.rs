//! Approvals for this session, and lasting grants.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;

use super::Home;

const ONE: &str = "return await mux.fix.counter({ key: 'a' })";
const THREE: &str =
    "let n; for (let i = 0; i < 3; i++) n = await mux.fix.counter({ key: 'a', by: i }); return n";

#[test]
fn lasting_grant_is_stored_listed_and_revocable() {
    let home = Home::new();
    let env = &home.env;
    let run = home.held(ONE, "A1");
    env.mux(["approve", "A1", "--always"]).ok();
    run.wait().ok();
    env.run(THREE).ok();
    let file = env.dirs.state.join("approvals.json");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    env.stop();
    env.run(ONE).ok();
    let granted = env.mux(["--json", "approvals", "--granted"]).ok().json();
    let grant = &granted["granted"][0];
    assert_eq!(
        (&grant["path"], &grant["agent"]),
        (&json!("fix.counter"), &json!(null))
    );
    assert!(
        env.mux(["approvals", "--granted"])
            .ok()
            .stdout
            .contains("fix.counter")
    );
    let name = grant["grant"].as_str().unwrap();
    env.mux(["approvals", "revoke", "nothing"])
        .fails(1, &["no approval `nothing`"]);
    env.mux(["approvals", "revoke", name]).ok();
    let run = home.held(ONE, "A");
    drop(run);
    // An invalid grants file has no effect.
    fs::write(&file, "rubbish").unwrap();
    env.stop();
    env.run("return 1").ok();
    let problems = env.mux(["--json", "status"]).ok().json()["problems"].to_string();
    assert!(problems.contains("approvals.json"), "{problems}");
}
