//! The variables of a server in its sandbox: where its package manager keeps packages, and the proxy.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use mux_settings::{SandboxNetwork, ServerSandbox};

use super::{
    plan::{ConfineError, FORWARDER_PORT},
    private_folders::folder_of_command,
    program_files::ProgramKind,
};

/// The folder in which a package manager keeps the packages that it has fetched.
pub(super) struct PackageCache {
    pub(super) folder: &'static str,
    /// The variables that tell it this folder, or a folder within.
    variables: &'static [(&'static str, &'static str)],
    /// The variable, with its value, that makes it use only packages that it has.
    offline: (&'static str, &'static str),
}

pub(super) fn package_cache(kind: Option<ProgramKind>) -> Option<PackageCache> {
    match kind? {
        ProgramKind::Npm => Some(PackageCache {
            folder: "npm",
            variables: &[("npm_config_cache", "")],
            offline: ("npm_config_offline", "true"),
        }),
        ProgramKind::Uv => Some(PackageCache {
            folder: "uv",
            // uv locks its tools folder even if no tool is installed there.
            variables: &[("UV_CACHE_DIR", "cache"), ("UV_TOOL_DIR", "tools")],
            offline: ("UV_OFFLINE", "1"),
        }),
        ProgramKind::Containers | ProgramKind::Other => None,
    }
}

/// A server's fetched packages stay its own: no other server may run them later. Without a network nothing is fetched,
/// and packages fetched before are used.
pub(super) fn set_package_caches(
    kind: Option<ProgramKind>,
    sandbox: &ServerSandbox,
    private: &Path,
    env: &mut Vec<(OsString, OsString)>,
    write: &mut Vec<PathBuf>,
) -> Result<(), ConfineError> {
    let Some(cache) = package_cache(kind) else {
        return Ok(());
    };
    let folder = folder_of_command(private, cache.folder)?;
    for (name, part) in cache.variables {
        // An empty part would add a slash.
        let folder = match *part {
            "" => folder.clone(),
            part => folder.join(part),
        };
        set(env, name, folder);
    }
    write.push(folder);
    if sandbox.network == SandboxNetwork::None {
        set_default(env, cache.offline.0, cache.offline.1.as_ref());
    }
    if kind == Some(ProgramKind::Npm) {
        // npm checks for its latest version and writes about it into the server's log.
        set_default(env, "npm_config_update_notifier", "false".as_ref());
    }
    Ok(())
}

pub(super) fn set_proxies(env: &mut Vec<(OsString, OsString)>) {
    for (name, proxy) in proxy_variables(FORWARDER_PORT) {
        set(env, name, proxy);
    }
    set_proxy_rules(env);
}

/// The variables that name a proxy of this machine.
pub(super) fn proxy_variables(port: u16) -> [(&'static str, String); 4] {
    ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]
        .map(|name| (name, format!("http://127.0.0.1:{port}")))
}

pub(super) fn set_proxy_rules(env: &mut Vec<(OsString, OsString)>) {
    for name in ["NO_PROXY", "no_proxy"] {
        set(env, name, "localhost,127.0.0.1,::1");
    }
    // Node.js ignores these variables otherwise.
    set_default(env, "NODE_USE_ENV_PROXY", "1".as_ref());
}

pub(super) fn variable<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    let mut found = env.iter().rev().filter(|(known, _)| known == name);
    found.next().map(|(_, value)| value.as_os_str())
}

pub(super) fn set(env: &mut Vec<(OsString, OsString)>, name: &str, value: impl AsRef<OsStr>) {
    env.retain(|(known, _)| known != name);
    env.push((name.into(), value.as_ref().into()));
}

/// Sets a variable that the entry does not set.
fn set_default(env: &mut Vec<(OsString, OsString)>, name: &str, value: &OsStr) {
    if variable(env, name).is_none() {
        env.push((name.into(), value.into()));
    }
}
