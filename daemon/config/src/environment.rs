//! The environment of servers: that of the user's interactive login shell, or on Windows of the user's profile, and the
//! `env` file next to the configuration, never that of the client that started the daemon.
//!
//! Invariant: a server gets a short list of these variables and the variables that its entry declares. All other
//! variables that the shell exports are only used for `${VAR}` and `${cmd:…}`.

mod command_values;
mod text_references;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, is_separator},
    time::Duration,
};

use mux_secrets::Secret;
use tracing::warn;

pub use self::command_values::{CommandOutput, CommandValues};
pub use self::system::HOME_VARIABLE;
use self::system::{FALLBACK_PATH, PASSED_VARIABLES};
use self::{
    command_values::CommandValue,
    text_references::{TextPart, parts},
};
pub use self::{
    command_values::{COMMAND_TIMEOUT, MAX_COMMAND_OUTPUT_BYTES},
    text_references::is_secret_name,
};
use crate::EntryError;
use mux_keeper::SpawnSpec;

/// The variables that the login shell gets in addition, because entries may refer to them and a session sets them, not
/// a profile. A server gets them only through its entry, because access to an SSH agent allows signing with the user's
/// keys.
const SHELL_ONLY_VARIABLES: &[&str] = &["SSH_AUTH_SOCK"];

/// The replacement of `${workspace}` in an expanded value. No variable contains a NUL.
pub const WORKSPACE_PLACEHOLDER: &str = "\0workspace\0";

/// Environment variables, and the values of commands and named secrets.
#[derive(Clone, Default, PartialEq)]
pub struct Environment {
    variables: BTreeMap<String, Secret>,
    /// The values of the commands in the configuration.
    commands: BTreeMap<String, CommandValue>,
    /// The named secrets of the user.
    secrets: BTreeMap<String, Result<Secret, EntryError>>,
    /// Why this is not the environment of an interactive login shell.
    capture_problem: Option<String>,
}

/// The answer of the user's shell or profile.
struct CapturedEnvironment {
    /// `None` if the environment is unknown.
    found: Option<Environment>,
    problem: Option<String>,
}

impl Environment {
    pub fn of(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self {
            variables: pairs
                .into_iter()
                .map(|(name, value)| (system::variable_key(&name).into_owned(), value.into()))
                .collect(),
            commands: BTreeMap::new(),
            secrets: BTreeMap::new(),
            capture_problem: None,
        }
    }

    /// Sets the values of `${keyring:NAME}`: each a secret, or why there is none.
    pub fn set_secrets(&mut self, secrets: BTreeMap<String, Result<Secret, EntryError>>) {
        self.secrets = secrets;
    }

    /// Gives each command a placeholder value, which lets references to it expand.
    pub fn assume_command_values(&mut self, commands: BTreeSet<String>) {
        let answers = commands
            .into_iter()
            .map(|command| (command, Ok("placeholder".into())));
        self.commands = answers.collect();
    }

    /// A copy with one more variable.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut more = self.clone();
        let name = system::variable_key(name).into_owned();
        more.variables.insert(name, value.into());
        more
    }

    /// Reads the environment of an interactive login shell, or on Windows that of the user's profile. Falls back to
    /// `basis`, that of this process, if this fails. `run` runs a shell for a limited time, and returns its output.
    pub async fn capture<F: Future<Output = Result<Vec<u8>, String>>>(
        basis: Self,
        run: impl Fn(SpawnSpec, Duration) -> F,
    ) -> Self {
        let captured = system::capture(&basis, run).await;
        if let Some(problem) = &captured.problem {
            warn!("{problem}");
        }
        Self {
            capture_problem: captured.problem,
            ..captured.found.unwrap_or_else(|| basis.passed_to_shell())
        }
    }

    /// Why this is not the environment of an interactive login shell, or `None` if it is.
    pub fn capture_problem(&self) -> Option<&str> {
        self.capture_problem.as_deref()
    }

    /// Adds the lines of the `env` file, each `NAME=value`. They take precedence. Returns messages about invalid lines,
    /// which name `path`.
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
                    let name = system::variable_key(name.trim()).into_owned();
                    self.variables.insert(name, unquote(value.trim()).into());
                }
                // The line itself is not shown: it may be a secret with a typo.
                _ => problems.push(format!(
                    "{} line {} is not NAME=value",
                    path.display(),
                    index + 1
                )),
            }
        }
        problems
    }

    /// The variables that every server gets.
    #[must_use]
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

    /// The variables that the login shell gets: those of servers, and [`SHELL_ONLY_VARIABLES`].
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
        let name = system::variable_key(name);
        self.variables.get(&*name).map(Secret::expose)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.expose()))
    }

    /// Like [`Self::expand`], but `${workspace}` is an error.
    pub fn expand_without_workspace(&self, text: &str) -> Result<String, EntryError> {
        refuse_workspace(self.expand(text)?)
    }

    /// Like [`Self::expand_path`], but `${workspace}` is an error.
    pub fn expand_path_without_workspace(&self, text: &str) -> Result<String, EntryError> {
        refuse_workspace(self.expand_path(text)?)
    }

    /// Expands references: `${NAME}` to its value, `${cmd:…}` to the command's output, `${keyring:NAME}` to the secret,
    /// `${workspace}` to [`WORKSPACE_PLACEHOLDER`], `$$` to a dollar sign.
    pub fn expand(&self, text: &str) -> Result<String, EntryError> {
        let mut out = String::with_capacity(text.len());
        for part in parts(text)? {
            match part {
                TextPart::Plain(plain) => out.push_str(plain),
                reference => out.push_str(self.reference_value(reference)?),
            }
        }
        Ok(out)
    }

    /// Like [`Self::expand`], for a path: a leading `~` is the user's home directory.
    pub fn expand_path(&self, text: &str) -> Result<String, EntryError> {
        match text.strip_prefix('~') {
            Some(rest) if !rest.is_empty() && !rest.starts_with(is_separator) => {
                Err(format!("{text:?} must be ~/ and a path").into())
            }
            _ => self.expand_word(text),
        }
    }

    /// Like [`Self::expand`], for a word of a command line: as in a shell, a leading `~/` is the user's home directory.
    pub fn expand_word(&self, text: &str) -> Result<String, EntryError> {
        match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with(is_separator) => {
                Ok(self.user_home()?.to_owned() + &self.expand(rest)?)
            }
            _ => self.expand(text),
        }
    }

    /// Like [`Self::expand_word`], for the value of a variable. In a list of paths, as in `PATH`, each path may begin with
    /// `~/`.
    pub fn expand_variable(&self, name: &str, text: &str) -> Result<String, EntryError> {
        let value = self.expand_word(text)?;
        let later = format!("{}~/", system::PATH_SEPARATOR);
        if !name.to_ascii_uppercase().ends_with("PATH") || !value.contains(&later) {
            return Ok(value);
        }
        let home = format!("{}{}/", system::PATH_SEPARATOR, self.user_home()?);
        Ok(value.replace(&later, &home))
    }

    fn user_home(&self) -> Result<&str, EntryError> {
        self.get(HOME_VARIABLE)
            .ok_or_else(|| EntryError::UnsetVariable(HOME_VARIABLE.to_owned()))
    }

    /// The values of the references in a string that may be secrets: all except the variables that every server gets.
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

    fn reference_value<'a>(&'a self, reference: TextPart<'a>) -> Result<&'a str, EntryError> {
        let (answer, what) = match reference {
            TextPart::Plain(plain) => return Ok(plain),
            TextPart::Variable { name, default } => return self.variable_value(name, default),
            TextPart::Command(command) => (self.commands.get(command), "`${cmd:…}`"),
            TextPart::Secret(name) => (self.secrets.get(name), "`${keyring:…}`"),
        };
        match answer {
            Some(answer) => answer.as_ref().map(Secret::expose).map_err(Clone::clone),
            None => Err(EntryError::Invalid(format!(
                "{what} is only allowed in args, env, url, headers, the client id and secret of oauth, and the \
                 values of a source"
            ))),
        }
    }

    fn variable_value<'a>(
        &'a self,
        name: &str,
        default: Option<&'a str>,
    ) -> Result<&'a str, EntryError> {
        let found = self.get(name);
        // In a project's file `workspace` is a variable with the root as its value. Otherwise each session has its own.
        let found = found.or((name == "workspace").then_some(WORKSPACE_PLACEHOLDER));
        match default {
            // As in a shell, an empty value counts as unset.
            Some(default) => Ok(found.filter(|value| !value.is_empty()).unwrap_or(default)),
            None => found.ok_or_else(|| EntryError::UnsetVariable(name.to_owned())),
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

/// The commands in a string. Empty if the string is invalid, which [`Environment::expand`] reports.
pub fn commands_in(text: &str) -> BTreeSet<String> {
    references_in(text, |part| match part {
        TextPart::Command(command) => Some(command),
        _ => None,
    })
}

/// The literal parts of a string: its plain parts, the defaults of variables, and commands. The whole string if it is
/// invalid.
pub fn literals_in(text: &str) -> Vec<&str> {
    let Ok(parts) = parts(text) else {
        return vec![text];
    };
    let literals = parts.into_iter().filter_map(|part| match part {
        TextPart::Plain(literal) | TextPart::Command(literal) => Some(literal),
        TextPart::Variable { default, .. } => default,
        TextPart::Secret(_) => None,
    });
    literals.collect()
}

/// The named secrets in a string. Empty if the string is invalid, which [`Environment::expand`] reports.
pub fn secrets_in(text: &str) -> BTreeSet<String> {
    references_in(text, |part| match part {
        TextPart::Secret(name) => Some(name),
        _ => None,
    })
}

fn references_in<'a>(
    text: &'a str,
    reference: impl Fn(TextPart<'a>) -> Option<&'a str>,
) -> BTreeSet<String> {
    let parts = parts(text).unwrap_or_default().into_iter();
    parts.filter_map(reference).map(str::to_owned).collect()
}

fn refuse_workspace(expanded: String) -> Result<String, EntryError> {
    if expanded.contains(WORKSPACE_PLACEHOLDER) {
        return Err("`${workspace}` has no meaning here".into());
    }
    Ok(expanded)
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

#[cfg(all(test, unix))]
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
    fn variables_expand_and_missing_ones_are_errors() {
        let env = env(&[("A", "1"), ("B_2", "two")]);
        assert_eq!(env.expand("x${A}y${B_2}").unwrap(), "x1ytwo");
        assert_eq!(env.expand("$$HOME $5 $").unwrap(), "$HOME $5 $");
        assert_eq!(
            env.expand("${C}"),
            Err(EntryError::UnsetVariable("C".into()))
        );
        let problem = |text: &str| env.expand(text).unwrap_err().to_string();
        assert!(problem("${A").contains("without"));
        assert_eq!(env.expand("${A:-x}${C:-y}${C:-}").unwrap(), "1y");
        assert!(problem("${cmd:x}").contains("headers"));
    }

    #[test]
    fn leading_tilde_is_the_home_directory() {
        let env = env(&[("HOME", "/home/${me}"), ("A", "~/a")]);
        for (text, expected) in [
            ("~", "/home/${me}"),
            ("~/b/$$x", "/home/${me}/b/$x"),
            ("${A}", "~/a"),
            ("${NONE:-~/a}", "~/a"),
            ("a~/b", "a~/b"),
            ("--dir=~/b", "--dir=~/b"),
        ] {
            assert_eq!(env.expand_word(text).unwrap(), expected);
            assert_eq!(env.expand_path(text).unwrap(), expected);
        }
        assert_eq!(env.expand_word("~other/b").unwrap(), "~other/b");
        let error = env.expand_path("~other/b").unwrap_err();
        assert_eq!(error.to_string(), "\"~other/b\" must be ~/ and a path");
        let path = env.expand_variable("PATH", "~/bin:/bin:~/x").unwrap();
        assert_eq!(path, "/home/${me}/bin:/bin:/home/${me}/x");
        assert_eq!(env.expand_variable("NOTE", "see:~/x").unwrap(), "see:~/x");
        let homeless = Environment::default();
        assert!(homeless.expand_word("~/x").is_err());
        assert_eq!(homeless.expand_word("x").unwrap(), "x");
    }

    #[test]
    fn secrets_expand_and_are_never_shown() {
        let mut env = env(&[("HOME", "/home/me"), ("TOKEN", "t0ken")]);
        let unknown = env.expand("${keyring:K}").unwrap_err().to_string();
        assert!(unknown.contains("headers"), "{unknown}");
        env.set_secrets(BTreeMap::from([
            ("K".into(), Ok("k3y".into())),
            ("GONE".into(), Err(EntryError::UnsetSecret("GONE".into()))),
        ]));
        assert_eq!(env.expand("Bearer ${keyring:K}").unwrap(), "Bearer k3y");
        assert_eq!(
            env.expand("${keyring:GONE}"),
            Err(EntryError::UnsetSecret("GONE".into()))
        );
        assert_eq!(
            env.secrets_of_text("${HOME}/x ${TOKEN} ${keyring:K} ${keyring:GONE} ${NO:-d}"),
            ["t0ken", "k3y", "d"]
        );
        let shown = format!("{env:?}");
        assert!(shown.contains("TOKEN") && !shown.contains("t0ken") && !shown.contains("k3y"));
        assert_eq!(secrets_in("${keyring:A}${B}${keyring:C}").len(), 2);
    }

    #[test]
    fn env_file_takes_precedence_and_invalid_lines_are_reported_by_number() {
        let text = "# keys\nexport A=\"new\"\nB = 'b c'\ns3cret\n";
        let mut env = env(&[("A", "old")]);
        let problems = env.apply_env_file(text, Path::new("env"));
        assert_eq!(env.expand("${A} ${B}").unwrap(), "new b c");
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains("line 4") && !problems[0].contains("s3cret"));
    }

    async fn output(spec: SpawnSpec, _within: Duration) -> Result<Vec<u8>, String> {
        let mut command = std::process::Command::new(spec.program);
        command.args(spec.args).env_clear().envs(spec.env);
        command.stdin(std::process::Stdio::null());
        Ok(command.output().unwrap().stdout)
    }

    /// The environment of bash with these startup files.
    async fn environment_of(bashrc: &str) -> Environment {
        let home = tempfile::tempdir().unwrap();
        let write = |name, text| std::fs::write(home.path().join(name), text).unwrap();
        write(".bash_profile", "export LOGIN=1\n. ~/.bashrc\n");
        let guard = "case $- in *i*) ;; *) return ;; esac\n";
        write(".bashrc", &format!("{guard}{bashrc}"));
        let basis = env(&[
            ("SHELL", "/bin/bash"),
            ("PATH", "/usr/bin:/bin"),
            ("HOME", home.path().to_str().unwrap()),
        ]);
        Environment::capture(basis, output).await
    }

    #[tokio::test]
    async fn variables_of_interactive_startup_files_are_read_whatever_those_print() {
        let found = environment_of(
            "export PATH=/nvm/bin:$PATH TOKEN='two\nlines'\necho 'LOGIN=banner'; printf 'X=1\\0Y=2\\0'\n\
             alias env='echo no'\nread -r answer; trap 'echo BYE=1' EXIT\n[ -t 0 ] && exec sleep 1000\n",
        );
        let found = found.await;
        assert!(
            found.get("PATH").unwrap().starts_with("/nvm/bin:"),
            "{found:?}"
        );
        assert_eq!(found.get("TOKEN"), Some("two\nlines"));
        assert_eq!(found.get("LOGIN"), Some("1"));
        for name in ["X", "Y", "BYE", "TERM", "VSCODE_RESOLVING_ENVIRONMENT"] {
            assert_eq!(found.get(name), None, "{name}");
        }
        assert_eq!(found.capture_problem(), None);
    }

    #[tokio::test]
    async fn login_shell_is_asked_if_the_interactive_shell_becomes_another() {
        for other in [
            "exec /bin/true\n",
            "exit 3\n",
            "exec sh -c 'echo hello; cat'\n",
        ] {
            let found = environment_of(other).await;
            assert_eq!(found.get("LOGIN"), Some("1"), "{other}");
            let problem = found.capture_problem().unwrap();
            assert!(problem.contains("/bin/bash -i"), "{problem}");
        }
        let guarded =
            environment_of("[ -n \"$MUX_RESOLVING_ENVIRONMENT\" ] || exec /bin/true\nexport A=1\n");
        let guarded = guarded.await;
        assert_eq!(
            (guarded.get("A"), guarded.capture_problem()),
            (Some("1"), None)
        );
    }

    #[tokio::test]
    async fn environment_is_read_from_the_login_shell_or_falls_back() {
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
    async fn ssh_agent_is_expandable_and_not_passed_to_servers() {
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
