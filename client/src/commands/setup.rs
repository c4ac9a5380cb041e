//! `mux setup`: installs TypeScript's compiler where the daemon looks for it.
//!
//! Invariant: a package is unpacked or run only if its checksum is the built-in one. A partial installation is never
//! visible: a folder named after the version is complete.

mod download;
mod error;
mod install_compiler;
mod package;

use std::{fs, path::Path};

use mux_proto::variables;

use self::{error::SetupError, package::CompilerPackage};
use super::{
    CommandFailure, CommandResult,
    confirm::{DefaultAnswer, can_ask, confirm},
    env_path, resolve_dirs,
};
use crate::{
    args, exit,
    render::{self, CompilerInfo},
};

const DEFAULT_REGISTRY: &str = "https://registry.npmjs.org";
/// How the daemon begins the reason for an unchecked program if there is no compiler.
const NO_COMPILER: &str = "no TypeScript 7 compiler was found";

impl From<SetupError> for CommandFailure {
    fn from(error: SetupError) -> Self {
        exit::unavailable_error(error.to_string())
            .hint(error.fix())
            .into()
    }
}

pub(super) async fn setup(args: args::SetupArgs, json: bool) -> CommandResult {
    if args.check {
        let package = CompilerPackage::of_this_machine()?;
        let found = install_compiler::find_installed(&package, &resolve_dirs()?.typescript());
        return Ok(render::compiler(&found, json));
    }
    let (compiler, from) = install_compiler(args, json).await?;
    Ok(render::installed(&compiler, from.as_deref(), json))
}

/// The URL from which the compiler would be downloaded, or `None` if it is installed.
pub(super) fn missing_compiler_url() -> Result<Option<String>, CommandFailure> {
    let package = CompilerPackage::of_this_machine()?;
    let found = install_compiler::find_installed(&package, &resolve_dirs()?.typescript());
    let is_installed = found.version.as_deref() == Some(package.version);
    Ok((!is_installed).then(|| package.url(&registry_url(None))))
}

/// Offers once to install the compiler, after a run whose types were not checked for lack of one. The run has already
/// ended, so a failed download causes no delay.
pub(super) async fn offer_compiler(why_unchecked: &str) {
    if !why_unchecked.starts_with(NO_COMPILER) || !can_ask() {
        return;
    }
    let (Ok(dirs), Ok(Some(url))) = (resolve_dirs(), missing_compiler_url()) else {
        return;
    };
    let offered = dirs.compiler_offer();
    if offered.exists() || fs::write(&offered, "").is_err() {
        return;
    }
    let question = format!(
        "TypeScript's compiler checks programs before they run. Install it from {url} (10 MB)?"
    );
    if !confirm(&question, DefaultAnswer::Yes) {
        render::note("not installed, and mux will not ask again: `mux setup` installs it");
        return;
    }
    match install_compiler(args::SetupArgs::default(), false).await {
        Ok((compiler, _)) => render::note(&format!(
            "TypeScript {} is installed: programs are checked from now on",
            compiler.version.as_deref().unwrap_or_default()
        )),
        Err(failure) => render::note(&format!(
            "not installed: {}; `mux setup` tries again",
            failure.error.message
        )),
    }
}

/// Installs the compiler and returns its source, or `None` if it was already installed.
pub(super) async fn install_compiler(
    args: args::SetupArgs,
    json: bool,
) -> Result<(CompilerInfo, Option<String>), CommandFailure> {
    let package = CompilerPackage::of_this_machine()?;
    let dirs = resolve_dirs()?;
    let folder = dirs.typescript();
    dirs.prepare()
        .map_err(|error| CommandFailure::from(exit::unavailable_error(error.to_string())))?;
    let found = install_compiler::find_installed(&package, &folder);
    if found.version.as_deref() == Some(package.version) {
        return Ok((found, None));
    }
    let from = match &args.from {
        Some(file) => file.display().to_string(),
        None => package.url(&registry_url(args.registry)),
    };
    let what = format!("installing TypeScript from {from}");
    let url = from.clone();
    let file = args.from;
    let work = move || {
        let archive = match file {
            Some(file) => read_archive(&file)?,
            None => download::download(&url)?,
        };
        package.verify(&archive, &url)?;
        install_compiler::install_compiler(&package, &archive, &folder)
    };
    let done = render::with_spinner(&what, json, tokio::task::spawn_blocking(work)).await;
    let compiler =
        done.map_err(|error| CommandFailure::from(exit::unavailable_error(error.to_string())))??;
    Ok((compiler, Some(from)))
}

/// The requested registry, npm's configured registry, or npm's default.
fn registry_url(asked: Option<String>) -> String {
    let of_npm = || {
        let mut set = variables::REGISTRY.iter().filter_map(|name| env_path(name));
        set.next().map(|url| url.to_string_lossy().into_owned())
    };
    asked
        .or_else(of_npm)
        .unwrap_or_else(|| DEFAULT_REGISTRY.into())
}

fn read_archive(file: &Path) -> Result<Vec<u8>, SetupError> {
    let failed = |reason: String| SetupError::Unreadable {
        file: file.to_owned(),
        reason,
    };
    let length = fs::metadata(file).map_err(|e| failed(e.to_string()))?.len();
    if length > download::MAX_PACKAGE_BYTES {
        return Err(failed("it is too large".into()));
    }
    fs::read(file).map_err(|e| failed(e.to_string()))
}

#[cfg(test)]
mod tests;
