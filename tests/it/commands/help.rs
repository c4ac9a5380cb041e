//! Help, examples, completions, and usage errors.

use std::io::Write;

use mux_tests::{TestEnv, env::output, mux_snapshot};

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
    mux_snapshot!(env.mux(["completions", "tcsh"]), @"
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

      tip: a similar value exists: 'zsh'

    For more information, try '--help'.
    ");
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
    held.wait_for("waiting for approval A1");
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
    mux_snapshot!(
        env.transcript(&[
            &["toools"],
            &["servers", "restrt", "files"],
            &["run", "--inptu", "1"],
            &["help", "toools"],
        ]),
        @"
    $ mux toools
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: unrecognized subcommand 'toools'

      tip: a similar subcommand exists: 'tools'

    Usage: mux [OPTIONS] [COMMAND]

    For more information, try '--help'.

    $ mux servers restrt files
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: unrecognized subcommand 'restrt'

      tip: a similar subcommand exists: 'restart'

    Usage: mux servers [OPTIONS] [COMMAND]

    For more information, try '--help'.

    $ mux run --inptu 1
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: unexpected argument '--inptu' found

      tip: a similar argument exists: '--input'

    Usage: mux run --input <INPUT> [FILE]

    For more information, try '--help'.

    $ mux help toools
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: unrecognized subcommand 'toools'

      tip: a similar subcommand exists: 'tools'

    Usage: mux [OPTIONS] [COMMAND]

    For more information, try '--help'.
    "
    );
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

#[test]
fn unknown_commands_are_suggested_by_their_meaning() {
    let env = TestEnv::new();
    mux_snapshot!(
        env.transcript(&[
            &["kill", "12"],
            &["exec", "x.ts"],
            &["dashboard"],
            &["servers", "rm", "files"],
            &["call", "a.b", "--path", "x"],
            &["update"],
            &["upgrade"],
        ]),
        @"
    $ mux kill 12
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: unrecognized subcommand 'kill'

      tip: did you mean `mux runs cancel` or `mux stop`?

    Usage: mux [OPTIONS] [COMMAND]

    For more information, try '--help'.

    $ mux exec x.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: unrecognized subcommand 'exec'

      tip: did you mean `mux run -e CODE`?

    Usage: mux [OPTIONS] [COMMAND]

    For more information, try '--help'.

    $ mux dashboard
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: unrecognized subcommand 'dashboard'

      tip: did you mean `mux top` or `mux ui`?

    Usage: mux [OPTIONS] [COMMAND]

    For more information, try '--help'.

    $ mux servers rm files
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: unrecognized subcommand 'rm'

      tip: did you mean `mux servers remove`?

    Usage: mux servers [OPTIONS] [COMMAND]

    For more information, try '--help'.

    $ mux call a.b --path x
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: unexpected argument '--path' found

      tip: tool arguments have no dashes: `path=VALUE`

    Usage: mux call <PATH> [ARGUMENT]...

    For more information, try '--help'.

    $ mux update
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: unrecognized subcommand 'update'

      tip: update mux the way it was installed, then run `mux restart --upgrade`

    Usage: mux [OPTIONS] [COMMAND]

    For more information, try '--help'.

    $ mux upgrade
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: unrecognized subcommand 'upgrade'

      tip: update mux the way it was installed, then run `mux restart --upgrade`

    Usage: mux [OPTIONS] [COMMAND]

    For more information, try '--help'.
    "
    );
}

#[test]
fn mux_alone_prints_the_help_and_the_first_step() {
    let env = TestEnv::new();
    let help = env.mux(["--help"]).ok();
    mux_snapshot!(help, @"
    success: true
    exit_code: 0
    ----- stdout -----
    Call the tools of all your MCP servers, one by one or with one typed program.
    Usage: mux [OPTIONS] COMMAND

    Get started:  init, import, install, doctor, ui
    Run:          run, call, check, program, replay
    Inspect:      tools, types, resources, prompts, runs, logs, top, audit
    Servers:      servers, sources, secrets, project, config
    Rules:        policy, approvals, approve, deny, resume
    Daemon:       status, stop, restart

    Examples:
      mux tools read file                      search the tools of all servers
      mux call files.list_directory path=/srv  call one of them
      mux run -e 'return Object.keys(mux)'     run a TypeScript program

    Options:
      --json         Print one JSON document
      -q, --quiet    Print only results and errors
      -v, --verbose  Print more; can be repeated
      --color WHEN   auto, always or never
      -V, --version  Print the version

    `mux COMMAND --help` explains a command; `mux help --all` lists them all.
    ----- stderr -----
    ");
    assert_eq!(env.mux(["help"]).ok().stdout, help.stdout);
    let alone = env.mux::<&str>([]).ok();
    let first_step = alone.stdout.strip_prefix(&help.stdout).unwrap();
    mux_snapshot!(first_step, @"Nothing is configured yet. Start with `mux init`, or add a server with `mux servers add`.");
    assert_eq!(alone.stderr, "");
    // An invalid file also counts as a configuration.
    for config in ["[servers.a]\ncommand = \"a\"\n", "[servers"] {
        env.write_config(config);
        assert_eq!(env.mux::<&str>([]).ok().stdout, help.stdout);
    }
    assert_eq!(env.daemon(), None);
}

#[test]
fn mux_help_explains_a_command_and_lists_all() {
    let env = TestEnv::new();
    let add = env.mux(["servers", "add", "--help"]).ok().stdout;
    for words in [&["help", "servers", "add"], &["servers", "help", "add"]] {
        assert_eq!(env.mux(words).ok().stdout, add);
    }
    let listed = commands(&env, &[]);
    for command in ["metrics", "service", "completions", "run"] {
        assert!(listed.iter().any(|name| name == command), "{listed:?}");
    }
}

#[test]
fn short_names_of_commands_are_hidden_and_work() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    for (short, long) in [
        (&["ls"][..], &["tools"][..]),
        (&["search", "echo"], &["tools", "echo"]),
        (&["ps"], &["runs", "--running"]),
        (&["version"], &["--version"]),
        (&["login", "fix"], &["servers", "login", "fix"]),
    ] {
        let short = env.mux(short);
        let long = env.mux(long);
        assert_eq!(short.code, long.code, "{short:#?}");
        assert_eq!((short.stdout, short.stderr), (long.stdout, long.stderr));
    }
    env.mux(["add", "more", "--dry-run", "--", "cat"]).ok();
    let listed = commands(&env, &[]);
    for short in ["ls", "search", "ps", "version", "login", "add"] {
        assert!(!listed.iter().any(|name| name == short), "{listed:?}");
    }
}

/// The commands that the help lists, without `help` itself.
fn commands(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let help = match words {
        [] => env.mux(["help", "--all"]).ok().stdout,
        words => env.mux(words.iter().chain(&["--help"])).ok().stdout,
    };
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
