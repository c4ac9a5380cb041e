//! `mux policy add` and `mux policy test`.

use std::fs;

use mux_tests::TestEnv;
use serde_json::{Value, json};

fn rules(env: &TestEnv) -> Vec<String> {
    let list = env.mux(["policy", "--json"]).ok().json();
    let rules = list["rules"].as_array().unwrap().iter();
    let described = rules.map(|rule| {
        let matches = rule["match"][0].as_str().unwrap();
        format!("{} {matches}", rule["action"].as_str().unwrap())
    });
    described.collect()
}

#[test]
fn rule_is_added_before_the_others_and_those_it_hides_are_named() {
    let env = TestEnv::new();
    let empty = env.fixture("fix", &[]);
    env.write_config(&empty);
    let list = env.mux(["policy"]).ok();
    assert!(list.stderr.contains("mux policy add"), "{list:?}");

    env.mux(["policy", "add", "fix.e*", "ask", "--reason", "why"])
        .ok();
    env.mux([
        "policy",
        "add",
        "fix.add",
        "deny",
        "--when",
        "arguments.a={ over = 3 }",
    ])
    .ok();
    let last = env
        .mux(["policy", "add", "fix.echo", "allow", "--last"])
        .ok();
    assert!(
        last.stderr
            .contains("it is never reached: rule 2 (ask fix.e*)"),
        "{last:?}"
    );
    assert_eq!(
        rules(&env),
        ["deny fix.add", "ask fix.e*", "allow fix.echo"]
    );
    let text = fs::read_to_string(env.dirs.config_file()).unwrap();
    assert!(text.starts_with(&empty), "{text}");
    env.mux(["call", "fix.add", "a=4", "b=1"])
        .fails(5, &["denied"]);
    env.mux(["call", "fix.add", "a=3", "b=1"]).ok();

    let all = env.mux(["policy", "add", "fix.*", "deny"]).ok();
    for hidden in [
        "rule 2 (deny fix.add)",
        "rule 3 (ask fix.e*)",
        "rule 4 (allow fix.echo)",
    ] {
        let told = format!("{hidden} now comes later and is never reached");
        assert!(all.stderr.contains(&told), "{told}: {all:?}");
    }
    let nothing = env
        .mux(["policy", "add", "fixx.add", "deny", "--dry-run"])
        .ok();
    assert!(
        nothing
            .stderr
            .contains("no server or source matches `fixx`"),
        "{nothing:?}"
    );
    assert!(
        nothing.stderr.contains("did you mean `fix`?"),
        "{nothing:?}"
    );
    assert_eq!(rules(&env).len(), 4);
    env.mux(["policy", "add", "fix.add", "dny"])
        .fails(2, &["allow, ask or deny"]);
    env.mux(["policy", "add", "fix.add", "deny", "--when", "agnet=a"])
        .fails(1, &["there is no key `agnet`", "did you mean `agent`?"]);
}

#[test]
fn column_of_conditions_is_shown_only_if_a_rule_has_any() {
    let env = TestEnv::with_config("[[policy]]\nmatch = \"a.*\"\naction = \"deny\"\n");
    let header = || {
        env.mux(["policy"])
            .ok()
            .stdout
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    let columns = |header: String| {
        header
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(columns(header()), ["RULE", "ACTION", "MATCH", "DECIDED"]);
    env.mux(["policy", "add", "b.*", "ask", "--when", "agent=small"])
        .ok();
    assert_eq!(
        columns(header()),
        ["RULE", "ACTION", "MATCH", "AND", "DECIDED"]
    );
}

#[test]
fn policy_test_exits_by_the_decision_and_compares_cases() {
    let env = TestEnv::new();
    let servers = env.fixture("fix", &[]);
    env.write_config(&format!(
        "{servers}[[policy]]\nmatch = \"fix.add\"\narguments = {{ a = {{ over = 100 }} }}\naction = \"deny\"\n\
         [[policy]]\nmatch = \"fix.e*\"\nagent = \"small\"\naction = \"ask\"\n"
    ));
    env.mux(["tools"]).ok();
    env.mux(["policy", "test", "fix.pid"]).ok();
    env.mux(["policy", "test", "fix.add", "a=1", "b=1"]).ok();
    env.mux(["policy", "test", "fix.add", "a=101", "b=1"])
        .fails(5, &["deny  by rule 1"]);
    // Without the arguments it is not certain.
    env.mux(["policy", "test", "fix.add"])
        .fails(5, &["unless a rule before it"]);
    env.mux(["policy", "test", "fix.echo", "--agent", "small"])
        .fails(5, &["ask  by rule 2"]);

    // A file that is not in force.
    let new = env.path("new.toml");
    fs::write(&new, "[[policy]]\nmatch = \"fix.pid\"\naction = \"deny\"\n").unwrap();
    let new = new.to_str().unwrap();
    env.mux(["policy", "test", "fix.pid", "--file", new])
        .fails(5, &["deny  by rule 1"]);
    env.mux(["policy", "test", "fix.add", "a=101", "--file", new])
        .ok();
    env.mux(["call", "fix.pid"]).ok();
    fs::write(new, "[[policy]\n").unwrap();
    env.mux(["policy", "explain", "fix.pid", "--file", new])
        .fails(1, &["not valid TOML", "line 1"]);

    let cases = env.path("cases.toml");
    let right = "[[case]]\ncall = \"fix.add\"\narguments = { a = 101, b = 1 }\nexpect = \"deny\"\n\
                 [[case]]\ncall = \"fix.echo\"\nagent = \"small\"\nexpect = \"ask\"\n";
    fs::write(&cases, right).unwrap();
    let cases = cases.to_str().unwrap();
    let told = env.mux(["policy", "test", cases]).ok();
    assert!(
        told.stdout.contains("2 cases as expected, 0 not"),
        "{told:?}"
    );
    fs::write(
        cases,
        format!("{right}[[case]]\ncall = \"fix.echo\"\nexpect = \"deny\"\n"),
    )
    .unwrap();
    env.mux(["policy", "test", cases]).fails(
        1,
        &[
            "case 3: fix.echo {}: expected deny, but allow by default",
            "2 cases as expected, 1 not",
        ],
    );
    let told: Value = env
        .mux(["policy", "test", cases, "--json"])
        .fails(1, &[])
        .json();
    assert_eq!((&told["ok"], &told["cases"]), (&json!(false), &json!(3)));
    assert_eq!(told["failed"][0]["case"], 3);
    fs::write(cases, "[[case]]\ncall = \"fix.echo\"\nexpct = \"deny\"\n").unwrap();
    env.mux(["policy", "test", cases])
        .fails(1, &["unknown field `expct`"]);
    assert_eq!(
        env.mux(["audit", "--json"])
            .ok()
            .stdout
            .matches("fix.echo")
            .count(),
        0
    );
}
