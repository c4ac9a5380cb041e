//! The output of `mux --version` and `mux man`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::terminal::println;
use serde::Serialize;
use serde_json::json;

use super::{amounts, document, shown};

#[derive(Debug, Serialize)]
pub(crate) struct Version {
    pub(crate) build: &'static str,
    pub(crate) contract: u32,
    /// The name and version of the worker's engine; `None` if no worker reports it.
    pub(crate) engine: Option<String>,
    /// Whether the daemon is built with OpenTelemetry; `None` if no daemon reports it.
    pub(crate) otel: Option<bool>,
}

pub(crate) fn version(version: &Version, json: bool) -> ExitCode {
    if json {
        document(version);
        return ExitCode::SUCCESS;
    }
    let Version {
        build, contract, ..
    } = version;
    let otel = match version.otel {
        Some(true) => ", otel",
        Some(false) | None => "",
    };
    match &version.engine {
        Some(engine) => println!("mux {build} (contract {contract}, engine {engine}{otel})"),
        None => {
            println!(
                "mux {build} (contract {contract}, engine unknown: no mux-worker reports it{otel})"
            )
        }
    }
    ExitCode::SUCCESS
}

/// Prints which manual pages were written.
pub(crate) fn manual(dir: &Path, pages: &[PathBuf], json: bool) -> ExitCode {
    if json {
        document(&json!({ "ok": true, "pages": pages }));
    } else {
        let count = amounts::count(pages.len(), "page");
        println!("{count} written to {}", shown(dir));
    }
    ExitCode::SUCCESS
}
