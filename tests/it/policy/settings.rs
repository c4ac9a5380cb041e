//! `mux config`, and settings of agents.

use mux_tests::{Agent, TestEnv};
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
    assert!(
        text.stderr.contains("has no section for the agent"),
        "{text:?}"
    );
    assert!(text.stdout.contains("config.toml:2"), "{text:?}");
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
    for part in [
        "[limits]\nwall = \"20s\"",
        "keep = \"30d\"",
        "# config.toml:2\n",
        "# default\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        text.contains("# [servers.web] has secrets, which are not shown"),
        "{text}"
    );
    let checked = env
        .mux_with_input(["config", "check", "-"], text.as_bytes())
        .ok();
    assert!(checked.stdout.contains("no errors found"), "{checked:?}");
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
    let told = env.mux(["config", "check", file]);
    for part in [
        "new.toml:2: error: limits.wall = 9h is not between",
        "new.toml:3: error: [servers.a]: unknown key `comand`",
        "new.toml:12: error: [[policy]] rule 2",
        "error: [agents.x] unknown key `exclud`",
    ] {
        assert!(told.stdout.contains(part), "{part}: {told:?}");
    }
    assert_eq!(told.code, 1);
    assert!(!run.exists(), "a command was run");
    std::fs::write(file, "[servers\n").unwrap();
    env.mux(["config", "check", file])
        .fails(1, &["new.toml:", "error: it is not valid TOML"]);
    env.mux(["config", "check", "/nowhere.toml"])
        .fails(1, &["cannot read /nowhere.toml"]);
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
