//! The environment that the user's login shell has, and `sh` for commands.

use std::{borrow::Cow, collections::BTreeMap, ffi::OsString, time::Duration};

use mux_keeper::{SpawnSpec, TreeLimits};

use super::{CapturedEnvironment, Environment, is_variable_name};

/// The variables that every server gets.
pub(super) const PASSED_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];
pub(super) const FALLBACK_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Separates the paths of `PATH`.
pub(super) const PATH_SEPARATOR: char = ':';
/// The variable with the user's home directory.
pub const HOME_VARIABLE: &str = "HOME";
/// How long an interactive shell may take to start. Version managers need seconds.
const INTERACTIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a login shell may take, after an interactive one did not answer.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(5);
/// Encloses the environment in the output of startup files.
const OUTPUT_MARKER: &[u8] = b"\0mux-environment\0";
/// Prints the environment, even if `env` is an alias.
const PRINT_ENVIRONMENT: &str =
    "printf '\\0mux-environment\\0'; /usr/bin/env -0; printf '\\0mux-environment\\0'";
/// Variables that only the shell gets. Startup files that test them, as those of editors ask for, start no terminal
/// multiplexer and no other shell. A terminal type keeps those going that return early in a dumb terminal.
const ASKING_VARIABLES: &[(&str, &str)] = &[
    ("TERM", "xterm"),
    ("VSCODE_RESOLVING_ENVIRONMENT", "1"),
    ("INTELLIJ_ENVIRONMENT_READER", "true"),
    ("MUX_RESOLVING_ENVIRONMENT", "1"),
    ("DISABLE_AUTO_UPDATE", "true"),
];

/// The name under which a variable is known.
pub(super) fn variable_key(name: &str) -> Cow<'_, str> {
    name.into()
}

/// The shell that runs a command.
pub(super) fn shell_command(command: &str) -> (&'static str, Vec<OsString>) {
    ("/bin/sh", ["-c", command].map(OsString::from).into())
}

/// The environment of the user's shell: of an interactive login shell, because most tools that install programs add them
/// to `PATH` in `.bashrc` or `.zshrc`, and of a login shell if that does not answer.
pub(super) async fn capture<F: Future<Output = Result<Vec<u8>, String>>>(
    basis: &Environment,
    run: impl Fn(SpawnSpec, Duration) -> F,
) -> CapturedEnvironment {
    let shell = basis.get("SHELL").unwrap_or("/bin/sh").to_owned();
    let spec = |options: &[&str]| shell_spawn_spec(&shell, options, basis);
    let interactive = run(spec(&["-i", "-l", "-c"]), INTERACTIVE_TIMEOUT).await;
    let problem = match interactive.and_then(|printed| parse_shell_output(&printed)) {
        Ok(found) => {
            return CapturedEnvironment {
                found: Some(found),
                problem: None,
            };
        }
        Err(problem) => problem,
    };
    let login = run(spec(&["-l", "-c"]), LOGIN_TIMEOUT).await;
    match login.and_then(|printed| parse_shell_output(&printed)) {
        Ok(found) => CapturedEnvironment {
            found: Some(found),
            problem: Some(format!(
                "servers may lack variables that your shell sets only if it is interactive: {shell} -i: {problem}"
            )),
        },
        Err(problem) => CapturedEnvironment {
            found: None,
            problem: Some(format!(
                "the environment of your login shell could not be read, and servers get muxd's own: {shell}: {problem}"
            )),
        },
    }
}

fn shell_spawn_spec(shell: &str, options: &[&str], basis: &Environment) -> SpawnSpec {
    let given = basis.passed_to_shell();
    let given = given.iter().chain(ASKING_VARIABLES.iter().copied());
    SpawnSpec {
        program: shell.into(),
        args: options
            .iter()
            .chain([&PRINT_ENVIRONMENT])
            .map(OsString::from)
            .collect(),
        env: given
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        cwd: "/".into(),
        tag: "login-shell".into(),
        limits: TreeLimits::default(),
    }
}

fn parse_shell_output(printed: &[u8]) -> Result<Environment, String> {
    let marked = |text: &[u8]| {
        let mut windows = text.windows(OUTPUT_MARKER.len());
        windows.position(|window| window == OUTPUT_MARKER)
    };
    let enclosed = || {
        let start = marked(printed)? + OUTPUT_MARKER.len();
        let length = marked(&printed[start..])?;
        Some(&printed[start..start + length])
    };
    let found: BTreeMap<String, String> = enclosed()
        .unwrap_or_default()
        .split(|byte| *byte == 0)
        .filter_map(|pair| std::str::from_utf8(pair).ok()?.split_once('='))
        .filter(|pair| is_variable_name(pair.0) && !ASKING_VARIABLES.contains(pair))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    if !found.contains_key("PATH") {
        return Err("it printed no environment".into());
    }
    Ok(Environment::of(found))
}
