//! Finds packages that `npx` and `uvx` start without a version. Such a server's behavior can change from one start to
//! the next.
//!
//! Invariant: only the package of a server's arguments is shown, because others may be secrets.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use mux_paths::regular_file;
use mux_proto::endpoint::Dirs;
use serde_json::Value;

use super::{
    CheckGroup,
    config_file::{ConfiguredProcess, read_configured_processes},
};
use crate::fetched_package::{FetchedPackage, PackageRunner};

/// The maximum size of a `package.json` that is read. The file comes from the publisher of the package.
const MAX_PACKAGE_FILE_BYTES: u64 = 1 << 20;

/// `variable` reads the environment.
pub(super) fn check_package_versions(
    group: &mut CheckGroup,
    dirs: &Dirs,
    variable: impl Fn(&str) -> Option<PathBuf>,
) {
    let npm = variable("npm_config_cache").or_else(|| Some(variable("HOME")?.join(".npm")));
    let uv = UvDirectories::find(&variable);
    for process in read_configured_processes(dirs) {
        let Some((runner, package)) = unpinned_package(&process) else {
            continue;
        };
        let known = match runner {
            PackageRunner::Npx => npm.as_ref().and_then(|npm| npx_version(npm, package)),
            PackageRunner::Uvx => uv.version(package),
        };
        let name = runner.package_name(package);
        let fix = match (known, runner) {
            (Some(version), PackageRunner::Npx) => {
                format!("write `{name}@{version}`, which runs now")
            }
            (Some(version), PackageRunner::Uvx) => {
                format!("write `{name}@{version}`, which uv has installed")
            }
            (None, PackageRunner::Npx) => {
                format!("write `{name}@VERSION`; `npm view {name} version` prints the latest one")
            }
            (None, PackageRunner::Uvx) => format!(
                "write `{name}@VERSION`; https://pypi.org/project/{}/ lists the versions",
                without_extras(name)
            ),
        };
        let server = &process.name;
        let file = dirs.config_file();
        group.note(
            format!("{server}: the version of `{name}` is not pinned, and can change at any start"),
            Some(&format!(
                "{fix}, in [servers.{server}] in {}",
                file.display()
            )),
        );
    }
}

/// The package that a server's command fetches, if the command leaves the version open.
fn unpinned_package(process: &ConfiguredProcess) -> Option<(PackageRunner, &str)> {
    let FetchedPackage {
        runner, package, ..
    } = FetchedPackage::of(&process.command, &process.args)?;
    (!is_pinned(runner, package)).then_some((runner, package))
}

/// A tag such as `latest` and a range leave the version open.
fn is_pinned(runner: PackageRunner, package: &str) -> bool {
    let version = package[runner.package_name(package).len()..].trim_start_matches(['@', '=']);
    let is_exact = !version.contains(['*', ',', '|', ' ', '<', '>']);
    version.starts_with(|c: char| c.is_ascii_digit()) && is_exact
}

/// The version of a package that `npx` has installed for this name.
fn npx_version(npm: &Path, package: &str) -> Option<String> {
    let installs = fs::read_dir(npm.join("_npx")).ok()?.flatten();
    let read = |file: PathBuf| {
        let text = regular_file::read_text(&file, MAX_PACKAGE_FILE_BYTES).ok()?;
        serde_json::from_str::<Value>(&text).ok()
    };
    let mut found = installs.filter_map(|install| {
        let install = install.path();
        let asked = read(install.join("package.json"))?;
        if asked["_npx"]["packages"] != serde_json::json!([package]) {
            return None;
        }
        let modules = install.join("node_modules");
        let name = PackageRunner::Npx.package_name(package);
        let installed = read(modules.join(name).join("package.json"))?;
        let version = installed["version"].as_str()?;
        is_plain_version(version).then(|| version.to_owned())
    });
    found.next()
}

fn is_plain_version(version: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-+!".contains(c);
    version.chars().all(is_plain)
}

/// The package `server` of `server[extra]`.
fn without_extras(package: &str) -> &str {
    package.split_once('[').map_or(package, |(name, _)| name)
}

/// Where uv keeps the environments from which `uvx` starts programs.
struct UvDirectories {
    /// Environments that `uv tool install` has made, one for each package. `uvx` uses them too.
    tools: Option<PathBuf>,
    cache: Option<PathBuf>,
}

impl UvDirectories {
    fn find(variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let below_home = |path: &str| Some(variable("HOME")?.join(path));
        let tools = variable("UV_TOOL_DIR").or_else(|| {
            let data = variable("XDG_DATA_HOME").or_else(|| below_home(".local/share"));
            Some(data?.join("uv/tools"))
        });
        let cache = variable("UV_CACHE_DIR").or_else(|| {
            let caches = variable("XDG_CACHE_HOME").or_else(|| below_home(".cache"));
            Some(caches?.join("uv"))
        });
        Self { tools, cache }
    }

    /// The version of a package that `uvx` starts, as far as uv's directories tell.
    fn version(&self, package: &str) -> Option<String> {
        let name = without_extras(PackageRunner::Uvx.package_name(package));
        // `uvx PACKAGE@latest` does not use an installed tool.
        let tool = self
            .tools
            .as_ref()
            .filter(|_| !package.ends_with("@latest"));
        let installed =
            tool.and_then(|tools| version_in_environment(&tools.join(normalized_name(name)), name));
        installed.or_else(|| cached_version(self.cache.as_ref()?, name))
    }
}

/// The version in the environment that `uvx` has made last for this package: `environments-v2/PYTHON/PACKAGES` in uv's
/// cache is a link to it.
fn cached_version(cache: &Path, package: &str) -> Option<String> {
    let is_of_environments = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("environments-v"))
    };
    let environments = subdirectories(cache)
        .filter(is_of_environments)
        .flat_map(|versioned| subdirectories(&versioned))
        .flat_map(|python| subdirectories(&python));
    let found = environments.filter_map(|environment| {
        let made: SystemTime = fs::symlink_metadata(&environment).ok()?.modified().ok()?;
        Some((made, version_in_environment(&environment, package)?))
    });
    found.max().map(|(_, version)| version)
}

/// The version of a package that is installed in a Python environment: the name of `NAME-VERSION.dist-info`.
fn version_in_environment(environment: &Path, package: &str) -> Option<String> {
    let mut installed = subdirectories(&environment.join("lib"))
        .flat_map(|python| subdirectories(&python.join("site-packages")));
    installed.find_map(|folder| {
        let file_name = folder.file_name()?.to_str()?.strip_suffix(".dist-info")?;
        let (name, version) = file_name.split_once('-')?;
        let is_asked = normalized_name(name) == normalized_name(package);
        (is_asked && is_plain_version(version)).then(|| version.to_owned())
    })
}

/// A name as Python's packaging compares it.
fn normalized_name(package: &str) -> String {
    let lower = package.to_ascii_lowercase();
    let parts = lower.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-")
}

/// The directories in a directory, also by links.
fn subdirectories(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpinned(command: &str) -> Option<String> {
        let mut words = command.split(' ').map(str::to_owned);
        let process = ConfiguredProcess {
            name: "s".into(),
            command: words.next().unwrap(),
            args: words.collect(),
        };
        unpinned_package(&process).map(|(runner, package)| runner.package_name(package).to_owned())
    }

    #[test]
    fn packages_without_an_exact_version_are_found() {
        for (command, package) in [
            ("npx -y @scope/server /srv", Some("@scope/server")),
            ("/usr/bin/npx server@latest", Some("server")),
            ("npx.cmd server", Some("server")),
            ("npx --yes --registry https://r server", Some("server")),
            ("npx -y --package=@scope/server run", Some("@scope/server")),
            ("npx -p server@^1.2 run", Some("server")),
            ("uvx mcp-server-git --repository /r", Some("mcp-server-git")),
            ("uvx --python 3.12 --from server>=1 run", Some("server")),
            ("uvx server@latest", Some("server")),
            ("npx -y @scope/server@1.2.3 /srv", None),
            ("npx server@1", None),
            ("npx -y github:me/server", None),
            ("npx ./server", None),
            (r"npx tools\server", None),
            ("npx ${PACKAGE}", None),
            ("npx", None),
            ("uvx server==1.2.3", None),
            ("uvx server@1.2.3", None),
            ("uvx --from git+https://h/server run", None),
            ("node server.js", None),
        ] {
            assert_eq!(unpinned(command).as_deref(), package, "{command}");
        }
    }

    #[test]
    fn note_names_the_version_that_npx_has_installed() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(&home.path().join("mux")).unwrap();
        dirs.prepare().unwrap();
        fs::write(
            dirs.config_file(),
            "[servers.a]\ncommand = \"npx\"\nargs = [\"-y\", \"@scope/server\", \"s3cret\"]\n\
             [servers.b]\ncommand = \"npx\"\nargs = [\"other\"]\n\
             [servers.c]\ncommand = \"uvx\"\nargs = [\"third\"]\n",
        )
        .unwrap();
        let install = home.path().join(".npm/_npx/0f");
        let package = install.join("node_modules/@scope/server");
        fs::create_dir_all(&package).unwrap();
        let asked = r#"{ "_npx": { "packages": ["@scope/server"] } }"#;
        fs::write(install.join("package.json"), asked).unwrap();
        fs::write(package.join("package.json"), r#"{ "version": "1.2.3" }"#).unwrap();
        let variable = |name: &str| (name == "HOME").then(|| home.path().to_owned());
        let group = CheckGroup::filled(|group| check_package_versions(group, &dirs, variable));
        let fixes: Vec<&str> = group
            .checks
            .iter()
            .filter_map(|it| it.fix.as_deref())
            .collect();
        assert!(
            fixes[0].starts_with("write `@scope/server@1.2.3`, which runs now, in [servers.a]")
        );
        assert!(fixes[1].contains("`npm view other version`"), "{fixes:?}");
        assert!(
            fixes[2].contains("https://pypi.org/project/third/"),
            "{fixes:?}"
        );
        assert!(!fixes.concat().contains("s3cret"), "{fixes:?}");
    }

    #[test]
    fn version_of_uvx_is_that_of_the_tool_or_of_the_newest_cached_environment() {
        let home = tempfile::tempdir().unwrap();
        let install = |environment: &Path, dist_info: &str| {
            let packages = environment.join("lib/python3.12/site-packages");
            fs::create_dir_all(packages.join(dist_info)).unwrap();
            fs::create_dir_all(packages.join("mcp-2.3.0.dist-info")).unwrap();
        };
        let uv = UvDirectories::find(|name| (name == "HOME").then(|| home.path().to_owned()));
        assert_eq!(uv.version("mcp-server-time"), None);

        let cache = home.path().join(".cache/uv");
        let environments = cache.join("environments-v2/8b0c");
        fs::create_dir_all(&environments).unwrap();
        for (made, hash, dist_info) in [
            (2, "aa", "mcp_server_time-2026.10.19.dist-info"),
            (1, "bb", "mcp_server_time-2025.9.25.dist-info"),
            (3, "cc", "mcp_server_time_zones-1.0.dist-info"),
        ] {
            let environment = environments.join(hash);
            install(&environment, dist_info);
            let made = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(made);
            fs::File::open(&environment)
                .unwrap()
                .set_modified(made)
                .unwrap();
        }
        assert_eq!(
            uv.version("Mcp.Server-time[cli]>=1").as_deref(),
            Some("2026.10.19")
        );

        install(
            &home.path().join(".local/share/uv/tools/mcp-server-time"),
            "mcp_server_time-2024.1.dist-info",
        );
        assert_eq!(uv.version("mcp-server-time").as_deref(), Some("2024.1"));
        assert_eq!(
            uv.version("mcp-server-time@latest").as_deref(),
            Some("2026.10.19")
        );

        let named = UvDirectories::find(|name| (name == "UV_CACHE_DIR").then(|| cache.clone()));
        assert_eq!(
            named.version("mcp-server-time").as_deref(),
            Some("2026.10.19")
        );
        assert_eq!(named.version("nothing"), None);
    }
}
