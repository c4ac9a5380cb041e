//! Server starts that fail, and starts that wait for their turn.

use std::fs;

use mux_tests::TestEnv;

use super::{seen, until_seen};

#[test]
fn repeatedly_failing_server_backs_off_until_it_has_recovered() {
    let env = TestEnv::new();
    let broken = env.path("broken");
    fs::write(&broken, "").unwrap();
    let bad = env.fixture("bad", &["--exit-while", broken.to_str().unwrap()]);
    env.write_config(&format!("{bad}{}", env.fixture("good", &[])));
    for attempt in 1..=5 {
        let error = env.error("return await mux.bad.echo({ text: 'x' })");
        assert_eq!(error["kind"], "unavailable", "{error:#}");
        // The first attempt starts two processes: the failure may have been caused by the probe of the protocol era.
        assert_eq!(env.starts("bad").len(), attempt + 1);
    }
    // From now on calls fail at once, and the server is not started.
    let code = "const begun = Date.now();
        const errors = [];
        for (let n = 0; n < 20; n++) errors.push(await mux.bad.echo({ text: 'x' }).catch((error) => error));
        const good = await mux.good.add({ a: 1, b: 2 });
        return [errors[19].kind, errors[19].message, errors[19].hint, good.sum]";
    let result = env.result(code);
    assert_eq!((&result[0], &result[3]), (&"unavailable".into(), &3.into()));
    let message = result[1].as_str().unwrap();
    for part in [
        "failed 5 times",
        "tried again in",
        "exit code 4",
        "fatal line 11 of 30",
        "fatal line 30 of 30",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!message.contains("fatal line 10 of 30"), "{message}");
    assert!(
        result[2]
            .as_str()
            .unwrap()
            .contains("mux servers restart bad")
    );
    assert_eq!(env.starts("bad").len(), 6);
    let server = seen(&env, "bad");
    assert_eq!(server["state"], "backing_off", "{server:#}");
    assert!(server["retry_in_ms"].as_u64().is_some(), "{server:#}");
    let shown = env.mux(["servers"]).ok().stdout;
    assert!(
        shown.contains("backing off") && shown.contains("tried again in"),
        "{shown}"
    );

    // After the backoff one call starts it, and fails; the next backoff is longer.
    until_seen(&env, "bad", |server| server.get("retry_in_ms").is_none());
    env.error("return await mux.bad.echo({ text: 'x' })");
    assert_eq!(env.starts("bad").len(), 7);
    env.error("return await mux.bad.echo({ text: 'x' })");
    assert_eq!(env.starts("bad").len(), 7);

    // The server has recovered, and the next start succeeds.
    fs::remove_file(&broken).unwrap();
    until_seen(&env, "bad", |server| server.get("retry_in_ms").is_none());
    assert_eq!(
        env.result("return await mux.bad.echo({ text: 'back' })"),
        "back"
    );
    assert_eq!(seen(&env, "bad")["state"], "ready");
}

#[test]
fn restart_resets_the_backoff() {
    let env = TestEnv::new();
    let broken = env.path("broken");
    fs::write(&broken, "").unwrap();
    env.write_config(&env.fixture("bad", &["--exit-while", broken.to_str().unwrap()]));
    for _ in 0..6 {
        env.error("return await mux.bad.echo({ text: 'x' })");
    }
    assert_eq!(env.starts("bad").len(), 6);
    env.mux(["servers", "restart", "bad"])
        .fails(3, &["exit code 4"]);
    assert_eq!(env.starts("bad").len(), 7);
    fs::remove_file(&broken).unwrap();
    env.mux(["servers", "restart", "bad"]).ok();
    assert_eq!(seen(&env, "bad")["state"], "ready");
}

#[test]
fn eager_servers_start_with_the_daemon_within_the_limit_of_starts() {
    let env = TestEnv::new();
    let names: Vec<String> = (0..6).map(|n| format!("s{n}")).collect();
    let mut config = String::from("[limits]\nstarts = 2\n");
    for name in &names {
        let slow = env.fixture(name, &["--slow-start", "600"]);
        config.push_str(&format!("{slow}start = \"eager\"\n"));
    }
    env.write_config(&config);
    env.mux(["reload"]).ok();
    let states = || -> Vec<(String, String)> {
        let servers = env.mux(["--json", "servers"]).ok().json();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let servers = servers.as_array().unwrap();
        servers
            .iter()
            .map(|it| (text(&it["state"]), text(&it["reason"])))
            .collect()
    };
    let mut waited = false;
    loop {
        let all = states();
        let starting = |waits: bool| {
            let is_it = |(state, reason): &&(String, String)| {
                state == "starting" && reason.contains("limits.starts") == waits
            };
            all.iter().filter(is_it).count()
        };
        // The servers are read one after the other: a list that has changed meanwhile proves nothing.
        assert!(starting(false) <= 2 || states() != all, "{all:?}");
        waited |= starting(true) > 0;
        if all.iter().all(|(state, _)| state == "ready") {
            break;
        }
    }
    assert!(waited, "nobody waited for its turn");
    assert!(names.iter().all(|name| env.starts(name).len() == 1));
}

#[test]
fn eager_server_that_ends_is_restarted_and_one_that_crashes_backs_off() {
    let env = TestEnv::new();
    let good = env.fixture("good", &[]);
    let bad = env.fixture("bad", &["--exit-at-start", "3"]);
    env.write_config(&format!(
        "{good}start = \"eager\"\n{bad}start = \"eager\"\n"
    ));
    env.mux(["reload"]).ok();
    until_seen(&env, "good", |server| server["state"] == "ready");
    mux_tests::process::kill(env.starts("good")[0]);
    until_seen(&env, "good", |server| {
        server["starts"] == 2 && server["state"] == "ready"
    });
    until_seen(&env, "bad", |server| server["state"] == "backing_off");
    assert_eq!(env.starts("bad").len(), 6);
}
