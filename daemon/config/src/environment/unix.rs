//! The environment that the user's login shell has, and `sh` for commands.

use std::{borrow::Cow, collections::BTreeMap, ffi::OsString};

use mux_keeper::SpawnSpec;

use super::{Environment, is_variable_name};

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
/// The variable with the user's home directory.
pub const HOME_VARIABLE: &str = "HOME";
/// Separates the output of profiles from the environment.
const OUTPUT_MARKER: &[u8] = b"\0mux-environment\0";

/// The name under which a variable is known.
pub(super) fn variable_key(name: &str) -> Cow<'_, str> {
    name.into()
}

/// The shell that runs a command.
pub(super) fn shell_command(command: &str) -> (&'static str, Vec<OsString>) {
    ("/bin/sh", ["-c", command].map(OsString::from).into())
}

/// The login shell, and its environment or why it cannot be read.
pub(super) async fn capture(
    basis: &Environment,
    run: impl AsyncFnOnce(SpawnSpec) -> Result<Vec<u8>, String>,
) -> (String, Result<Environment, String>) {
    let shell = basis.get("SHELL").unwrap_or("/bin/sh").to_owned();
    let answer = run(shell_spawn_spec(&shell, basis)).await;
    let found =
        answer.and_then(|text| parse_shell_output(&text).ok_or("it printed no environment".into()));
    (shell, found)
}

fn shell_spawn_spec(shell: &str, basis: &Environment) -> SpawnSpec {
    let program = "printf '\\0mux-environment\\0'; env -0";
    SpawnSpec {
        program: shell.into(),
        args: ["-l", "-c", program].map(OsString::from).into(),
        env: basis
            .passed_to_shell()
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        cwd: "/".into(),
        tag: "login-shell".into(),
        limits: Default::default(),
    }
}

fn parse_shell_output(printed: &[u8]) -> Option<Environment> {
    let start = printed
        .windows(OUTPUT_MARKER.len())
        .position(|window| window == OUTPUT_MARKER)?
        + OUTPUT_MARKER.len();
    let found: BTreeMap<String, String> = printed[start..]
        .split(|byte| *byte == 0)
        .filter_map(|pair| std::str::from_utf8(pair).ok()?.split_once('='))
        .filter(|(name, _)| is_variable_name(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    found.contains_key("PATH").then(|| Environment::of(found))
}
