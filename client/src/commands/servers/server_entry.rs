//! Builds an entry from the arguments of `mux servers add`.

use std::path::{Path, PathBuf};

use mux_proto::{Error, Kind};
use serde_json::{Map, Value};

use crate::{
    args::ServerAddArgs,
    commands::import::{ServerDefinition, escape_literal, nearest_valid_name},
    process_environment::current_dir,
};

/// The server that the arguments define. Texts are in the syntax of config.toml: `${NAME}` is a variable.
pub(in crate::commands) fn parse_definition(
    args: &ServerAddArgs,
) -> Result<ServerDefinition, Error> {
    let near = nearest_valid_name(&args.name);
    if near != args.name {
        let message = format!("{:?} is not a valid server name", args.name);
        return Err(Error::new(Kind::Validation, message).hint(format!("`{near}` is valid")));
    }
    let choices: [(&str, &Option<String>, &[&str]); 2] = [
        (
            "--share",
            &args.share,
            &["user", "workspace", "client", "run"],
        ),
        (
            "--transport",
            &args.transport,
            &["auto", "streamable-http", "sse"],
        ),
    ];
    for (option, value, allowed) in choices {
        if let Some(value) = value
            && !allowed.contains(&value.as_str())
        {
            let message = format!("{option} {value} is none of {}", allowed.join(", "));
            return Err(Error::new(Kind::Validation, message));
        }
    }
    let here = current_dir().ok();
    let mut words = args.command.iter();
    let command = words.next().map(|program| {
        let is_path = Path::new(program).components().nth(1).is_some();
        if is_path {
            absolute_program(program, here.as_deref())
        } else {
            program.clone()
        }
    });
    let cwd = args.cwd.as_deref();
    Ok(ServerDefinition {
        command,
        args: words.cloned().collect(),
        env: args.env.iter().cloned().collect(),
        cwd: cwd.map(|dir| {
            let dir = here.unwrap_or_default().join(dir);
            escape_literal(&dir.to_string_lossy())
        }),
        url: args.url.clone(),
        headers: args.headers.iter().cloned().collect(),
        ..ServerDefinition::default()
    })
}

/// The entry of the server, with its other settings.
pub(in crate::commands) fn build_server_entry(
    open: &ServerDefinition,
    args: &ServerAddArgs,
) -> Map<String, Value> {
    let mut entry = open.to_entry();
    let more = [
        ("account", &args.account),
        ("transport", &args.transport),
        ("share", &args.share),
    ];
    for (key, value) in more {
        if let Some(value) = value {
            entry.insert(key.into(), value.as_str().into());
        }
    }
    entry
}

pub(in crate::commands) fn absolute_program(program: &str, here: Option<&Path>) -> String {
    match here {
        Some(here) if !program.starts_with(['/', '~', '$']) => {
            // The typed path may name variables, but the current directory is literal.
            let path = Path::new(&escape_literal(&here.to_string_lossy())).join(program);
            // Removes each `.`.
            let path: PathBuf = path.components().collect();
            path.to_string_lossy().into_owned()
        }
        _ => program.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_program_path_becomes_absolute() {
        let here = Path::new(if cfg!(windows) { r"C:\me" } else { "/home/me" });
        let below = |path: &[&str]| {
            let path = here.join(path.iter().collect::<PathBuf>());
            path.to_string_lossy().into_owned()
        };
        for (typed, meant) in [
            ("./bin/x", below(&["bin", "x"])),
            ("bin/$${x}", below(&["bin", "$${x}"])),
            ("${DIR}x", "${DIR}x".into()),
            ("/opt/x", "/opt/x".into()),
            ("${HOME}/x", "${HOME}/x".into()),
        ] {
            assert_eq!(absolute_program(typed, Some(here)), meant, "{typed}");
        }
    }
}
