//! Finds programs in the `PATH` of this process that muxd does not find in its own.
//!
//! Invariant: a program is looked up only if the daemon says that it found none of this name.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use mux_proto::Error;
use serde_json::Value;

use crate::process_environment::env_path;

/// More directories that muxd searched are only counted.
const MAX_SHOWN_DIRECTORIES: usize = 4;

/// The error, with a hint at the program if this process finds it.
pub(crate) fn with_found_program(error: &Error) -> Cow<'_, Error> {
    let hint = error.details.as_ref().and_then(|details| {
        let program = details["program"].as_str()?;
        let server = details["server"].as_str()?;
        let searched = details["searched"].as_array()?;
        let searched: Vec<&str> = searched.iter().filter_map(Value::as_str).collect();
        let found = find_in_path(program)?;
        Some(format!(
            "muxd searched {}; {}",
            shown(&searched),
            fix(&found, server)
        ))
    });
    match hint {
        Some(hint) => Cow::Owned(Error {
            hint: Some(hint),
            ..error.clone()
        }),
        None => Cow::Borrowed(error),
    }
}

/// Where this process finds the program, if its name is not a path.
pub(crate) fn find_in_path(program: &str) -> Option<PathBuf> {
    if Path::new(program).components().nth(1).is_some() {
        return None;
    }
    let path = env_path("PATH")?;
    let mut folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.find_map(|folder| {
        let file = folder.join(program);
        is_executable(&file).then_some(file)
    })
}

/// The hint for a server whose program this process finds at `found`.
pub(crate) fn fix(found: &Path, server: &str) -> String {
    let folder = found.parent().unwrap_or(found).display();
    let found = found.to_string_lossy();
    format!(
        "this shell finds {found:?}: write that as `command` in [servers.{server}], or add {folder} to PATH in the startup \
         files of your login shell and run `mux restart`"
    )
}

#[cfg(unix)]
pub(crate) fn is_executable(path: &Path) -> bool {
    use nix::unistd::{AccessFlags, access};

    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}

#[cfg(not(unix))]
pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file()
}

fn shown(searched: &[&str]) -> String {
    match searched.split_at_checked(MAX_SHOWN_DIRECTORIES) {
        Some((first, more)) if !more.is_empty() => {
            format!("{} and {} more", first.join(", "), more.len())
        }
        _ => searched.join(", "),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use mux_proto::Kind;
    use serde_json::json;

    use super::*;

    fn hint(program: &str) -> Option<String> {
        let mut error = Error::new(Kind::Unavailable, "`x` is not in PATH").hint("install it");
        error.details = Some(json!({
            "program": program,
            "server": "s",
            "searched": ["/a", "/b", "/c", "/d", "/e", "/f"],
        }));
        with_found_program(&error).hint.clone()
    }

    #[test]
    fn program_that_only_this_process_finds_is_named_with_its_path() {
        let found = hint("sh").unwrap();
        assert!(
            found.starts_with("muxd searched /a, /b, /c, /d and 2 more; this shell finds \"/"),
            "{found}"
        );
        assert!(
            found.contains("/sh\": write that as `command` in [servers.s]"),
            "{found}"
        );
        for missing in ["no-such-program", "./sh", "/bin/sh"] {
            assert_eq!(hint(missing).as_deref(), Some("install it"), "{missing}");
        }
    }
}
