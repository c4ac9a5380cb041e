//! Finds the compiler: the configured compiler, the compiler that `mux setup` installed, or a `tsc` of version 7 on
//! the login shell's `PATH`, in this order.
//!
//! Invariant: a compiler from the `node_modules` of a workspace is never used. Checks run in every workspace, and this
//! must not let a project on this machine run programs.

use std::{
    collections::HashMap,
    env::consts,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tokio::time::timeout;

use super::{CheckFailure, CheckSettings, PINNED_TSC_VERSION, compiler};
use mux_process::blocking_pool;

/// How long a compiler may take to report its version. The first time, it may be read from a cold disk.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);
const TSC_FILE_NAME: &str = if cfg!(windows) { "tsc.exe" } else { "tsc" };

/// A compiler of the right version.
#[derive(Clone, Debug)]
pub(super) struct FoundCompiler {
    pub(super) path: PathBuf,
    pub(super) version: String,
}

/// Finds compilers, and caches their versions as long as their files do not change.
#[derive(Default)]
pub(super) struct CompilerFinder {
    versions: HashMap<PathBuf, (FileStamp, String)>,
}

/// Size and modification time of a file.
type FileStamp = (u64, Option<SystemTime>);

impl CompilerFinder {
    pub(super) async fn find(
        &mut self,
        named: Option<&Path>,
        settings: &CheckSettings,
    ) -> Result<FoundCompiler, CheckFailure> {
        let mut refused = None;
        // A folder of the path may be on a slow disk.
        let named = named.map(Path::to_owned);
        let searched = settings.clone();
        let found = blocking_pool::run(move || candidates(named.as_deref(), &searched)).await?;
        for path in found {
            let problem = match self.version(&path, settings).await {
                Ok(version) if version.starts_with("7.") => {
                    return Ok(FoundCompiler { path, version });
                }
                Ok(found) => CheckFailure::WrongVersion { path, found },
                Err(problem) => problem,
            };
            refused.get_or_insert(problem);
        }
        Err(refused.unwrap_or(CheckFailure::Missing { named: None }))
    }

    async fn version(
        &mut self,
        path: &Path,
        settings: &CheckSettings,
    ) -> Result<String, CheckFailure> {
        let stamp = fs::metadata(path)
            .map(|found| (found.len(), found.modified().ok()))
            .unwrap_or_default();
        if let Some((known, version)) = self.versions.get(path)
            && *known == stamp
        {
            return Ok(version.clone());
        }
        let search = settings.search_path.as_deref().filter(|_| is_script(path));
        let mut command = compiler::command(path, search);
        let named = path.to_string_lossy();
        let within = VERSION_TIMEOUT.min(5 * settings.deadline);
        let answer = match timeout(within, command.arg("--version").output()).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(CheckFailure::Died(format!("{named:?}: {error}"))),
            Err(_) => {
                let silent = format!("{named:?} did not report its version within {within:?}");
                return Err(CheckFailure::Died(silent));
            }
        };
        let printed = String::from_utf8_lossy(&answer.stdout);
        let version = printed.trim().strip_prefix("Version ").unwrap_or("unknown");
        let version: String = version.chars().take(40).collect();
        self.versions
            .insert(path.to_owned(), (stamp, version.clone()));
        Ok(version)
    }
}

/// The possible compilers, the preferred first. Fails if there are none.
pub(super) fn candidates(
    named: Option<&Path>,
    settings: &CheckSettings,
) -> Result<Vec<PathBuf>, CheckFailure> {
    if let Some(path) = named {
        // A configured compiler has no fallback: a missing one is an error.
        let missing = || CheckFailure::Missing {
            named: Some(path.to_owned()),
        };
        let path = path.is_file().then_some(path).ok_or_else(missing)?;
        return Ok(vec![native(path).unwrap_or_else(|| path.to_owned())]);
    }
    let managed = settings
        .managed
        .join(PINNED_TSC_VERSION)
        .join("lib")
        .join(TSC_FILE_NAME);
    let mut found = Vec::new();
    if managed.is_file() {
        found.push(managed);
    }
    let search = settings.search_path.as_deref().unwrap_or(OsStr::new(""));
    // A relative entry would depend on the working directory.
    let folders = std::env::split_paths(search).filter(|folder| folder.is_absolute());
    for path in folders.map(|folder| folder.join(TSC_FILE_NAME)) {
        if let Some(native) = native(&path)
            && !found.contains(&native)
        {
            found.push(native);
        }
    }
    if found.is_empty() {
        return Err(CheckFailure::Missing { named: None });
    }
    Ok(found)
}

/// The native program behind a `tsc`: npm installs a script, and the program in a separate package. Older versions of
/// `tsc` are only a script.
fn native(tsc: &Path) -> Option<PathBuf> {
    // Most folders have no compiler, and `canonicalize` reads each component of a path.
    let real = tsc.is_file().then(|| tsc.canonicalize().ok())??;
    if !is_script(&real) {
        return real.is_file().then_some(real);
    }
    let package = format!("@typescript/typescript-{}", platform());
    let places = |folder: &Path| {
        [
            folder.join("node_modules").join(&package),
            folder.join(&package),
        ]
    };
    real.ancestors()
        .skip(1)
        .take(4)
        .flat_map(places)
        .map(|package| package.join("lib").join(TSC_FILE_NAME))
        .find(|native| native.is_file())
}

/// Returns true if a file begins with `#!`.
pub(super) fn is_script(path: &Path) -> bool {
    use std::io::Read as _;

    let mut start = [0; 2];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && &start == b"#!"
}

/// The platform in npm's naming.
fn platform() -> String {
    let os = match consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        os => os,
    };
    let arch = match consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        arch => arch,
    };
    format!("{os}-{arch}")
}

// Search paths, links and formats of programs as on Unix.
#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn settings(home: &Path, search: &str) -> CheckSettings {
        CheckSettings {
            compiler: None,
            managed: home.join("managed"),
            search_path: Some(search.into()),
            work: home.join("work"),
            deadline: Duration::from_secs(2),
            memory: 1 << 30,
            idle: Duration::from_secs(1),
        }
    }

    fn write(path: &Path, text: &str) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        path.to_owned()
    }

    #[test]
    fn candidates_are_configured_then_managed_then_path() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let bin = write(&home.join("bin/tsc"), "\u{7f}ELF");
        let on_path = settings(&home, &format!(".:{}", bin.parent().unwrap().display()));
        assert_eq!(
            candidates(None, &on_path).unwrap(),
            std::slice::from_ref(&bin)
        );
        let managed = write(
            &home
                .join("managed")
                .join(PINNED_TSC_VERSION)
                .join("lib/tsc"),
            "",
        );
        assert_eq!(candidates(None, &on_path).unwrap(), [managed, bin.clone()]);
        let named = write(&home.join("mine"), "x");
        assert_eq!(candidates(Some(&named), &on_path).unwrap(), [named]);
        let gone = candidates(Some(&home.join("gone")), &on_path).unwrap_err();
        assert!(gone.to_string().contains("correct [check] tsc"), "{gone}");
    }

    #[test]
    fn npm_script_resolves_to_native_program() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let modules = home.join("lib/node_modules");
        let script = write(&modules.join("typescript/bin/tsc"), "#!/usr/bin/env node\n");
        fs::create_dir(home.join("bin")).unwrap();
        symlink(&script, home.join("bin/tsc")).unwrap();
        let settings = settings(&home, home.join("bin").to_str().unwrap());
        let none = candidates(None, &settings).unwrap_err();
        assert!(none.to_string().contains("run `mux setup`"), "{none}");
        let package = format!("@typescript/typescript-{}/lib/tsc", platform());
        for place in [
            modules.join(&package),
            modules.join("typescript/node_modules").join(&package),
        ] {
            let native = write(&place, "\u{7f}ELF");
            assert_eq!(candidates(None, &settings).unwrap(), [native]);
            fs::remove_file(place).unwrap();
        }
    }
}
