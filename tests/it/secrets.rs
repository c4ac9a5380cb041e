//! Secrets that entries name as `${keyring:NAME}`: set, used, missing, removed.

use std::{fs, os::unix::fs::PermissionsExt as _};

use mux_tests::TestEnv;
use serde_json::{Value, json};

const SECRET: &str = "s3cret-of-mine";

fn entry(env: &TestEnv, server: &str, secret: &str) -> String {
    let fixture = env.fixture(server, &[]);
    format!("{fixture}env = {{ TOKEN = \"<${{keyring:{secret}}}>\" }}\n")
}

fn set(env: &TestEnv, name: &str, value: &str) -> mux_tests::Output {
    env.mux_with_input(["secrets", "set", name], value.as_bytes())
}

fn token(env: &TestEnv, server: &str) -> String {
    let output = env.mux(["call", &format!("{server}.env"), "name=TOKEN"]);
    output.ok().stdout.trim().to_owned()
}

fn state(env: &TestEnv, server: &str) -> Value {
    let servers = env.mux(["--json", "servers"]).ok().json();
    let all = servers.as_array().unwrap().iter();
    all.clone()
        .find(|info| info["name"] == server)
        .unwrap()
        .clone()
}

fn secrets(env: &TestEnv) -> Vec<Value> {
    let list = env.mux(["--json", "secrets"]).ok().json();
    list["secrets"].as_array().unwrap().clone()
}

#[test]
fn setting_a_missing_secret_repairs_only_the_entries_that_use_it() {
    let env = TestEnv::new();
    env.write_config(
        &(entry(&env, "one", "ONE") + &entry(&env, "two", "TWO") + &env.fixture("free", &[])),
    );
    env.mux(["call", "free.pid"]).ok();
    let broken = state(&env, "one");
    assert_eq!(broken["state"], "broken", "{broken:#}");
    let fix = "mux secrets set ONE";
    assert!(
        broken["reason"].as_str().unwrap().contains(fix),
        "{broken:#}"
    );
    env.mux(["status"]).fails(0, &[fix]);
    env.mux(["doctor"]).fails(1, &[fix, "mux secrets set TWO"]);
    env.mux(["call", "one.pid"]).fails(3, &[fix]);

    let said = set(&env, "ONE", &format!("{SECRET}\n")).ok();
    assert!(
        said.stdout.contains("servers.one") && !format!("{said:?}").contains(SECRET),
        "{said:?}"
    );
    assert_eq!(token(&env, "one"), format!("<{SECRET}>"));
    assert_eq!(state(&env, "two")["state"], "broken");
    set(&env, "TWO", "other-secret").ok();
    assert_eq!(token(&env, "two"), "<other-secret>");

    // Only a server whose secret has another value is restarted.
    set(&env, "TWO", "third-secret").ok();
    assert_eq!(token(&env, "two"), "<third-secret>");
    set(&env, "TWO", "third-secret").ok();
    env.mux(["call", "one.pid"]).ok();
    env.mux(["call", "two.pid"]).ok();
    let starts = |name: &str| env.starts(name).len();
    assert_eq!((starts("one"), starts("two"), starts("free")), (1, 2, 1));

    // Secrets outlive the daemon, in a file that only the user can read.
    env.stop();
    assert_eq!(token(&env, "one"), format!("<{SECRET}>"));
    let store = fs::metadata(env.dirs.credentials()).unwrap();
    assert_eq!(store.permissions().mode() & 0o777, 0o600);

    let said = env.mux(["secrets", "remove", "ONE"]).ok();
    assert!(said.stderr.contains("servers.one"), "{said:?}");
    assert_eq!(state(&env, "one")["state"], "broken");
    env.mux(["secrets", "remove", "ONE"])
        .fails(1, &["no secret ONE"]);
    assert_eq!(token(&env, "two"), "<third-secret>");
    assert!(!env.log().contains(SECRET));
}

#[test]
fn secrets_are_listed_with_their_place_and_the_entries_that_use_them() {
    let env = TestEnv::new();
    let off = entry(&env, "off", "ONE") + "enabled = false\n";
    env.write_config(&(entry(&env, "one", "ONE") + &off + &entry(&env, "two", "NONE")));
    set(&env, "ONE", SECRET).ok();
    set(&env, "SPARE", SECRET).ok();
    let list = secrets(&env);
    let short = |info: &Value| json!([info["name"], info["place"], info["used_by"]]);
    assert_eq!(
        list.iter().map(short).collect::<Vec<_>>(),
        [
            json!(["NONE", null, ["servers.two"]]),
            json!(["ONE", "file", ["servers.off", "servers.one"]]),
            json!(["SPARE", "file", []]),
        ]
    );
    let shown = env.mux(["secrets"]).ok();
    for part in ["missing", "file", "nothing", "servers.off, servers.one"] {
        assert!(shown.stdout.contains(part), "{shown:?}");
    }
    assert!(shown.stderr.contains("mux secrets set NONE"), "{shown:?}");
    assert!(!format!("{shown:?}").contains(SECRET));
}

#[test]
fn invalid_secret_is_refused_and_its_value_not_shown() {
    let env = TestEnv::with_config("");
    for (name, value, part) in [
        ("2ND", "some-value", "is not a valid secret name"),
        ("a b", "some-value", "is not a valid secret name"),
        ("EMPTY", "\n", "is empty"),
        ("NUL", "some-value\0", "NUL"),
        ("LONG", &"some-value".repeat(8000), "80000 bytes"),
    ] {
        let refused = set(&env, name, value).fails(1, &[part]);
        assert!(
            !format!("{refused:?}").contains("some-value"),
            "{refused:?}"
        );
    }
    // A line end inside the value is kept.
    env.write_config(&entry(&env, "key", "PEM"));
    set(&env, "PEM", "line one\nline two\n").ok();
    assert_eq!(token(&env, "key"), "<line one\nline two>");
    // The value may not be an argument.
    env.mux(["secrets", "set", "NAME", "value"])
        .fails(2, &["unexpected"]);
}

#[test]
fn without_a_keyring_the_file_is_used_and_doctor_reports_it() {
    let env = TestEnv::with_config("[daemon]\nkeyring = \"auto\"\n");
    set(&env, "ONE", SECRET).ok();
    let list = env.mux(["--json", "secrets"]).ok().json();
    if list["keyring"] == true {
        // A machine with a keyring keeps the secret there.
        assert_eq!(list["secrets"][0]["place"], "keyring");
        env.mux(["secrets", "remove", "ONE"]).ok();
        return;
    }
    assert_eq!(list["secrets"][0]["place"], "file");
    assert!(list["note"].is_string(), "{list:#}");
    env.mux(["doctor"])
        .fails(0, &["tokens and secrets are kept in a file"]);
    env.mux(["secrets"]).fails(0, &["the keyring is not used"]);
}

#[test]
fn unreadable_store_is_reported_for_the_entries_that_need_it() {
    let env = TestEnv::new();
    env.write_config(&entry(&env, "one", "ONE"));
    set(&env, "ONE", SECRET).ok();
    env.stop();
    let store = env.dirs.credentials();
    fs::set_permissions(&store, fs::Permissions::from_mode(0o644)).unwrap();
    env.mux(["call", "one.pid"]).fails(3, &["chmod 600"]);
    env.mux(["doctor"]).fails(1, &["chmod 600"]);
    fs::set_permissions(&store, fs::Permissions::from_mode(0o600)).unwrap();
    env.mux(["reload"]).ok();
    assert_eq!(token(&env, "one"), format!("<{SECRET}>"));
}

#[test]
fn config_check_accepts_stored_secrets_and_names_missing_ones() {
    let env = TestEnv::new();
    let config = entry(&env, "one", "ONE");
    env.write_config(&config);
    env.mux(["config", "check"])
        .fails(1, &["mux secrets set ONE"]);
    set(&env, "ONE", "kept").ok();
    env.mux(["config", "check"]).ok();
}
