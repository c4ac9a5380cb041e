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
        for command in &commands {
            assert!(
                script.stdout.contains(command.as_str()),
                "{command} for {shell}"
            );
        }
        if matches!(shell, "bash" | "zsh" | "fish") {
            parses(shell, &script.stdout);
        }
    }
    complains(env.mux(["completions", "tcsh"]), 2, &["tcsh", "bash"]);
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
