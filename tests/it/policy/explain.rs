//! `mux policy`: the rules with their counters, and explanations of decisions.

use mux_tests::TestEnv;
use serde_json::{Value, json};

const RULES: &str = "[[policy]]\nmatch = \"other.*\"\naction = \"deny\"\n\
    [[policy]]\nmatch = \"fix.*\"\nagent = \"small*\"\naction = \"deny\"\n\
    [[policy]]\nmatch = \"fix.add\"\narguments = { a = { over = 100 } }\naction = \"ask\"\nreason = \"much\"\n\
    [[policy]]\nmatch = \"fix.e*\"\nannotations = { read_only = true }\naction = \"allow\"\n\
    [[policy]]\nmatch = \"fix.*\"\naction = \"deny\"\nmach = 3\n";

fn home() -> TestEnv {
    let env = TestEnv::new();
    env.write_config(&format!("{}{RULES}", env.fixture("fix", &[])));
    env
}

fn explained(env: &TestEnv, args: &[&str]) -> Value {
    let all = ["--json", "policy", "explain"].iter().chain(args);
    env.mux(all).ok().json()
}

#[test]
fn policy_explains_which_rule_decides_and_why_the_others_do_not() {
    let env = home();
    env.mux(["tools"]).ok();
    let told = explained(&env, &["fix.echo", "text=x"]);
    assert_eq!(
        (&told["action"], &told["known"]),
        (&json!("allow"), &json!(true))
    );
    assert_eq!(told["rule"]["number"], 4, "{told:#}");
    let outcomes: Vec<&str> = told["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["elsewhere", "unmet", "elsewhere", "decides"]);
    let because = told["steps"][1]["because"].as_str().unwrap();
    assert_eq!(because, "agent: a caller without --agent is not \"small*\"");
    assert_eq!(told["hints"], json!([["read_only", true]]));

    let small = explained(&env, &["fix.echo", "--agent", "small-model"]);
    assert_eq!(
        (&small["action"], &small["rule"]["number"]),
        (&json!("deny"), &json!(2))
    );
    let much = explained(&env, &["fix.add", "a=200", "b=1"]);
    assert_eq!(
        (&much["action"], &much["rule"]["reason"]),
        (&json!("ask"), &json!("much"))
    );
    let few = explained(&env, &["fix.add", "{\"a\": 2, \"b\": 1}"]);
    assert_eq!(few["rule"]["number"], 5);
    let mistake = few["rule"]["mistake"].as_str().unwrap();
    assert!(mistake.contains("did you mean `match`"), "{mistake}");
    let because = few["steps"][2]["because"].as_str().unwrap();
    assert_eq!(because, "arguments.a: 2 is not { over = 100 }");
    let open = explained(&env, &["fix.add"]);
    assert_eq!(
        (&open["depends"], &open["action"]),
        (&json!(true), &json!("deny"))
    );
    let wrong = explained(&env, &["fix.add", "a=x"]);
    assert!(
        wrong["notes"][0]
            .as_str()
            .unwrap()
            .contains("the call would fail"),
        "{wrong}"
    );

    let text = env.mux(["policy", "explain", "fix.echo"]).ok().stdout;
    assert!(text.starts_with("fix.echo  allow  by rule 4"), "{text}");
    assert!(text.contains("passes   rule 2  deny fix.*"), "{text}");
    // Nothing was called, and nothing counted.
    let list = env.mux(["policy", "--json"]).ok().json();
    assert!(
        list["rules"]
            .as_array()
            .unwrap()
            .iter()
            .all(|rule| rule["decided"] == 0)
    );
    env.mux(["call", "fix.echo", "text=x"]).ok();
    env.mux(["call", "fix.pid"])
        .fails(5, &["cannot be understood", "did you mean `match`"]);
    let list = env.mux(["policy", "list"]).ok();
    assert!(
        list.stdout.contains("annotations.read_only = true"),
        "{list:?}"
    );
    assert!(list.stderr.contains("rule 5 is invalid"), "{list:?}");
    let list = env.mux(["policy", "--json"]).ok().json();
    let decided: Vec<&Value> = list["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["decided"])
        .collect();
    assert_eq!(decided, [0, 0, 0, 1, 1]);
    // Saving the file with the same rules keeps the counters.
    env.write_config(&format!("# new\n{}{RULES}", env.fixture("fix", &[])));
    env.mux(["reload"]).ok();
    let list = env.mux(["policy", "--json"]).ok().json();
    assert_eq!(list["rules"][3]["decided"], 1, "{list:#}");
}

#[test]
fn policy_explains_unknown_tools_and_servers() {
    let env = home();
    let told = explained(&env, &["fix.frobnicate"]);
    assert_eq!(told["known"], false);
    assert!(
        told["notes"][0].as_str().unwrap().contains("not known yet"),
        "{told}"
    );
    assert_eq!(env.starts("fix").len(), 0);
    env.mux(["tools"]).ok();
    env.stop();
    // The next daemon remembers the listed tools.
    let told = explained(&env, &["fix.echo"]);
    assert_eq!(
        (&told["known"], &told["rule"]["number"]),
        (&json!(true), &json!(4)),
        "{told:#}"
    );
    assert_eq!(env.starts("fix").len(), 1);
    let told = explained(&env, &["fix.frobnicate"]);
    assert!(
        told["notes"][0]
            .as_str()
            .unwrap()
            .contains("has no tool `frobnicate`"),
        "{told}"
    );
    let told = explained(&env, &["nowhere.x"]);
    assert!(
        told["notes"][0]
            .as_str()
            .unwrap()
            .contains("no server `nowhere`"),
        "{told}"
    );
    let told = explained(&env, &["other.x"]);
    assert_eq!(told["action"], "deny");
    let told = explained(&env, &["fix.resources/read"]);
    assert_eq!(told.get("notes"), None, "{told}");
    env.mux(["policy", "explain", "nonsense"])
        .fails(1, &["not the path of a tool"]);
}
