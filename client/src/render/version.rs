//! The output of `mux --version` and `mux man`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::terminal::println;
use serde::Serialize;
use serde_json::json;

use super::{display_path, human_units, show};

#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
pub(crate) struct VersionInfo {
    pub(crate) build: &'static str,
    pub(crate) contract: u32,
    /// The name and version of the worker's engine, or `None` if no worker reports it.
    pub(crate) engine: Option<String>,
    /// Returns true if the daemon is built with OpenTelemetry. `None` if no daemon reports it.
    pub(crate) otel: Option<bool>,
}

pub(crate) fn version(version: &VersionInfo) {
    let VersionInfo {
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
            );
        }
    }
}

/// Prints which manual pages were written.
pub(crate) fn manual_pages_written(dir: &Path, pages: &[PathBuf], json: bool) -> ExitCode {
    show(&json!({ "pages": pages }), json, |_| {
        let count = human_units::count_text(pages.len(), "page");
        println!("{count} written to {}", display_path(dir));
    })
}
