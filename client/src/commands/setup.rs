//! `mux setup`: installs TypeScript's compiler where the daemon looks for it.
//!
//! Invariant: nothing is unpacked or run unless its checksum is the one built in here. A partial installation is never
//! visible: a folder named after the version is complete.

mod download;
mod error;
mod install;
mod package;

use std::{fs, path::Path};

use mux_proto::variables;

use self::{error::SetupError, package::Package};
use super::{Failure, Outcome, dirs, variable};
use crate::{args, exit, render};

const REGISTRY: &str = "https://registry.npmjs.org";

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        exit::machinery(error.to_string()).hint(error.fix()).into()
    }
}

pub(super) async fn setup(args: args::Setup, json: bool) -> Outcome {
    let package = Package::of_this_machine()?;
    let dirs = dirs()?;
    let folder = dirs.typescript();
    if args.check {
        return Ok(render::compiler(&install::look(&package, &folder), json));
    }
    dirs.prepare()
        .map_err(|error| Failure::from(exit::machinery(error.to_string())))?;
    let found = install::look(&package, &folder);
    if found.version.as_deref() == Some(package.version) {
        return Ok(render::installed(&found, None, json));
    }
    let from = match &args.from {
        Some(file) => file.display().to_string(),
        None => package.url(&registry(args.registry)),
    };
    let waiting = render::Waiting::begin(&format!("installing TypeScript from {from}"), json);
    let (url, file) = (from.clone(), args.from);
    let work = move || {
        let archive = match file {
            Some(file) => read(&file)?,
            None => download::download(&url)?,
        };
        package.verify(&archive, &url)?;
        install::install(&package, &archive, &folder)
    };
    let done = tokio::task::spawn_blocking(work).await;
    waiting.end();
    let compiler = done.map_err(|error| Failure::from(exit::machinery(error.to_string())))??;
    Ok(render::installed(&compiler, Some(&from), json))
}

/// The registry that was asked for, the one that npm is configured to use, or npm's default.
fn registry(asked: Option<String>) -> String {
    let of_npm = || {
        let mut set = variables::REGISTRY.iter().filter_map(|name| variable(name));
        set.next().map(|url| url.to_string_lossy().into_owned())
    };
    asked.or_else(of_npm).unwrap_or_else(|| REGISTRY.into())
}

fn read(file: &Path) -> Result<Vec<u8>, SetupError> {
    let failed = |reason: String| SetupError::Unreadable {
        file: file.to_owned(),
        reason,
    };
    let length = fs::metadata(file).map_err(|e| failed(e.to_string()))?.len();
    if length > download::MOST {
        return Err(failed("it is far too large".into()));
    }
    fs::read(file).map_err(|e| failed(e.to_string()))
}

#[cfg(test)]
mod tests;
