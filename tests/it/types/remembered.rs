//! The daemon's knowledge about servers to which it has not connected yet.

use std::fs;

use mux_tests::{TestEnv, env::compiler};
use serde_json::json;

#[test]
fn types_of_servers_that_are_not_connected_are_those_of_their_last_session() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let before = env.mux(["types"]).ok().stdout;
    env.stop();

    // From now on only new processes of the server are counted.
    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    fs::rename(env.path("fix.pids"), env.path("fix.old")).unwrap();
    env.write_config(&config);
    let status = env.mux(["servers", "--json"]).ok().json();
    assert_eq!(status[0]["state"], "cold");
    assert_eq!(status[0]["starts"], 0);
    let known = status[0]["tools"].as_u64().unwrap();
    let keys = env.result("return Object.keys(mux.fix).length");
    assert!(keys.as_u64().unwrap() >= known, "{keys} of {known}");
    assert!(env.starts("fix").is_empty(), "a server was started");

    let list = env.mux(["tools", "--json"]).ok().json();
    assert_eq!(list["total"], known);
    assert_eq!(list["remembered"][0], "fix");
    // The server is asked again in the background, after which the types are the same as before.
    for _ in 0..500 {
        let now = env.mux(["types"]).ok().stdout;
        if now == before {
            return;
        }
        assert!(now.contains("as of its last session"), "{now}");
    }
    panic!("the server was never asked again");
}

#[test]
fn first_program_that_names_a_server_sees_all_its_tools() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "[check]\ntsc = {:?}\n{}{}",
        compiler(),
        env.fixture("fix", &["--slow-start", "300"]),
        env.fixture("other", &["--slow-start", "300"])
    ));
    let keys = "return [Object.keys(mux.fix).includes('echo'), 'echo' in mux.fix, typeof an_other]";
    let seen = env.result(keys);
    assert_eq!(seen, json!([true, true, "undefined"]));
    assert!(
        env.starts("other").is_empty(),
        "a server was started that no word names"
    );
}
