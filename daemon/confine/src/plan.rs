//! What one server gets: decided from its entry, its program and the machine, before it starts.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
};

use mux_keeper::{TreeLimits, find_program_blocking};
use mux_settings::{SandboxNetwork, ServerSandbox, projects::lexical_path};
use serde::{Deserialize, Serialize};

use super::{
    bubblewrap,
    machine::SandboxSupport,
    observation::{ObservationPlan, read_observations},
    program_files::{ProgramFiles, ProgramKind, SYSTEM_FOLDERS, kind_of},
    seatbelt,
    suggestion::{ObservedServer, SuggestedSandbox, suggest},
};

/// Files in /etc that programs need, and that hold no secret.
pub(super) const SYSTEM_FILES: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl",
    "/etc/timezone",
];
/// Devices that may be used where the real /dev is visible.
const PLAIN_DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Where the egress proxy's folder is inside a sandbox.
const INNER_EGRESS_FOLDER: &str = "/run/mux-egress";
/// The name of its socket there.
pub(super) const EGRESS_SOCKET: &str = "proxy.sock";
/// The name of the file with what an observed server did.
const OBSERVATION_FILE: &str = "observed.jsonl";
/// The port of the forwarder to it, inside the sandbox.
pub(super) const FORWARDER_PORT: u16 = 3128;
/// Processes of a sandbox that are not the server's: bubblewrap's two, and the forwarder.
const OWN_PROCESSES: u32 = 3;

/// The directories of a daemon that concern sandboxes.
#[derive(Clone, Debug)]
pub struct SandboxDirs {
    /// For what servers keep, such as fetched packages: one folder for each server.
    pub private: PathBuf,
    /// For the sockets of egress proxies.
    pub egress: PathBuf,
    /// Files and directories of muxd, which no sandbox contains.
    pub protected: Vec<PathBuf>,
}

/// A server's command before it is confined.
pub struct ConfineInputs<'a> {
    /// A name for the server's own files.
    pub identity: &'a str,
    pub sandbox: &'a ServerSandbox,
    /// An absolute path.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub cwd: &'a Path,
    pub dirs: &'a SandboxDirs,
    /// The `muxd` program.
    pub muxd: &'a Path,
    pub support: &'a SandboxSupport,
}

/// The command that starts a server in its sandbox.
#[derive(Debug)]
pub struct ConfinedCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub limits: TreeLimits,
    /// The folder in which the egress proxy of this server has to listen, if it needs one.
    pub egress: Option<PathBuf>,
}

/// Why a server cannot be started in its sandbox.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConfineError {
    #[error("its sandbox cannot be enforced here: {0}")]
    Unenforceable(String),
    #[error("{0}")]
    BadPath(String),
    #[error("its sandbox cannot be prepared: {0}")]
    Failed(String),
}

/// What `muxd confine` does before it becomes the server.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct ConfinementPlan {
    /// bubblewrap and its arguments: the process starts itself once more inside.
    pub(super) bubblewrap: Option<Vec<String>>,
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    pub(super) network: PlannedNetwork,
    /// In bytes, for each process.
    pub(super) memory: Option<u64>,
    /// Processes and threads of the user in this namespace.
    pub(super) processes: Option<u32>,
    /// Sockets of other processes may be opened by their path: none of them is visible.
    pub(super) path_sockets: bool,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) enum PlannedNetwork {
    #[default]
    None,
    Any,
    /// An otherwise empty network, with a forwarder to this socket.
    Proxy(PathBuf),
}

/// The files that a server sees, before they are written in the terms of a layer.
#[derive(Clone, Debug, Default)]
pub(super) struct VisibleFiles {
    /// Folders and files of the system; a link is repeated as one.
    pub(super) system: Vec<SystemPath>,
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    /// The server's home, if it is an empty one.
    pub(super) empty_home: Option<PathBuf>,
    pub(super) cwd: PathBuf,
    /// Hidden again: the paths of muxd that lie in a granted one, and whether each is a folder.
    pub(super) hidden: Vec<(PathBuf, bool)>,
    /// The folder of the egress proxy, and where it is seen.
    pub(super) egress: Option<(PathBuf, PathBuf)>,
    pub(super) has_network: bool,
    /// In bytes.
    pub(super) tmp_size: u64,
}

#[derive(Clone, Debug)]
pub(super) enum SystemPath {
    Link {
        at: PathBuf,
        target: PathBuf,
    },
    /// `from` differs from `at` where `at` is a link to a file that is not visible otherwise.
    Real {
        from: PathBuf,
        at: PathBuf,
    },
}

/// The size of a private /tmp, if the entry has no smaller limit of memory.
const PRIVATE_TMP_BYTES: u64 = 256 << 20;

/// What a sandbox grants in effect.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SandboxGrants {
    /// Files of the system.
    pub system: Vec<PathBuf>,
    /// The server's program, with the package and the interpreter that it belongs to.
    pub program: Vec<PathBuf>,
    /// Folders in muxd's directories that are this server's own, such as for the packages that it fetches.
    pub private: Vec<PathBuf>,
    /// Its home is an empty one, and gone when it ends.
    pub has_empty_home: bool,
}

/// What the sandbox of a server would grant. Reads the file system.
pub fn grants(inputs: &ConfineInputs<'_>) -> Result<SandboxGrants, ConfineError> {
    let ConfineInputs {
        sandbox,
        program,
        args,
        env,
        cwd,
        dirs,
        support,
        ..
    } = inputs;
    refuse_unenforceable(sandbox, program, support)?;
    refuse_missing_paths(sandbox)?;
    let home = home_of(env);
    let find = |name: &Path| find_program_blocking(name, env, cwd).ok();
    let files = ProgramFiles::of(program, args, (&home, cwd), find);
    hidden_paths(sandbox, &files.read, dirs, support)?;
    let private = dirs.private.join(inputs.identity);
    let mut granted = files.read.iter().chain(&sandbox.read).chain(&sandbox.write);
    let has_empty_home =
        support.bubblewrap.is_some() && !granted.any(|path| home.starts_with(path));
    let mut own: Vec<PathBuf> = package_cache(files.kind)
        .map(|cache| private.join(cache.folder))
        .into_iter()
        .collect();
    if support.bubblewrap.is_none() {
        own.push(private.join("tmp"));
    }
    let system = SYSTEM_FOLDERS.iter().chain(SYSTEM_FILES).map(PathBuf::from);
    Ok(SandboxGrants {
        system: system.filter(|path| path.exists()).collect(),
        program: files.read,
        private: own,
        has_empty_home,
    })
}

/// The command that starts a server without a sandbox and records what it does.
#[derive(Debug)]
pub struct ObservedCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    /// What the suggestion needs besides the observations.
    server: ObservedServer,
}

/// Turns a server's command into one that is observed in `folder`, where its proxy listens, too. Creates the server's
/// folders: it fetches packages into the cache that its sandbox will have.
pub fn observe(inputs: ConfineInputs<'_>, folder: &Path) -> Result<ObservedCommand, ConfineError> {
    let ConfineInputs {
        identity,
        program,
        args,
        mut env,
        cwd,
        dirs,
        muxd,
        ..
    } = inputs;
    if !cfg!(target_os = "linux") {
        return Err(ConfineError::Unenforceable(
            "servers can only be observed on Linux; write the sandbox by hand".into(),
        ));
    }
    if kind_of(&program) == ProgramKind::Containers {
        return Err(ConfineError::Unenforceable(CONTAINER_ENGINE.into()));
    }
    let home = home_of(&env);
    let find = |name: &Path| find_program_blocking(name, &env, cwd).ok();
    let files = ProgramFiles::of(&program, &args, (&home, cwd), find);
    let private = dirs.private.join(identity);
    let named = named_paths(&args, &env, cwd);
    let mut temporary: Vec<PathBuf> = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from).into();
    temporary.extend(variable(&env, "TMPDIR").map(PathBuf::from));
    let anything = ServerSandbox {
        network: SandboxNetwork::Any,
        ..ServerSandbox::default()
    };
    set_package_caches(files.kind, &anything, &private, &mut env, &mut Vec::new())?;
    env.retain(|(name, _)| name != "XDG_RUNTIME_DIR");
    set_proxy_rules(&mut env);
    create(folder)?;
    let plan = ObservationPlan {
        record: folder.join(OBSERVATION_FILE),
        proxy: folder.join(EGRESS_SOCKET),
    };
    let plan =
        serde_json::to_string(&plan).map_err(|error| ConfineError::Failed(error.to_string()))?;
    let mut words: Vec<OsString> = vec!["observe".into(), plan.into(), program.into()];
    words.extend(args);
    Ok(ObservedCommand {
        program: muxd.to_owned(),
        args: words,
        env,
        server: ObservedServer {
            home,
            named,
            program: files.read,
            private,
            protected: dirs.protected.clone(),
            temporary,
        },
    })
}

/// The sandbox in which an observed server would have worked. `folder` is that of [`observe`], and `hosts` those that
/// its proxy was asked for.
pub fn suggest_from(
    command: &ObservedCommand,
    folder: &Path,
    hosts: &[String],
) -> io::Result<SuggestedSandbox> {
    let observations = read_observations(&folder.join(OBSERVATION_FILE))?;
    Ok(suggest(&observations, hosts, &command.server))
}

/// The existing absolute paths that an entry names: in its arguments, also after `=`, in its variables, and as its
/// working directory.
fn named_paths(args: &[OsString], env: &[(OsString, OsString)], cwd: &Path) -> Vec<PathBuf> {
    let values = env.iter().map(|(_, value)| value.as_os_str());
    let words = args.iter().map(OsString::as_os_str).chain(values);
    let words = words.filter_map(OsStr::to_str);
    let words = words.flat_map(|word| [Some(word), word.split_once('=').map(|(_, value)| value)]);
    let paths = words.flatten().map(Path::new).chain([cwd]);
    let mut named: Vec<PathBuf> = paths
        .filter(|path| path.is_absolute() && path.exists())
        .map(lexical_path)
        .collect();
    named.sort();
    named.dedup();
    named
}

/// Turns a server's command into one that runs in its sandbox. Reads the file system, and creates the server's folders.
pub fn confine(inputs: ConfineInputs<'_>) -> Result<ConfinedCommand, ConfineError> {
    let ConfineInputs {
        identity,
        sandbox,
        program,
        args,
        mut env,
        cwd,
        dirs,
        muxd,
        support,
    } = inputs;
    let home = home_of(&env);
    refuse_unenforceable(sandbox, &program, support)?;
    refuse_missing_paths(sandbox)?;
    let find = |name: &Path| find_program_blocking(name, &env, cwd).ok();
    let files = ProgramFiles::of(&program, &args, (&home, cwd), find);
    let private = dirs.private.join(identity);
    let hidden = hidden_paths(sandbox, &files.read, dirs, support)?;
    let egress = matches!(sandbox.network, SandboxNetwork::Hosts(_))
        .then(|| egress_folder(dirs, identity, sandbox));
    let mut read = files.read.clone();
    read.extend(sandbox.read.iter().cloned());
    let mut write = sandbox.write.clone();
    set_package_caches(files.kind, sandbox, &private, &mut env, &mut write)?;
    env.retain(|(name, _)| name != "XDG_RUNTIME_DIR");
    if egress.is_some() {
        set_proxies(&mut env);
    }
    let limits = TreeLimits {
        memory: sandbox.memory,
        tasks: Some(sandbox.processes + OWN_PROCESSES),
    };
    if support.seatbelt {
        let tmp = private.join("tmp");
        create(&tmp)?;
        set(&mut env, "TMPDIR", &tmp);
        write.push(tmp);
        let profile = seatbelt::profile(&read, &write, &sandbox.network);
        let mut words: Vec<OsString> = vec!["-p".into(), profile.into(), program.into()];
        words.extend(args);
        return Ok(ConfinedCommand {
            program: seatbelt::PROGRAM.into(),
            args: words,
            env,
            limits,
            egress,
        });
    }
    let mut plan = ConfinementPlan {
        memory: sandbox.memory,
        network: match (&sandbox.network, &egress) {
            (SandboxNetwork::Any, _) => PlannedNetwork::Any,
            (_, Some(_)) => {
                PlannedNetwork::Proxy(Path::new(INNER_EGRESS_FOLDER).join(EGRESS_SOCKET))
            }
            (_, None) => PlannedNetwork::None,
        },
        ..ConfinementPlan::default()
    };
    match &support.bubblewrap {
        Some(bwrap) => {
            let granted = || read.iter().chain(&write);
            let empty_home = !granted().any(|path| home.starts_with(path));
            set(&mut env, "TMPDIR", "/tmp");
            let visible = VisibleFiles {
                system: system_paths(),
                read: read.clone(),
                write: write.clone(),
                empty_home: empty_home.then(|| home.clone()),
                cwd: cwd.to_owned(),
                hidden,
                egress: egress
                    .clone()
                    .map(|folder| (folder, INNER_EGRESS_FOLDER.into())),
                has_network: plan.network == PlannedNetwork::Any,
                tmp_size: sandbox.memory.unwrap_or(u64::MAX).min(PRIVATE_TMP_BYTES),
            };
            let mut words = vec![bwrap.clone().into_os_string()];
            words.extend(bubblewrap::arguments(&visible));
            let words = words.into_iter().map(OsString::into_string);
            plan.bubblewrap = Some(words.collect::<Result<_, _>>().map_err(|word| {
                ConfineError::BadPath(format!("{} is not UTF-8", word.display()))
            })?);
            // The mounts say what is visible; this repeats what may be changed.
            plan.read = vec!["/".into()];
            plan.write = write;
            plan.write.extend(["/tmp".into(), "/dev".into()]);
            plan.write.extend(visible.empty_home);
            plan.path_sockets = true;
            // Elsewhere it would count all processes of the user.
            plan.processes = support
                .counts_processes
                .then_some(sandbox.processes + OWN_PROCESSES);
        }
        None => {
            let tmp = private.join("tmp");
            create(&tmp)?;
            set(&mut env, "TMPDIR", &tmp);
            plan.read = SYSTEM_FOLDERS
                .iter()
                .chain(SYSTEM_FILES)
                .map(PathBuf::from)
                .collect();
            plan.read.push("/proc".into());
            plan.read.extend(read);
            plan.write = write;
            plan.write.push(tmp);
            plan.write.extend(PLAIN_DEVICES.iter().map(PathBuf::from));
        }
    }
    let plan =
        serde_json::to_string(&plan).map_err(|error| ConfineError::Failed(error.to_string()))?;
    let mut words: Vec<OsString> = vec!["confine".into(), plan.into(), program.into()];
    words.extend(args);
    Ok(ConfinedCommand {
        program: muxd.to_owned(),
        args: words,
        env,
        limits,
        egress,
    })
}

fn home_of(env: &[(OsString, OsString)]) -> PathBuf {
    variable(env, "HOME").map_or_else(|| PathBuf::from("/nonexistent"), PathBuf::from)
}

fn refuse_missing_paths(sandbox: &ServerSandbox) -> Result<(), ConfineError> {
    match sandbox.missing_paths().next() {
        None => Ok(()),
        Some((key, path)) => Err(ConfineError::BadPath(format!(
            "{} does not exist; create it or remove it from sandbox.{key}",
            path.display()
        ))),
    }
}

const CONTAINER_ENGINE: &str = "the server runs in a container, which its container engine starts outside of the sandbox; set sandbox = false and limit the container, as with --network none, --memory and -v PATH:PATH:ro";

fn refuse_unenforceable(
    sandbox: &ServerSandbox,
    program: &Path,
    support: &SandboxSupport,
) -> Result<(), ConfineError> {
    let refused = |why: &str| Err(ConfineError::Unenforceable(why.to_owned()));
    if kind_of(program) == ProgramKind::Containers {
        return refused(CONTAINER_ENGINE);
    }
    if support.seatbelt {
        return match sandbox.network {
            SandboxNetwork::Hosts(_) => {
                refused("lists of hosts need Linux; set sandbox.network to \"none\" or \"any\"")
            }
            _ => Ok(()),
        };
    }
    if !cfg!(target_os = "linux") {
        return refused("this system has no sandbox that muxd can use; set sandbox = false");
    }
    if support.bubblewrap.is_some() {
        return Ok(());
    }
    if matches!(sandbox.network, SandboxNetwork::Hosts(_)) {
        return refused(
            "a list of hosts needs bubblewrap with user namespaces; install bubblewrap, or set sandbox.network to \"none\" or \"any\"",
        );
    }
    match support.landlock {
        // Version 3 is the first to cover truncation.
        0..=2 => refused(
            "there is neither bubblewrap with user namespaces nor Landlock 3 (Linux 6.2); install bubblewrap",
        ),
        _ => Ok(()),
    }
}

/// The paths of muxd that have to be hidden from a server whose entry grants a folder around them.
fn hidden_paths(
    sandbox: &ServerSandbox,
    program: &[PathBuf],
    dirs: &SandboxDirs,
    support: &SandboxSupport,
) -> Result<Vec<(PathBuf, bool)>, ConfineError> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut hidden = BTreeSet::new();
    for own in &dirs.protected {
        let own_real = real(own);
        for granted in sandbox.read.iter().chain(&sandbox.write).chain(program) {
            let granted_real = real(granted);
            if granted_real.starts_with(&own_real) {
                return Err(ConfineError::BadPath(format!(
                    "its sandbox cannot contain {}, which is muxd's own",
                    granted.display()
                )));
            }
            let Ok(below) = own_real.strip_prefix(&granted_real) else {
                continue;
            };
            if support.bubblewrap.is_none() {
                return Err(ConfineError::Unenforceable(format!(
                    "{} contains {}, which is muxd's own and can only be hidden with bubblewrap; install bubblewrap, or grant folders beside it",
                    granted.display(),
                    own.display()
                )));
            }
            if own_real.exists() {
                hidden.insert((granted.join(below), own_real.is_dir()));
            }
        }
    }
    Ok(hidden.into_iter().collect())
}

/// Where a package manager keeps what it has fetched.
struct PackageCache {
    folder: &'static str,
    /// Names the folder to it.
    variable: &'static str,
    /// Lets it use what it has, and its value.
    offline: (&'static str, &'static str),
}

fn package_cache(kind: Option<ProgramKind>) -> Option<PackageCache> {
    let (folder, variable, offline) = match kind? {
        ProgramKind::Npm => ("npm", "npm_config_cache", ("npm_config_offline", "true")),
        ProgramKind::Uv => ("uv", "UV_CACHE_DIR", ("UV_OFFLINE", "1")),
        ProgramKind::Containers | ProgramKind::Other => return None,
    };
    Some(PackageCache {
        folder,
        variable,
        offline,
    })
}

/// Packages that are fetched by a server stay its own: what another server runs later must not come from it. Without
/// a network nothing is fetched, and what was fetched before is used.
fn set_package_caches(
    kind: Option<ProgramKind>,
    sandbox: &ServerSandbox,
    private: &Path,
    env: &mut Vec<(OsString, OsString)>,
    write: &mut Vec<PathBuf>,
) -> Result<(), ConfineError> {
    let Some(cache) = package_cache(kind) else {
        return Ok(());
    };
    let folder = private.join(cache.folder);
    create(&folder)?;
    set(env, cache.variable, &folder);
    write.push(folder);
    if sandbox.network == SandboxNetwork::None {
        set_default(env, cache.offline.0, cache.offline.1.as_ref());
    }
    if kind == Some(ProgramKind::Npm) {
        // It asks for the latest version of npm, and writes about it into the server's log.
        set_default(env, "npm_config_update_notifier", "false".as_ref());
    }
    Ok(())
}

fn set_proxies(env: &mut Vec<(OsString, OsString)>) {
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

fn set_proxy_rules(env: &mut Vec<(OsString, OsString)>) {
    for name in ["NO_PROXY", "no_proxy"] {
        set(env, name, "localhost,127.0.0.1,::1");
    }
    // Node.js ignores these variables otherwise.
    set_default(env, "NODE_USE_ENV_PROXY", "1".as_ref());
}

/// The folder is the same for all sessions of a server with these hosts, and for the next daemon.
fn egress_folder(dirs: &SandboxDirs, identity: &str, sandbox: &ServerSandbox) -> PathBuf {
    let key = blake3::hash(format!("{identity} {}", sandbox.network).as_bytes()).to_hex();
    // Short, because the path of a socket is limited.
    dirs.egress.join(&key[..16])
}

fn system_paths() -> Vec<SystemPath> {
    let mut paths = Vec::new();
    for folder in SYSTEM_FOLDERS.iter().map(Path::new) {
        match fs::read_link(folder) {
            Ok(target) => paths.push(SystemPath::Link {
                at: folder.to_owned(),
                target,
            }),
            Err(_) if folder.exists() => paths.push(SystemPath::Real {
                from: folder.to_owned(),
                at: folder.to_owned(),
            }),
            Err(_) => {}
        }
    }
    for file in SYSTEM_FILES.iter().map(Path::new) {
        if let Ok(from) = file.canonicalize() {
            paths.push(SystemPath::Real {
                from,
                at: file.to_owned(),
            });
        }
    }
    paths
}

fn create(folder: &Path) -> Result<(), ConfineError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder);
    made.map_err(|error: io::Error| ConfineError::Failed(format!("{}: {error}", folder.display())))
}

fn variable<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    let mut found = env.iter().rev().filter(|(known, _)| known == name);
    found.next().map(|(_, value)| value.as_os_str())
}

fn set(env: &mut Vec<(OsString, OsString)>, name: &str, value: impl AsRef<OsStr>) {
    env.retain(|(known, _)| known != name);
    env.push((name.into(), value.as_ref().into()));
}

/// Sets a variable that the entry does not set.
fn set_default(env: &mut Vec<(OsString, OsString)>, name: &str, value: &OsStr) {
    if variable(env, name).is_none() {
        env.push((name.into(), value.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn support() -> SandboxSupport {
        SandboxSupport {
            bubblewrap: Some("/usr/bin/bwrap".into()),
            landlock: 6,
            counts_processes: true,
            seatbelt: false,
        }
    }

    fn planned(
        home: &Path,
        program: &str,
        sandbox: &ServerSandbox,
        support: &SandboxSupport,
    ) -> Result<ConfinedCommand, String> {
        let dirs = SandboxDirs {
            private: home.join("cache/sandboxes"),
            egress: home.join("run/egress"),
            protected: vec![home.join("state")],
        };
        let inputs = ConfineInputs {
            identity: "files",
            sandbox,
            program: program.into(),
            args: vec!["--flag".into()],
            env: vec![
                ("HOME".into(), home.into()),
                ("XDG_RUNTIME_DIR".into(), "/run/user/1".into()),
            ],
            cwd: home,
            dirs: &dirs,
            muxd: Path::new("/opt/muxd"),
            support,
        };
        confine(inputs).map_err(|error| error.to_string())
    }

    fn plan_of(command: &ConfinedCommand) -> ConfinementPlan {
        serde_json::from_str(command.args[1].to_str().unwrap()).unwrap()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_cannot_be_enforced_does_not_start_and_names_the_fix() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        fs::create_dir(home.join("state")).unwrap();
        let plain = ServerSandbox::default();
        let hosts = ServerSandbox {
            network: SandboxNetwork::Hosts(vec!["a.example".parse().unwrap()]),
            ..plain.clone()
        };
        let granting = |path: &Path| ServerSandbox {
            read: vec![path.to_owned()],
            ..plain.clone()
        };
        let without_bubblewrap = SandboxSupport {
            bubblewrap: None,
            ..support()
        };
        let nothing = SandboxSupport::default();
        for (program, sandbox, support, part) in [
            ("/usr/bin/docker", &plain, &support(), "container"),
            ("/usr/bin/x", &plain, &nothing, "install bubblewrap"),
            ("/usr/bin/x", &hosts, &without_bubblewrap, "list of hosts"),
            (
                "/usr/bin/x",
                &granting(home),
                &without_bubblewrap,
                "only be hidden",
            ),
            (
                "/usr/bin/x",
                &granting(&home.join("state")),
                &support(),
                "muxd's own",
            ),
            (
                "/usr/bin/x",
                &granting(&home.join("none")),
                &support(),
                "create it",
            ),
        ] {
            let error = planned(home, program, sandbox, support).unwrap_err();
            assert!(error.contains(part), "{program}: {error}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn plan_grants_what_the_entry_says_and_hides_what_is_muxds() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        fs::create_dir(home.join("state")).unwrap();
        let sandbox = ServerSandbox {
            write: vec![home.clone()],
            memory: Some(64 << 20),
            processes: 64,
            ..ServerSandbox::default()
        };
        let command = planned(&home, "/usr/bin/server", &sandbox, &support()).unwrap();
        assert_eq!(command.program, Path::new("/opt/muxd"));
        assert_eq!(command.args[2..], ["/usr/bin/server", "--flag"]);
        assert!(variable(&command.env, "XDG_RUNTIME_DIR").is_none());
        assert_eq!(command.limits.memory, Some(64 << 20));
        let plan = plan_of(&command);
        let words = plan.bubblewrap.unwrap();
        let state = home.join("state").display().to_string();
        let hidden = words
            .windows(2)
            .any(|pair| pair[0] == "--tmpfs" && pair[1] == state);
        assert!(hidden, "{words:?}");
        assert!(words.contains(&"--unshare-all".to_owned()));
        assert!(plan.write.contains(&home));
        assert_eq!(plan.network, PlannedNetwork::None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn package_managers_fetch_into_a_cache_of_the_servers_own() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let offline = ServerSandbox::default();
        let online = ServerSandbox {
            network: SandboxNetwork::Any,
            ..offline.clone()
        };
        let env_of = |program, sandbox, name| {
            let command = planned(&home, program, sandbox, &support()).unwrap();
            variable(&command.env, name).map(|value| value.to_str().unwrap().to_owned())
        };
        let own = |name| Some(format!("{}/cache/sandboxes/files/{name}", home.display()));
        assert_eq!(
            env_of("/usr/bin/npx", &offline, "npm_config_offline").as_deref(),
            Some("true")
        );
        assert_eq!(env_of("/usr/bin/npx", &online, "npm_config_offline"), None);
        assert_eq!(
            env_of("/usr/bin/npx", &online, "npm_config_cache"),
            own("npm")
        );
        assert_eq!(env_of("/usr/bin/uvx", &online, "UV_CACHE_DIR"), own("uv"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn list_of_hosts_leads_through_a_proxy_in_an_empty_network() {
        let dir = tempfile::tempdir().unwrap();
        let sandbox = ServerSandbox {
            network: SandboxNetwork::Hosts(vec!["a.example:443".parse().unwrap()]),
            ..ServerSandbox::default()
        };
        let command = planned(dir.path(), "/usr/bin/server", &sandbox, &support()).unwrap();
        assert!(
            command
                .egress
                .as_ref()
                .unwrap()
                .starts_with(dir.path().join("run/egress"))
        );
        assert_eq!(
            variable(&command.env, "HTTPS_PROXY").unwrap(),
            "http://127.0.0.1:3128"
        );
        let plan = plan_of(&command);
        assert!(matches!(plan.network, PlannedNetwork::Proxy(_)));
        assert!(!plan.bubblewrap.unwrap().contains(&"--share-net".to_owned()));
    }
}
