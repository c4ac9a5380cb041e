//! The environment that servers get: the user's login shell's, and the `env` file beside the
//! configuration. Never that of whichever client happened to start the daemon.
//!
//! Invariant: a server sees a short list of names from here plus what its entry declares; everything
//! else that a login shell exports stays here and serves `${VAR}` and `${cmd:…}` only.

mod command_values;
mod text_references;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::Path,
};

use mux_secrets::Secret;
use tracing::warn;

pub use self::command_values::{CommandOutput, CommandValues};
use self::{
    command_values::CommandValue,
    text_references::{TextPart, parts},
};
pub use self::{
    command_values::{COMMAND_TIMEOUT, MAX_COMMAND_OUTPUT_BYTES},
    text_references::is_secret_name,
};
use mux_keeper::SpawnSpec;

/// What every program may expect to see.
const PASSED_VARIABLES: &[&str] = &[
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
/// What a login shell is given besides, so that entries can ask for it by `${NAME}`: a session sets it and not a profile.
/// No server has it unless its entry says so: whoever reaches an SSH agent can sign with the user's keys.
const SHELL_ONLY_VARIABLES: &[&str] = &["SSH_AUTH_SOCK"];
/// Stands between what a profile prints and what we asked for.
const OUTPUT_MARKER: &[u8] = b"\0mux-environment\0";
const FALLBACK_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Stands for `${workspace}` in what is expanded. No variable holds a NUL.
pub const WORKSPACE_PLACEHOLDER: &str = "\0workspace\0";

/// Names and values.
#[derive(Clone, Default, PartialEq)]
pub struct Environment {
    variables: BTreeMap<String, Secret>,
    /// What the commands of the configuration told.
    commands: BTreeMap<String, CommandValue>,
    /// The named secrets of the user.
    secrets: BTreeMap<String, CommandValue>,
    /// Why the login shell told none.
    untold: Option<String>,
}

impl Environment {
    pub fn of(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self {
            variables: pairs
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect(),
            commands: BTreeMap::new(),
            secrets: BTreeMap::new(),
            untold: None,
        }
    }

    /// What `${keyring:NAME}` stands for from here on: a value each, or why there is none.
    pub fn set_secrets(&mut self, secrets: BTreeMap<String, Result<Secret, String>>) {
        self.secrets = secrets;
    }

    /// Commands count as if each had told something.
    pub fn assume_command_values(&mut self, commands: BTreeSet<String>) {
        let answers = commands
            .into_iter()
            .map(|command| (command, Ok("told".into())));
        self.commands = answers.collect();
    }

    /// The same with another variable.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut more = self.clone();
        more.variables.insert(name.to_owned(), value.into());
        more
    }

    /// The login shell's environment; `basis` (of this process) where there is no shell that answers.
    /// `run` gives what the shell prints.
    pub async fn capture(
        basis: Self,
        run: impl AsyncFnOnce(SpawnSpec) -> Result<Vec<u8>, String>,
    ) -> Self {
        let shell = basis
            .variables
            .get("SHELL")
            .map_or("/bin/sh", Secret::expose)
            .to_owned();
        let answer = run(shell_spawn_spec(&shell, &basis)).await;
        let found = answer.and_then(|text| parse_shell_output(&text).ok_or("it told none".into()));
        found.unwrap_or_else(|problem| {
            warn!(
                shell,
                problem, "no environment of the login shell; using this process's own"
            );
            Self {
                untold: Some(format!("{shell}: {problem}")),
                ..basis.passed_to_shell()
            }
        })
    }

    /// Why it is not that of the login shell.
    pub fn capture_problem(&self) -> Option<&str> {
        self.untold.as_deref()
    }

    /// Adds the lines of the `env` file, `NAME=value` each; they win. Says which lines it left out.
    /// `path` is for that.
    pub fn apply_env_file(&mut self, text: &str, path: &Path) -> Vec<String> {
        let mut problems = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            let line = line.strip_prefix("export ").unwrap_or(line);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match line.split_once('=') {
                Some((name, value)) if is_variable_name(name.trim()) => {
                    self.variables
                        .insert(name.trim().to_owned(), unquote(value.trim()).into());
                }
                // The line is not repeated here: it may be a secret with a typing error.
                _ => problems.push(format!(
                    "{} line {} is not NAME=value",
                    path.display(),
                    index + 1
                )),
            }
        }
        problems
    }

    /// The short list that every server sees.
    pub fn passed_to_servers(&self) -> Self {
        let mut passed: BTreeMap<_, _> = PASSED_VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), self.variables.get(*name)?.clone())))
            .collect();
        passed
            .entry("PATH".into())
            .or_insert_with(|| FALLBACK_PATH.into());
        Self {
            variables: passed,
            ..Self::default()
        }
    }

    /// That list, and what entries may ask for although no profile sets it.
    fn passed_to_shell(&self) -> Self {
        let mut given = self.passed_to_servers();
        for name in SHELL_ONLY_VARIABLES {
            if let Some(value) = self.variables.get(*name) {
                given.variables.insert((*name).to_owned(), value.clone());
            }
        }
        given
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(Secret::expose)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.expose()))
    }

    /// The same where no session is meant.
    pub fn expand_without_workspace(&self, text: &str) -> Result<String, String> {
        match self.expand(text)? {
            text if text.contains(WORKSPACE_PLACEHOLDER) => {
                Err("`${workspace}` has no meaning here".into())
            }
            text => Ok(text),
        }
    }

    /// `${NAME}` replaced by its value, `${cmd:…}` by what the command told, `${keyring:NAME}` by that secret,
    /// `${workspace}` by [`WORKSPACE_PLACEHOLDER`], `$$` by a dollar sign.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        for part in parts(text)? {
            match part {
                TextPart::Plain(plain) => out.push_str(plain),
                reference => out.push_str(self.reference_value(reference)?),
            }
        }
        Ok(out)
    }

    /// What the references of a text stand for, where that may be a secret: everything but what every server
    /// sees anyhow.
    pub fn secrets_of_text<'a>(&'a self, text: &'a str) -> Vec<&'a str> {
        let parts = parts(text).unwrap_or_default().into_iter();
        let hidden = parts.filter(|part| match part {
            TextPart::Plain(_) => false,
            TextPart::Variable { name, .. } => {
                *name != "workspace" && !PASSED_VARIABLES.contains(name)
            }
            TextPart::Command(_) | TextPart::Secret(_) => true,
        });
        hidden
            .filter_map(|part| self.reference_value(part).ok())
            .collect()
    }

    fn reference_value<'a>(&'a self, reference: TextPart<'a>) -> Result<&'a str, String> {
        let (answer, what) = match reference {
            TextPart::Plain(plain) => return Ok(plain),
            TextPart::Variable { name, default } => return self.variable_value(name, default),
            TextPart::Command(command) => (self.commands.get(command), "`${cmd:…}`"),
            TextPart::Secret(name) => (self.secrets.get(name), "`${keyring:…}`"),
        };
        match answer {
            Some(answer) => answer.as_ref().map(Secret::expose).map_err(Clone::clone),
            None => Err(format!(
                "{what} may stand in args, env, url, headers and the client's id and secret of oauth, and in the \
                 values of a source, and nowhere else"
            )),
        }
    }

    fn variable_value<'a>(
        &'a self,
        name: &str,
        default: Option<&'a str>,
    ) -> Result<&'a str, String> {
        let found = self.variables.get(name).map(Secret::expose);
        // A project's is its root; anybody else's is that of a session.
        let found = found.or((name == "workspace").then_some(WORKSPACE_PLACEHOLDER));
        match default {
            // As a shell has it: an empty one is none.
            Some(default) => Ok(found.filter(|value| !value.is_empty()).unwrap_or(default)),
            None => found.ok_or_else(|| {
                format!(
                    "the variable {name} is not set; set it in the `env` file beside config.toml"
                )
            }),
        }
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Any value may be a secret.
        let names: Vec<&String> = self.variables.keys().collect();
        f.debug_tuple("Environment").field(&names).finish()
    }
}

/// The commands that a text names. One that cannot be taken apart has none, and says why when it is
/// expanded.
pub fn commands_in(text: &str) -> BTreeSet<String> {
    let parts = parts(text).unwrap_or_default().into_iter();
    parts
        .filter_map(|part| match part {
            TextPart::Command(command) => Some(command.to_owned()),
            _ => None,
        })
        .collect()
}

/// The same of secrets.
pub fn secrets_in(text: &str) -> BTreeSet<String> {
    let parts = parts(text).unwrap_or_default().into_iter();
    parts
        .filter_map(|part| match part {
            TextPart::Secret(name) => Some(name.to_owned()),
            _ => None,
        })
        .collect()
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

fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn unquote(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = value
            .strip_prefix(quote)
            .and_then(|v| v.strip_suffix(quote))
        {
            return inner;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Environment {
        Environment::of(
            pairs
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned())),
        )
    }

    #[test]
    fn variables_expand_and_missing_ones_are_named() {
        let env = env(&[("A", "1"), ("B_2", "two")]);
        assert_eq!(env.expand("x${A}y${B_2}").unwrap(), "x1ytwo");
        assert_eq!(env.expand("$$HOME $5 $").unwrap(), "$HOME $5 $");
        assert!(env.expand("${C}").unwrap_err().contains("variable C"));
        assert!(env.expand("${A").unwrap_err().contains("without"));
        assert_eq!(env.expand("${A:-x}${C:-y}${C:-}").unwrap(), "1y");
        assert!(env.expand("${cmd:x}").unwrap_err().contains("headers"));
    }

    #[test]
    fn secrets_expand_are_named_when_they_are_missing_and_are_never_shown() {
        let mut env = env(&[("HOME", "/home/me"), ("TOKEN", "t0ken")]);
        assert!(env.expand("${keyring:K}").unwrap_err().contains("headers"));
        env.set_secrets(BTreeMap::from([
            ("K".into(), Ok("k3y".into())),
            ("GONE".into(), Err("the secret GONE is not set".into())),
        ]));
        assert_eq!(env.expand("Bearer ${keyring:K}").unwrap(), "Bearer k3y");
        let missing = env.expand("${keyring:GONE}").unwrap_err();
        assert!(missing.contains("GONE is not set"), "{missing}");
        assert_eq!(
            env.secrets_of_text("${HOME}/x ${TOKEN} ${keyring:K} ${keyring:GONE} ${NO:-d}"),
            ["t0ken", "k3y", "d"]
        );
        let shown = format!("{env:?}");
        assert!(shown.contains("TOKEN") && !shown.contains("t0ken") && !shown.contains("k3y"));
        assert_eq!(secrets_in("${keyring:A}${B}${keyring:C}").len(), 2);
    }

    #[test]
    fn the_env_file_wins_and_its_bad_lines_are_counted_but_not_shown() {
        let text = "# keys\nexport A=\"new\"\nB = 'b c'\ns3cret\n";
        let mut env = env(&[("A", "old")]);
        let problems = env.apply_env_file(text, Path::new("env"));
        assert_eq!(env.expand("${A} ${B}").unwrap(), "new b c");
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains("line 4") && !problems[0].contains("s3cret"));
    }

    async fn output(spec: SpawnSpec) -> Result<Vec<u8>, String> {
        let mut command = std::process::Command::new(spec.program);
        command.args(spec.args).env_clear().envs(spec.env);
        Ok(command.output().unwrap().stdout)
    }

    #[tokio::test]
    async fn the_login_shell_is_asked_and_a_broken_one_is_survived() {
        let basis = env(&[
            ("SHELL", "/bin/sh"),
            ("PATH", "/usr/bin:/bin"),
            ("SECRET", "x"),
        ]);
        let found = Environment::capture(basis, output).await;
        assert!(found.iter().any(|(name, _)| name == "PATH"));
        assert!(
            !found.iter().any(|(name, _)| name == "SECRET"),
            "nothing leaks through the shell"
        );
        let broken = env(&[("SHELL", "/bin/false"), ("PATH", "/bin"), ("SECRET", "x")]);
        let found = Environment::capture(broken, output).await;
        assert_eq!(found.iter().collect::<Vec<_>>()[0], ("PATH", "/bin"));
    }

    #[tokio::test]
    async fn an_ssh_agent_is_there_for_entries_that_ask_and_passed_to_nobody() {
        for shell in ["/bin/sh", "/bin/false"] {
            let basis = env(&[
                ("SHELL", shell),
                ("PATH", "/usr/bin:/bin"),
                ("SSH_AUTH_SOCK", "/a"),
            ]);
            let found = Environment::capture(basis, output).await;
            assert_eq!(found.expand("${SSH_AUTH_SOCK}").unwrap(), "/a", "{shell}");
            assert_eq!(
                found.passed_to_servers().get("SSH_AUTH_SOCK"),
                None,
                "{shell}"
            );
        }
    }
}
