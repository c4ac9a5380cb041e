//! What `mux setup` found and did.

use std::{path::PathBuf, process::ExitCode};

use super::terminal::println;
use serde::Serialize;
use serde_json::json;

use super::{document, shown};

/// TypeScript's compiler, there or not.
#[derive(Debug, Serialize)]
pub(crate) struct Compiler {
    /// Where it is, or would be.
    pub(crate) path: PathBuf,
    /// What it says of itself; nothing if it is not there, or does not run.
    pub(crate) version: Option<String>,
}

/// What is there. Exits with 1 if that is nothing.
pub(crate) fn compiler(compiler: &Compiler, json: bool) -> ExitCode {
    let path = shown(&compiler.path);
    match (&compiler.version, json) {
        (version, true) => {
            document(&json!({ "ok": true, "installed": version.is_some(), "compiler": compiler }));
        }
        (Some(version), false) => println!("TypeScript {version} is installed: {path}"),
        (None, false) => println!("no TypeScript compiler is installed in {path}; run `mux setup`"),
    }
    ExitCode::from(u8::from(compiler.version.is_none()))
}

/// What was done: `from` tells where it came from, and is missing if it was there.
pub(crate) fn installed(compiler: &Compiler, from: Option<&str>, json: bool) -> ExitCode {
    let version = compiler.version.as_deref().unwrap_or_default();
    let path = shown(&compiler.path);
    match (from, json) {
        (_, true) => document(&json!({ "ok": true, "from": from, "compiler": compiler })),
        (Some(from), false) => {
            println!("TypeScript {version} from {from}, checksum right");
            println!("installed in {path}; programs are checked with it from now on");
        }
        (None, false) => println!("TypeScript {version} was there already: {path}"),
    }
    ExitCode::SUCCESS
}
