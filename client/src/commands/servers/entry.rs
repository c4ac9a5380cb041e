//! From the words of `mux servers add` to an entry.

use std::path::{Path, PathBuf};

use mux_proto::{Error, Kind};
use serde_json::{Map, Value};

use crate::{
    args::AddServer,
    commands::import::{Definition, allowed, escaped},
};

/// What was asked for. Texts are in the configuration's own syntax: `${NAME}` is a variable.
pub(super) fn definition(args: &AddServer) -> Result<Definition, Error> {
    let near = allowed(&args.name);
    if near != args.name {
        let message = format!("a server cannot be called {:?}", args.name);
        return Err(Error::new(Kind::Validation, message).hint(format!("`{near}` would do")));
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
    for (option, word, words) in choices {
        if let Some(word) = word
            && !words.contains(&word.as_str())
        {
            let message = format!("{option} {word} is none of {}", words.join(", "));
            return Err(Error::new(Kind::Validation, message));
        }
    }
    let here = here();
    let mut words = args.command.iter();
    let command = words.next().map(|program| match program.contains('/') {
        // Servers start elsewhere.
        true => absolute(program, here.as_deref()),
        false => program.clone(),
    });
    let cwd = args.cwd.as_deref();
    Ok(Definition {
        command,
        args: words.cloned().collect(),
        env: args.env.iter().cloned().collect(),
        cwd: cwd.map(|dir| {
            let dir = here.unwrap_or_default().join(dir);
            escaped(&dir.to_string_lossy())
        }),
        url: args.url.clone(),
        headers: args.headers.iter().cloned().collect(),
        ..Definition::default()
    })
}

/// With what says how it is treated.
pub(super) fn entry(open: &Definition, args: &AddServer) -> Map<String, Value> {
    let mut entry = open.entry();
    let more = [("transport", &args.transport), ("share", &args.share)];
    for (key, word) in more {
        if let Some(word) = word {
            entry.insert(key.into(), word.as_str().into());
        }
    }
    entry
}

pub(in crate::commands) fn absolute(program: &str, here: Option<&Path>) -> String {
    match here {
        Some(here) if !program.starts_with(['/', '~', '$']) => {
            // What was typed may name variables; where the user stands does not.
            let path = Path::new(&escaped(&here.to_string_lossy())).join(program);
            // Without `.`, which says nothing.
            let path: PathBuf = path.components().collect();
            path.to_string_lossy().into_owned()
        }
        _ => program.to_owned(),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "paths on the command line are meant from where the user stands"
)]
pub(in crate::commands) fn here() -> Option<PathBuf> {
    std::env::current_dir().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_beside_the_user_is_found_from_elsewhere() {
        let here = Some(Path::new("/home/me"));
        for (typed, meant) in [
            ("./bin/x", "/home/me/bin/x"),
            ("bin/$${x}", "/home/me/bin/$${x}"),
            ("${DIR}x", "${DIR}x"),
            ("/opt/x", "/opt/x"),
            ("${HOME}/x", "${HOME}/x"),
        ] {
            assert_eq!(absolute(typed, here), meant, "{typed}");
        }
    }
}
