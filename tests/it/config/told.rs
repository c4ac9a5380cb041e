//! `${cmd:…}`: values that commands print.

use std::{fmt::Write as _, fs};

use mux_tests::{Output, TestEnv, mux_snapshot};

use super::{names, server, until};

const SECRET: &str = "canary-5f0c93a1";

/// A command that prints a secret and records how often it was run.
fn vault(env: &TestEnv) -> String {
    let count = env.path("asked");
    let secret = env.path("secret");
    fs::write(&secret, format!("{SECRET}\n")).unwrap();
    format!(
        "echo x >> {}; awk '{{ print $1 }}' < {}",
        count.display(),
        secret.display()
    )
}

fn asked(env: &TestEnv) -> usize {
    let text = fs::read_to_string(env.path("asked")).unwrap_or_default();
    text.lines().count()
}

fn entry(env: &TestEnv, name: &str, command: &str) -> String {
    let fixture = env.fixture(name, &[]);
    format!("{fixture}env = {{ TOKEN = \"${{cmd:{command}}}\" }}\n")
}

fn shows_no_secret(outputs: &[Output]) {
    for output in outputs {
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(!all.contains("canary"), "{output:#?}");
    }
}

#[test]
fn config_command_values_are_evaluated_once() {
    let env = TestEnv::new();
    let command = vault(&env);
    let both = entry(&env, "one", &command) + &entry(&env, "two", &command);
    env.write_config(&both);
    let token = |server: &str| {
        let output = env.mux(["call", &format!("{server}.env"), "name=TOKEN"]);
        output.ok().stdout.trim().to_owned()
    };
    assert_eq!((token("one"), token("two")), (SECRET.into(), SECRET.into()));
    assert_eq!(asked(&env), 1, "the same text is one command");
    // Saving the file again does not run the command again.
    env.write_config(&(both.clone() + &env.fixture("more", &[])));
    until("more", || names(&env), |names| names.len() == 3);
    assert_eq!(asked(&env), 1);
    shows_no_secret(&[
        env.mux(["servers"]),
        env.mux(["servers", "--json"]),
        env.mux(["status", "--json"]),
        env.mux(["doctor", "--json"]),
    ]);
    // A reload runs the command again and gets the changed secret.
    fs::write(env.path("secret"), "canary-other").unwrap();
    let report = env.mux(["reload", "--json"]).ok();
    shows_no_secret(std::slice::from_ref(&report));
    let report = report.json();
    assert_eq!(report["reasons"]["one"][0], "env.TOKEN");
    assert_eq!(report["earlier"]["report"]["added"][0], "more");
    assert_eq!((asked(&env), token("one")), (2, "canary-other".into()));
    env.stop();
    assert!(!env.log().contains("canary"));
}

#[test]
fn config_failing_commands_break_only_their_entry_and_are_shown_by_first_word() {
    let env = TestEnv::new();
    let commands = [
        ("fails", "cat /no/such/file canary"),
        ("talks", "echo canary; exit 3"),
        ("silent", "true canary"),
        ("floods", "yes canary"),
        ("open", "echo {"),
    ];
    let bad: String = commands
        .iter()
        .map(|(name, command)| entry(&env, name, command))
        .collect();
    let more = format!(
        "{}cwd = \"${{cmd:pwd}}\"\n{}",
        env.fixture("misplaced", &[]),
        env.fixture("good", &[])
    );
    env.write_config(&(bad + &more));
    env.mux(["call", "good.pid"]).ok();
    let mut reasons = String::new();
    for name in ["fails", "talks", "silent", "floods", "open", "misplaced"] {
        let info = server(&env, name);
        assert_eq!(info["state"], "broken", "{info:#}");
        _ = writeln!(reasons, "{name}: {}", info["reason"].as_str().unwrap());
    }
    assert!(!reasons.contains("canary"), "{reasons}");
    mux_snapshot!(reasons, @"
    fails: `${cmd:cat …}` failed: exit code 1
    talks: `${cmd:echo …}` failed: exit code 3
    silent: `${cmd:true …}` failed: its output is empty
    floods: `${cmd:yes …}` failed: it printed more than 65536 bytes
    open: `${cmd:` without its `}`; braces inside the command must be in pairs
    misplaced: cwd: `${cmd:…}` is only allowed in args, env, url, headers, the client id and secret of oauth, and the values of a source
    ");
    env.stop();
    let log = env.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("canary")).collect();
    assert_eq!(lines, Vec::<&str>::new());
}

#[test]
fn config_commands_get_user_variables_and_leave_no_processes() {
    let env = TestEnv::new();
    fs::write(env.dirs.env_file(), "VAULT=open\n").unwrap();
    let pid = env.path("pid");
    // The process that it leaves behind would keep its output open.
    let command = format!(
        "sleep 600 & echo $! > {}; printf %s ${{VAULT}}-${{HOME}}",
        pid.display()
    );
    env.write_config(&entry(&env, "fix", &command));
    let token = env.mux(["call", "fix.env", "name=TOKEN"]).ok().stdout;
    assert_eq!(token.trim(), format!("open-{}", env.home().display()));
    let pid: i32 = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let limit = std::time::Duration::from_secs(30);
    assert!(
        mux_tests::process::wait_for_end(pid, limit),
        "{pid} was left"
    );
}
