//! Help, examples, completions, and usage errors.

use std::io::Write;

use mux_tests::{TestEnv, env::output};

use super::complains;

#[test]
fn commands_help_has_an_example_for_every_command() {
    let env = TestEnv::new();
    for command in commands(&env, &[]) {
        let words = [command.as_str()];
        shows_an_example(&env, &words);
        for inner in commands(&env, &words) {
            shows_an_example(&env, &[&command, &inner]);
        }
    }
    shows_an_example(&env, &[]);
}

#[test]
fn commands_completions_name_every_command_in_every_shell() {
    let env = TestEnv::new();
    let commands = commands(&env, &[]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = env.mux(["completions", shell]).ok();
        assert!(script.stdout.contains("MUX_COMPLETE"), "{script:#?}");
        let offered = completed(&env, shell, &[""]);
        for command in &commands {
            assert!(offered.contains(command), "{command} for {shell}");
        }
        if matches!(shell, "bash" | "zsh" | "fish") {
            parses(shell, &script.stdout);
        }
    }
    complains(env.mux(["completions", "tcsh"]), 2, &["tcsh", "bash"]);
    assert_eq!(env.daemon(), None);
}

#[test]
fn completion_offers_servers_tools_arguments_runs_and_approvals() {
    let env = TestEnv::new();
    let rule = "[[policy]]\nmatch = \"my-fix.counter\"\naction = \"ask\"\n";
    let fixtures = [env.fixture("my-fix", &[]), env.fixture("other", &[])];
    env.write_config(&format!("{}{rule}", fixtures.concat()));
    let offers = |words: &[&str]| completed(&env, "fish", words);
    // Without a daemon: the names of the configuration, and no daemon is started.
    assert_eq!(offers(&["servers", "restart", "m"]), ["my-fix"]);
    assert!(offers(&["call", "my_fix.a"]).is_empty());
    assert!(offers(&["runs", "show", ""]).is_empty());
    assert_eq!(env.daemon(), None);

    env.mux(["tools", "--server", "my-fix"]).ok();
    let mut held = env.begin([
        "run",
        "--no-check",
        "-e",
        "await mux.my_fix.counter({ key: 'a' })",
    ]);
    held.hear("waiting for approval A1");
    for (words, expected) in [
        (&["call", "my_fix.get_"][..], &["my_fix.get_thing"][..]),
        (&["call", "my_fix.add", ""], &["a=", "b="]),
        (&["call", "my_fix.add", "a=1", "b"], &["b="]),
        (&["approve", ""], &["A1"]),
        (&["runs", "cancel", ""], &["1"]),
        (&["servers", "logs", "o"], &["other"]),
    ] {
        // Under load the daemon may not answer within the time that completion waits.
        let answered = (0..100).any(|_| offers(words) == expected);
        assert!(answered, "{words:?} {:?}", offers(words));
    }
    held.signal(nix::sys::signal::Signal::SIGINT);
    held.wait().fails(130, &[]);
    assert!(env.starts("other").is_empty(), "no server is started");

    // The tools of the last list are known without a daemon.
    env.stop();
    assert_eq!(offers(&["call", "my_fix.get_"]), ["my_fix.get_thing"]);
    assert_eq!(offers(&["call", "my_fix.add", ""]), ["a=", "b="]);
    assert_eq!(env.daemon(), None);
}

#[test]
fn unknown_commands_are_usage_errors_with_a_suggestion() {
    let env = TestEnv::new();
    complains(
        env.mux(["toools"]),
        2,
        &["unrecognized subcommand 'toools'", "'tools'"],
    );
    complains(env.mux(["servers", "restrt"]), 2, &["'restart'"]);
    complains(
        env.mux(["run", "--inptu", "1"]),
        2,
        &["'--inptu'", "'--input'"],
    );
    complains(env.mux::<&str>([]), 2, &["Usage: mux", "Commands:"]);
    assert_eq!(env.daemon(), None);
}

/// The candidates for the last word, without options.
fn completed(env: &TestEnv, shell: &str, words: &[&str]) -> Vec<String> {
    let mut command = env.command("mux");
    command
        .env("MUX_COMPLETE", shell)
        // Of the shells that say which word is completed.
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .args(["--", "mux"])
        .args(words);
    let offered = output(&mut command).ok().stdout;
    let words = offered
        .lines()
        .filter_map(|line| line.split(['\t', ':']).next());
    words
        .filter(|word| !word.starts_with('-'))
        .map(str::to_owned)
        .collect()
}

/// The commands that the help lists, without `help` itself.
fn commands(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let help = env.mux(words.iter().chain(&["--help"])).ok().stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        // A long description continues on a line that is indented further.
        .filter_map(|line| {
            line.strip_prefix("  ")
                .filter(|line| !line.starts_with(' '))
        })
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|name| name != "help")
        .collect()
}

fn shows_an_example(env: &TestEnv, words: &[&str]) {
    let output = env.mux(words.iter().chain(&["--help"])).ok();
    let example = output.stdout.split("Example").nth(1).unwrap_or_default();
    let command = ["mux", &words.join(" ")].join(" ");
    assert!(
        example.contains(command.trim_end()),
        "{words:?} {output:#?}"
    );
    assert_eq!(output.stderr, "");
}

/// Lets the shell parse the script, if it is installed.
fn parses(shell: &str, script: &str) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(script.as_bytes()).unwrap();
    let mut command = std::process::Command::new(shell);
    command.arg("-n").arg(file.path());
    if command.output().is_ok() {
        output(&mut command).ok();
    }
}
