//! The output of `mux setup`.

use std::{path::PathBuf, process::ExitCode};

use super::terminal::{println, report};
use serde::Serialize;

use super::{display_path, print_document, print_extended};

/// The TypeScript compiler, installed or not.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
pub(crate) struct CompilerInfo {
    /// The path of the compiler, whether it exists or not.
    pub(crate) path: PathBuf,
    /// The version that the compiler reports, or `None` if it does not exist or does not run.
    pub(crate) version: Option<String>,
}

/// Prints the installed compiler. Exits with 1 if there is none.
pub(crate) fn compiler(compiler: &CompilerInfo, json: bool) -> ExitCode {
    let path = display_path(&compiler.path);
    match (&compiler.version, json) {
        (_, true) => print_document(compiler),
        (Some(version), false) => println!("TypeScript {version} is installed: {path}"),
        (None, false) => report!("no TypeScript compiler is installed in {path}; run `mux setup`"),
    }
    ExitCode::from(u8::from(compiler.version.is_none()))
}

/// Prints the installation. `from` is the source of the package, or `None` if the compiler was already
/// installed.
pub(crate) fn installed(compiler: &CompilerInfo, from: Option<&str>, json: bool) -> ExitCode {
    let version = compiler.version.as_deref().unwrap_or_default();
    let path = display_path(&compiler.path);
    match (from, json) {
        (_, true) => print_extended(compiler, "from", from),
        (Some(from), false) => {
            report!("TypeScript {version} from {from}, checksum verified");
            report!("installed in {path}; programs are checked with it from now on");
        }
        (None, false) => report!("TypeScript {version} is already installed: {path}"),
    }
    ExitCode::SUCCESS
}
