//! `mux config`, and settings of agents.

use mux_tests::{Agent, TestEnv, mux_snapshot};
use serde_json::{Value, json};

const FILE: &str = "[limits]\nwall = \"20s\"\n[check]\nmode = \"off\"\n\
    [agents.small]\nexclude = [\"fix.add\"]\nlimits = { calls = 2, console = \"1KiB\" }\npolicy = []\n\
    [[policy]]\nmatch = \"fix.pid\"\naction = \"deny\"\n\
    [servers.web]\nurl = \"https://user:canary-1@example.com/mcp?key=canary-2\"\n\
    headers = { Authorization = \"Bearer canary-3\" }\nenabled = false\n";

fn setting<'a>(shown: &'a Value, name: &str) -> &'a Value {
    let settings = shown["settings"].as_array().unwrap();
    let found = settings.iter().find(|setting| setting["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {shown:#}"))
}

#[test]
fn config_show_lists_effective_values_and_their_origin() {
    let env = TestEnv::new();
    env.write_config(&format!("{FILE}{}", env.fixture("fix", &[])));
    let shown = env.mux(["--json", "config", "show"]).ok().json();
    for (name, value, from, line) in [
        ("limits.wall", json!("20s"), "config", json!(2)),
        ("limits.calls", json!(1000), "default", Value::Null),
        ("check.mode", json!("off"), "config", json!(4)),
        ("exclude", json!([]), "default", Value::Null),
        ("policy", json!(["deny fix.pid"]), "config", json!(9)),
    ] {
        let found = setting(&shown, name);
        assert_eq!(
            (&found["value"], &found["from"]),
            (&value, &json!(from)),
            "{name}"
        );
        assert_eq!(found.get("line").unwrap_or(&Value::Null), &line, "{name}");
    }
    assert_eq!(setting(&shown, "servers.fix")["from"], "config");
    let small = env
        .mux(["--json", "config", "show", "--agent", "small"])
        .ok()
        .json();
    for (name, value, from) in [
        ("limits.wall", json!("20s"), "config"),
        ("limits.calls", json!(2), "agent"),
        ("exclude", json!(["fix.add"]), "agent"),
        ("policy", json!([]), "agent"),
        ("check.mode", json!("off"), "config"),
    ] {
        let found = setting(&small, name);
        assert_eq!(
            (&found["value"], &found["from"]),
            (&value, &json!(from)),
            "{name}"
        );
    }
    let text = env.mux(["config", "show", "--agent", "smal"]).ok();
    mux_snapshot!(text.stderr, @r#"
    note: the file is ~/config.toml
    note: the configuration has no section for the agent "smal": the general settings apply to it
    "#);
    let all = format!("{shown} {small} {}{}", text.stdout, text.stderr);
    assert!(!all.contains("canary-"), "{all}");
    let path = env.mux(["config", "path"]).ok().stdout;
    assert_eq!(path.trim(), env.dirs.config_file().to_str().unwrap());
}

#[test]
fn config_show_prints_a_config_that_gives_the_same_settings() {
    let env = TestEnv::new();
    let rest = "[audit]\nkeep = \"30d\"\n[approvals]\nlog = \"1MiB\"\n";
    env.write_config(&format!("{FILE}{rest}{}", env.fixture("fix", &[])));
    let rows = |agent: &str| {
        let shown = env
            .mux(["--json", "config", "show", "--agent", agent])
            .ok()
            .json();
        let settings = shown["settings"].as_array().unwrap().iter();
        let values = settings.map(|setting| (setting["name"].clone(), setting["value"].clone()));
        // An entry with secrets is a comment.
        values
            .filter(|(name, _)| name != "servers.web")
            .collect::<Vec<_>>()
    };
    let before = (rows("small"), rows("other"));
    let text = env.mux(["config", "show"]).ok().stdout;
    assert!(!text.contains("canary-"), "{text}");
    mux_snapshot!("config_show", text);
    let checked = env.mux_with_input(["config", "check", "-"], text.as_bytes());
    mux_snapshot!(checked, @"
    success: true
    exit_code: 0
    ----- stdout -----
    -: no errors found, 1 server
    ----- stderr -----
    ");
    env.write_config(&text);
    env.mux(["reload"]).ok();
    assert_eq!((rows("small"), rows("other")), before);
}

#[test]
fn config_check_reports_errors_without_applying_the_file() {
    let env = TestEnv::new();
    env.write_config(&env.fixture("fix", &[]));
    env.mux(["config", "check"]).ok();
    let file = env.path("new.toml");
    let run = env.path("ran");
    let text = format!(
        "[limits]\nwall = \"9h\"\n[servers.a]\ncomand = \"x\"\n[servers.b]\ncommand = \"/bin/true\"\nargs = [\"${{cmd:touch {}}}\"]\n\
         [[policy]]\nmatch = \"a\"\naction = \"deny\"\n[[policy]]\nmatch = \"b\"\naction = \"dny\"\n[agents.x]\nexclud = []\n",
        run.display()
    );
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    mux_snapshot!(env.mux(["config", "check", file]), @r#"
    success: false
    exit_code: 1
    ----- stdout -----
    [HOME]/new.toml:2: error: limits.wall = 9h is not between 1s and 5m; the default is used
    [HOME]/new.toml:3: error: [servers.a]: unknown key `comand` (did you mean `command`?)
    [HOME]/new.toml:12: error: [[policy]] rule 2 (match "b"): action "dny" is none of allow, ask, deny; denied
    [HOME]/new.toml:15: error: [agents.x] unknown key `exclud` (did you mean `exclude`?) is ignored
    ----- stderr -----
    "#);
    assert!(!run.exists(), "a command was run");
    std::fs::write(file, "[servers\n").unwrap();
    mux_snapshot!(env.mux(["config", "check", file]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    [HOME]/new.toml:1: error: it is not valid TOML: unclosed table, expected `]`
    ----- stderr -----
    ");
    mux_snapshot!(env.mux(["config", "check", "/nowhere.toml"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: cannot read /nowhere.toml: No such file or directory (os error 2)
      hint: `mux config path` prints the path of config.toml
    ");
    assert_eq!(crate::config::problems(&env), Vec::<String>::new());
}

#[test]
fn config_gives_an_agent_its_own_limits() {
    let env = TestEnv::new();
    env.write_config(&format!("{FILE}{}", env.fixture("fix", &[])));
    let code = "for (let n = 0; n < 4; n++) await mux.fix.echo({ text: 'x' }); return 'done'";
    assert_eq!(env.result(code), "done");
    let mut agent = Agent::legacy(&env, &["--agent", "small"], json!({}));
    let result = agent.call("run", json!({ "code": code }));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("more than 2 tool calls"), "{result}");
    let mut other = Agent::legacy(&env, &["--agent", "big"], json!({}));
    assert_eq!(other.run(code), "done");
}
