//! `mux policy add` and `mux policy test`.

use std::fs;

use mux_tests::{TestEnv, mux_snapshot, output_snapshot::bind_filters};
use serde_json::{Value, json};

/// The daemon may have seen the new file before the command asks for it: both answers are the same here.
const SEEN_FIRST: &[(&str, &str)] = &[(
    r"nothing changed \(\d+ servers?\)\nalready active \(loaded [^)]*\): (policy: .*)",
    "$1\nservers: nothing changed",
)];

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
    let _seen_first = bind_filters(SEEN_FIRST);
    let env = TestEnv::new();
    let empty = env.fixture("fix", &[]);
    env.write_config(&empty);
    mux_snapshot!(env.mux(["policy"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    otherwise allow; ask for tools marked as destructive, if a user can answer
    so far 0 calls, 0 of them to destructive tools
    ----- stderr -----
    note: there are no rules; `mux policy add 'SERVER.TOOL' ask` adds one
    ");

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
    mux_snapshot!(env.mux(["policy", "add", "fix.echo", "allow", "--last"]), @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    --- ~/config.toml
    +++ ~/config.toml
    @@ -12,2 +12,6 @@
     action = "ask"
     reason = "why"
    +
    +[[policy]]
    +match = "fix.echo"
    +action = "allow"
    rule 3 is added in ~/config.toml
    policy: 1 rule added (allow fix.echo)
    servers: nothing changed
    ----- stderr -----
    warning: it is never reached: rule 2 (ask fix.e*) applies first; omit --last to put it before that rule
    "#);
    assert_eq!(
        rules(&env),
        ["deny fix.add", "ask fix.e*", "allow fix.echo"]
    );
    let text = fs::read_to_string(env.dirs.config_file()).unwrap();
    assert!(text.starts_with(&empty), "{text}");
    mux_snapshot!(env.mux(["call", "fix.add", "a=4", "b=1"]), @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    ----- stderr -----
    error[denied]: fix.add is denied by the policy "fix.add"
      hint: it is rule 1 of [[policy]] in config.toml; see `mux policy explain fix.add`
    "#);
    env.mux(["call", "fix.add", "a=3", "b=1"]).ok();

    mux_snapshot!(
        env.transcript(&[
            &["policy", "add", "fix.*", "deny"],
            &["policy", "add", "fixx.add", "deny", "--dry-run"],
        ]),
        @r#"
    $ mux policy add fix.* deny
    success: true
    exit_code: 0
    ----- stdout -----
    --- ~/config.toml
    +++ ~/config.toml
    @@ -4,4 +4,8 @@
     
     [[policy]]
    +match = "fix.*"
    +action = "deny"
    +
    +[[policy]]
     match = "fix.add"
     arguments = { a = { over = 3 } }
    rule 1 is added in ~/config.toml
    policy: 1 rule added (deny fix.*)
    servers: nothing changed
    ----- stderr -----
    note: rule 2 (deny fix.add) now comes after it and is never reached
    note: rule 3 (ask fix.e*) now comes after it and is never reached
    note: rule 4 (allow fix.echo) now comes after it and is never reached

    $ mux policy add fixx.add deny --dry-run
    success: true
    exit_code: 0
    ----- stdout -----
    --- ~/config.toml
    +++ ~/config.toml
    @@ -4,4 +4,8 @@
     
     [[policy]]
    +match = "fixx.add"
    +action = "deny"
    +
    +[[policy]]
     match = "fix.*"
     action = "deny"
    ----- stderr -----
    warning: no server or source matches `fixx` now (did you mean `fix`?)
    "#
    );
    assert_eq!(rules(&env).len(), 4);
    mux_snapshot!(env.mux(["policy", "add", "fix.add", "dny"]), @"
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: invalid value 'dny' for '<ACTION>': it must be allow, ask or deny

    For more information, try '--help'.
    ");
    mux_snapshot!(env.mux(["policy", "add", "fix.add", "deny", "--when", "agnet=a"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: there is no key `agnet`
      hint: did you mean `agent`?
    ");
}

#[test]
fn column_of_conditions_is_shown_only_if_a_rule_has_any() {
    let env = TestEnv::with_config("[[policy]]\nmatch = \"a.*\"\naction = \"deny\"\n");
    mux_snapshot!(env.mux(["policy"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    RULE  ACTION  MATCH  DECIDED
    1     deny    a.*    0
    otherwise allow; ask for tools marked as destructive, if a user can answer
    so far 0 calls, 0 of them to destructive tools
    ----- stderr -----
    ");
    env.mux(["policy", "add", "b.*", "ask", "--when", "agent=small"])
        .ok();
    mux_snapshot!(env.mux(["policy"]), @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    RULE  ACTION  MATCH  AND              DECIDED
    1     ask     b.*    agent = "small"  0
    2     deny    a.*                     0
    otherwise allow; ask for tools marked as destructive, if a user can answer
    so far 0 calls, 0 of them to destructive tools
    ----- stderr -----
    "#);
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
    mux_snapshot!(env.mux(["policy", "test", "fix.add", "a=101", "b=1"]), @"
    success: false
    exit_code: 5
    ----- stdout -----
    fix.add  deny  by rule 1
      the tool declares read_only = true
      decides  rule 1  deny fix.add arguments.a = { over = 100 }
               all conditions are met
    ----- stderr -----
    ");
    // Without the arguments it is not certain.
    mux_snapshot!(env.mux(["policy", "test", "fix.add"]), @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    fix.add  allow  by default: no rule matches, unless an earlier rule applies to the arguments
      the tool declares read_only = true
      depends  rule 1  deny fix.add arguments.a = { over = 100 }
               it depends on the arguments
      passes   rule 2  ask fix.e* agent = "small"
               match: it is about "fix.e*"
    ----- stderr -----
    "#);
    mux_snapshot!(env.mux(["policy", "test", "fix.echo", "--agent", "small"]), @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    fix.echo  ask  by rule 2
      the tool declares read_only = true
      passes   rule 1  deny fix.add arguments.a = { over = 100 }
               match: it is about "fix.add"
      decides  rule 2  ask fix.e* agent = "small"
               all conditions are met
    ----- stderr -----
    "#);

    // A file that is not the current configuration.
    let new = env.path("new.toml");
    fs::write(&new, "[[policy]]\nmatch = \"fix.pid\"\naction = \"deny\"\n").unwrap();
    let new = new.to_str().unwrap();
    mux_snapshot!(env.mux(["policy", "test", "fix.pid", "--file", new]), @"
    success: false
    exit_code: 5
    ----- stdout -----
    fix.pid  deny  by rule 1
      the tool declares read_only = true
      decides  rule 1  deny fix.pid
               all conditions are met
    ----- stderr -----
    ");
    env.mux(["policy", "test", "fix.add", "a=101", "--file", new])
        .ok();
    env.mux(["call", "fix.pid"]).ok();
    fs::write(new, "[[policy]\n").unwrap();
    mux_snapshot!(env.mux(["policy", "explain", "fix.pid", "--file", new]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: the file is not valid TOML: line 1, column 10: unclosed array table, expected `]`
    ");

    let cases = env.path("cases.toml");
    let right = "[[case]]\ncall = \"fix.add\"\narguments = { a = 101, b = 1 }\nexpect = \"deny\"\n\
                 [[case]]\ncall = \"fix.echo\"\nagent = \"small\"\nexpect = \"ask\"\n";
    fs::write(&cases, right).unwrap();
    let cases = cases.to_str().unwrap();
    mux_snapshot!(env.mux(["policy", "test", cases]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    [HOME]/cases.toml: 2 cases as expected, 0 not
    ----- stderr -----
    ");
    fs::write(
        cases,
        format!("{right}[[case]]\ncall = \"fix.echo\"\nexpect = \"deny\"\n"),
    )
    .unwrap();
    mux_snapshot!(env.mux(["policy", "test", cases]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    case 3: fix.echo {}: expected deny, but allow by default: no rule matches
    [HOME]/cases.toml: 2 cases as expected, 1 not
    ----- stderr -----
    ");
    let output: Value = env
        .mux(["policy", "test", cases, "--json"])
        .fails(1, &[])
        .json();
    assert_eq!(
        (&output["ok"], &output["cases"]),
        (&json!(false), &json!(3))
    );
    assert_eq!(output["failed"][0]["case"], 3);
    fs::write(cases, "[[case]]\ncall = \"fix.echo\"\nexpct = \"deny\"\n").unwrap();
    mux_snapshot!(env.mux(["policy", "test", cases]), @r#"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: [HOME]/cases.toml: unknown field `expct`, expected one of `call`, `expect`, `arguments`, `agent`, `client`, `workspace`
      hint: a case is [[case]] with call = "SERVER.TOOL" and expect = "allow", "ask" or "deny"
    "#);
    assert_eq!(
        env.mux(["audit", "--json"])
            .ok()
            .stdout
            .matches("fix.echo")
            .count(),
        0
    );
}
