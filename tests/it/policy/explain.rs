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
fn policy_explain_and_list_show_the_rules() {
    let env = home();
    env.mux(["tools"]).ok();
    let output = explained(&env, &["fix.echo", "--agent", "small-model"]);
    assert_eq!(
        (&output["action"], &output["rule"]["number"]),
        (&json!("deny"), &json!(2))
    );
    let much = explained(&env, &["fix.add", "a=200", "b=1"]);
    assert_eq!(much["rule"]["reason"], "much");
    let few = explained(&env, &["fix.add", "{\"a\": 2, \"b\": 1}"]);
    assert_eq!(few["rule"]["number"], 5);
    let text = env.mux(["policy", "explain", "fix.echo"]).ok().stdout;
    assert!(text.starts_with("fix.echo  allow  by rule 4"), "{text}");
    assert!(text.contains("passes   rule 2  deny fix.*"), "{text}");
    let sampling = env.mux(["policy", "explain", "other.sampling/createMessage"]);
    assert!(
        sampling.ok().stdout.contains("only if a rule allows it"),
        "the default for sampling is told"
    );
    env.mux(["call", "fix.pid"])
        .fails(5, &["cannot be understood", "did you mean `match`"]);
    let list = env.mux(["policy", "list"]).ok();
    assert!(
        list.stdout.contains("annotations.read_only = true"),
        "{list:?}"
    );
    assert!(list.stderr.contains("rule 5 is invalid"), "{list:?}");
}
