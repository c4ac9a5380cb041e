//! Names of programs go without the extension that makes a file executable, such as `.exe` or, for npm's `npx`, `.cmd`.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{ChildEnvironment, ProgramKind};

/// The extensions of programs where the environment names none.
const DEFAULT_EXTENSIONS: &str = ".COM;.EXE;.BAT;.CMD";

/// Returns true if `program` is a bare name (`node`, not `.\node` or `C:\bin\node`).
pub(super) fn is_bare(program: &Path) -> bool {
    let name = program.as_os_str().as_encoded_bytes();
    !name.iter().any(|byte| matches!(byte, b'/' | b'\\' | b':'))
}

/// Returns true if a search depends on this variable of the child.
pub(crate) fn is_search_variable(name: &OsStr) -> bool {
    is_path_variable(name) || is_extensions_variable(name)
}

/// The system itself writes it as `Path`.
pub(super) fn is_path_variable(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case("PATH")
}

fn is_extensions_variable(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case("PATHEXT")
}

/// The files that a path may mean, in the order of `PATHEXT`: the path itself only if it has one of these extensions,
/// because npm puts a script for Unix shells beside each `.cmd`.
pub(super) fn candidates(path: PathBuf, env: ChildEnvironment<'_>) -> Vec<PathBuf> {
    let extensions = env
        .iter()
        .rev()
        .find(|(name, _)| is_extensions_variable(name));
    let extensions = extensions.map_or(DEFAULT_EXTENSIONS.into(), |(_, value)| {
        value.to_string_lossy()
    });
    let extensions: Vec<&str> = extensions
        .split(';')
        .map(|extension| extension.trim_start_matches('.'))
        .filter(|extension| !extension.is_empty())
        .collect();
    let has = |own: &OsStr| {
        extensions
            .iter()
            .any(|extension| own.eq_ignore_ascii_case(extension))
    };
    if path.extension().is_some_and(has) {
        return vec![path];
    }
    let name = path.file_name().unwrap_or_default();
    let mut files: Vec<PathBuf> = extensions
        .iter()
        .map(|extension| {
            let mut name = name.to_owned();
            name.push(".");
            name.push(extension.to_lowercase());
            path.with_file_name(name)
        })
        .collect();
    // Found only to say that it is not executable.
    files.push(path);
    files
}

/// Looks in the file system. The extension decides whether a file is executable.
pub(crate) fn look(path: &Path) -> ProgramKind {
    match path.metadata() {
        Err(_) => ProgramKind::Nothing,
        Ok(file) if file.is_file() && path.extension().is_some() => ProgramKind::Executable,
        Ok(_) => ProgramKind::NotExecutable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, extensions: Option<&str>) -> Vec<String> {
        let env: Vec<_> = extensions
            .iter()
            .map(|extensions| ("PathExt".into(), (*extensions).into()))
            .collect();
        let files = candidates(path.into(), &env).into_iter();
        files.map(|file| file.display().to_string()).collect()
    }

    #[test]
    fn names_get_the_extensions_of_programs_unless_they_have_one() {
        assert_eq!(
            check("npx", Some(".EXE;;.CMD")),
            ["npx.exe", "npx.cmd", "npx"]
        );
        assert_eq!(check(r"C:\x\node.EXE", None), [r"C:\x\node.EXE"]);
        assert_eq!(
            check("python3.11", Some(".exe")),
            ["python3.11.exe", "python3.11"]
        );
    }

    #[test]
    fn paths_are_not_bare_names() {
        for path in [r".\node", "bin/node", r"C:\node.exe", "c:node"] {
            assert!(!is_bare(path.as_ref()), "{path}");
        }
        assert!(is_bare("node.exe".as_ref()));
    }
}
