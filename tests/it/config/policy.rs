//! Rules and exclusions apply however a tool is called.

use mux_tests::{TestEnv, mux_snapshot};
use serde_json::json;

/// Every way to write a call of `my-server.get-thing` in a program.
const WAYS: &[&str] = &[
    "mux.my_server.get_thing({ id: 'x' })",
    "mux['my-server']['get-thing']({ id: 'x' })",
    "mux['my-server'].get_thing({ id: 'x' })",
    "mux['my-server.get-thing']({ id: 'x' })",
    "mux.call('my-server.get-thing', { id: 'x' })",
    "mux.call('my_server.get_thing', { id: 'x' })",
    "mux.call.raw('my-server.get-thing', { id: 'x' })",
    // A denied call is denied before its arguments are validated.
    "mux.my_server.get_thing({ wrong: 1 })",
    "mux.my_server.get_thing()",
];

#[test]
fn config_policy_denies_a_tool_however_it_is_spelled() {
    let env = TestEnv::new();
    let log = env.path("calls");
    let server = env.fixture("my-server", &["--call-log", log.to_str().unwrap()]);
    let rule = |action: &str| {
        format!("{server}[[policy]]\nmatch = \"my-server.get-*\"\naction = {action:?}\n")
    };
    env.write_config(&rule("deny"));
    for way in WAYS {
        let error = env.error(&format!("return await {way}"));
        assert_eq!(error["kind"], "denied", "{way}: {error:#}");
        assert_eq!(error["path"], "my-server.get-thing", "{way}: {error:#}");
        assert_eq!(error["recoverable"], false, "{way}: {error:#}");
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("\"my-server.get-*\""),
            "{error:#}"
        );
    }
    for path in ["my-server.get-thing", "my_server.get_thing"] {
        env.mux(["call", path, "id=x"])
            .fails(5, &["error[denied]", "my_server.get_thing is denied"]);
        env.mux(["call", "--raw", path, "id=x"])
            .fails(5, &["error[denied]"]);
    }
    // A program can catch the error and continue with allowed calls.
    let code = "const no = await mux.my_server.get_thing({ id: 'x' }).catch((e) => e.kind);\n\
                return [no, await mux.my_server.echo({ text: 'yes' })]";
    assert_eq!(env.result(code), json!(["denied", "yes"]));
    let sent = std::fs::read_to_string(&log).unwrap();
    assert!(
        !sent.contains("get-thing") && sent.contains("echo"),
        "{sent}"
    );

    // Allowing it requires a reload, but no restart.
    env.write_config(&rule("allow"));
    env.mux(["reload"]).ok();
    for way in &WAYS[..WAYS.len() - 2] {
        env.result(&format!("return await {way}"));
    }
    assert_eq!(env.starts("my-server").len(), 1);
}

#[test]
fn config_policy_allows_a_tool_as_programs_spell_it_unless_two_tools_are_spelled_alike() {
    let env = TestEnv::new();
    let servers = [
        env.fixture("my-server", &[]),
        env.fixture("fix", &["--collide"]),
    ];
    env.write_config(&format!(
        "{}\
         [[policy]]\nmatch = [\"my_server.get_*\", \"fix.a_b\"]\naction = \"allow\"\n\
         [[policy]]\nmatch = \"*\"\naction = \"deny\"\n",
        servers.concat()
    ));
    for way in &WAYS[..WAYS.len() - 2] {
        env.result(&format!("return await {way}"));
    }
    env.mux(["call", "my-server.get-thing", "id=x"]).ok();
    env.mux(["call", "my-server.echo", "text=x"]).fails(5, &[]);
    // `a-b` is also written `a_b`, but that names the other tool.
    env.mux(["call", "fix.a_b"]).ok();
    mux_snapshot!(env.mux(["call", "fix.a-b"]), @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    ----- stderr -----
    error[denied]: fix.a_b is denied by the policy "*"
      hint: it is rule 2 of [[policy]] in config.toml; see `mux policy explain fix.a_b`
    "#);
    let explained = env
        .mux(["--json", "policy", "explain", "my_server.get_thing"])
        .ok()
        .json();
    assert_eq!(explained["action"], "allow", "{explained:#}");
    assert_eq!(explained["path"], "my-server.get-thing", "{explained:#}");
}

#[test]
fn config_excluded_tools_do_not_exist_for_any_client() {
    let env = TestEnv::new();
    let tools = "tools = { exclude = [\"echo*\", \"get-thing\"] }\n";
    env.write_config(&format!(
        "{}{tools}{}",
        env.fixture("fix", &[]),
        env.fixture("open", &[])
    ));
    for call in [
        "mux.fix.echo({ text: 'x' })",
        "mux['fix.echo']({ text: 'x' })",
        "mux.fix.get_thing({ id: 'x' })",
        "mux.call.raw('fix.get-thing', { id: 'x' })",
    ] {
        let error = env.error(&format!("return await {call}"));
        assert_eq!(error["kind"], "not_found", "{call}: {error:#}");
        // Hints do not reveal the tool either.
        assert!(
            !error["hint"].to_string().contains("fix.echo"),
            "{call}: {error:#}"
        );
    }
    mux_snapshot!(env.mux(["call", "fix.echo", "text=x"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no tool `fix.echo`
      hint: see `mux tools --server fix`
    ");
    mux_snapshot!(env.mux(["types", "fix.echo"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no tool `fix.echo`
      hint: see `mux tools --server fix`
    ");
    let names = env.result("return Object.keys(mux.fix).filter((name) => /echo|thing/.test(name))");
    assert_eq!(names, json!([]));
    let found = env.mux(["tools", "echo", "--json"]).ok().json();
    let servers: Vec<_> = found["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| &t["server"])
        .collect();
    assert_eq!(servers, ["open", "open"]);
    let types = env.mux(["types", "fix"]).ok();
    assert!(
        !types.stdout.contains("echo") && types.stdout.contains("add("),
        "{types:#?}"
    );
    env.mux(["call", "open.echo", "text=x"]).ok();
}
