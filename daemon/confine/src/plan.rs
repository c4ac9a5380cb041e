//! The files, network and limits that one server gets: decided from its entry, its program and the machine, before it
//! starts.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use mux_files::private_file::PrivateMode as _;
use mux_keeper::{SpawnSpec, TreeLimits, find_program_blocking};
use mux_settings::{SandboxNetwork, ServerSandbox};
use serde::{Deserialize, Serialize};

use super::{
    bubblewrap,
    enforceable::{
        LANDLOCK_WITH_SCOPES, refuse_container_engine, refuse_unenforceable,
        refuse_unenforceable_limits,
    },
    grant_record::GrantRecord,
    granted_paths::{GrantedPath, WriteGrant},
    hidden_paths::{HiddenPath, hidden_paths},
    machine::SandboxSupport,
    private_folders::folder_of_command,
    program_files::{ProgramFiles, ProgramGrants, ProgramKind, ProgramLocation, SYSTEM_FOLDERS},
    seatbelt,
    server_environment::{package_cache, set, set_package_caches, set_proxies, variable},
    user_scope::RUNTIME_DIR_VARIABLE,
};

/// Files in /etc that programs need and that contain no secret.
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

/// The path of the egress proxy's folder inside a sandbox.
const INNER_EGRESS_FOLDER: &str = "/dev/mux-egress";
/// The name of the proxy's socket in that folder.
pub(super) const EGRESS_SOCKET: &str = "proxy.sock";
/// The port of the forwarder to it, inside the sandbox.
pub(super) const FORWARDER_PORT: u16 = 3128;
/// The maximum number of connections of one server through its egress proxy.
pub(super) const MAX_EGRESS_CONNECTIONS: u32 = 64;
/// The maximum number of further connections that get an answer naming that limit.
pub(super) const MAX_EGRESS_REFUSALS: u32 = 8;
/// The maximum number of connections that the forwarder carries to the proxy, which leaves the proxy room to answer.
pub(super) const MAX_FORWARDED_CONNECTIONS: u32 = MAX_EGRESS_CONNECTIONS + MAX_EGRESS_REFUSALS;
/// Processes of a sandbox that are not the server's: bubblewrap's two, and the forwarder.
const OWN_PROCESSES: u32 = 3;
/// The forwarder's threads, two for each connection, which the kernel and the keeper count as the server's.
const FORWARDER_THREADS: u32 = 2 * MAX_FORWARDED_CONNECTIONS;

/// The directories of a daemon that concern sandboxes.
#[derive(Clone, Debug)]
pub struct SandboxDirs {
    /// For servers' own data, such as fetched packages: one folder for each server.
    pub private: PathBuf,
    /// For the sockets of egress proxies.
    pub egress: PathBuf,
    /// Files and directories of muxd, which no sandbox contains.
    pub protected: Vec<PathBuf>,
    /// The record of where granted paths led when a server first got them.
    pub record: GrantRecord,
}

/// A server's command from its entry, with the daemon's settings for its start.
pub struct ServerCommand<'a> {
    /// A name for the server's own files.
    pub identity: &'a str,
    /// The path of the program is absolute.
    pub spec: SpawnSpec,
    pub dirs: &'a SandboxDirs,
    /// The `muxd` program.
    pub muxd: &'a Path,
}

impl ServerCommand<'_> {
    pub(super) fn home(&self) -> PathBuf {
        variable(&self.spec.env, "HOME")
            .map_or_else(|| PathBuf::from("/nonexistent"), PathBuf::from)
    }

    /// The files of its program, where a sandbox grants these folders.
    pub(super) fn program_files(&self, grants: ProgramGrants<'_>) -> ProgramFiles {
        let find = |name: &Path| find_program_blocking(name, &self.spec.env, &self.spec.cwd).ok();
        let location = ProgramLocation {
            home: &self.home(),
            cwd: &self.spec.cwd,
            grants,
        };
        ProgramFiles::of(&self.spec.program, &self.spec.args, location, find)
    }

    /// The server's own folder in muxd's directories. Its data belongs to its command, too: a new server with the name
    /// of a removed server must not run what the removed server has fetched or changed.
    pub(super) fn private_folder(&self) -> PathBuf {
        let mut hasher = blake3::Hasher::new();
        let program = std::iter::once(self.spec.program.as_os_str());
        for word in program.chain(self.spec.args.iter().map(OsString::as_os_str)) {
            let word = word.as_encoded_bytes();
            hasher.update(&word.len().to_le_bytes()).update(word);
        }
        let key = hasher.finalize().to_hex();
        self.dirs.private.join(self.identity).join(&key[..16])
    }
}

/// Everything that a sandbox is derived from.
pub struct ConfineInputs<'a> {
    pub command: ServerCommand<'a>,
    pub sandbox: &'a ServerSandbox,
    pub support: &'a SandboxSupport,
    /// Other servers' write access.
    pub others: &'a [WriteGrant],
}

/// The command that starts a server in its sandbox.
#[derive(Debug)]
pub struct ConfinedCommand {
    pub spec: SpawnSpec,
    /// The folder in which this server's egress proxy has to listen, if it needs a proxy.
    pub egress: Option<PathBuf>,
    /// The server's home, if it is an empty folder that is discarded when the server ends.
    pub empty_home: Option<PathBuf>,
    /// The user's folders that it may change, without links.
    pub writes: Vec<PathBuf>,
}

/// The reason a server cannot be started in its sandbox.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConfineError {
    #[error("its sandbox cannot be enforced here: {0}")]
    Unenforceable(String),
    #[error("{0}")]
    BadPath(String),
    #[error("its sandbox cannot be prepared: {0}")]
    Failed(String),
}

/// The steps of `muxd confine` before it becomes the server.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct ConfinementPlan {
    /// The process starts itself once more inside bubblewrap.
    pub(super) bubblewrap: Option<BubblewrapStart>,
    /// The directory of the user's systemd, if it is asked for a scope.
    pub(super) runtime_dir: Option<PathBuf>,
    /// Folders of the system and of muxd.
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    /// The files that the entry and the program add, as objects: the server starts only if it gets these.
    pub(super) granted_read: Vec<GrantedPath>,
    pub(super) granted_write: Vec<GrantedPath>,
    pub(super) hidden: Vec<HiddenPath>,
    pub(super) network: PlannedNetwork,
    /// In bytes, for each process.
    pub(super) memory: Option<u64>,
    /// Processes and threads of the user in this namespace.
    pub(super) processes: Option<u32>,
    /// The server has its own namespaces: it cannot see other processes, or their sockets by path.
    pub(super) own_namespaces: bool,
    /// Unix sockets may be opened.
    pub(super) unix_sockets: bool,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct BubblewrapStart {
    /// bubblewrap, perhaps in a scope of the user's systemd.
    pub(super) command: Vec<String>,
    /// bubblewrap's arguments, kept off its command line: the server can read that, and must not learn the user's
    /// folders from it.
    pub(super) args: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) enum PlannedNetwork {
    #[default]
    None,
    Any,
    /// An otherwise empty network, with a forwarder to this socket.
    Proxy(PathBuf),
}

/// The files that a server sees, before they are translated for a layer.
#[derive(Clone, Debug, Default)]
pub(super) struct VisibleFiles {
    /// System folders and files. They differ from the path at which they are seen if that is a link to a file that is not
    /// visible otherwise.
    pub(super) system: Vec<VisiblePath>,
    /// Links to system folders, each with its target.
    pub(super) system_links: Vec<VisiblePath>,
    pub(super) read: Vec<VisiblePath>,
    pub(super) write: Vec<VisiblePath>,
    /// The server's home, if it is an empty folder.
    pub(super) empty_home: Option<PathBuf>,
    pub(super) cwd: PathBuf,
    /// muxd's folders inside a granted folder, hidden again.
    pub(super) hidden: Vec<PathBuf>,
    /// The folder of the egress proxy, and its path inside the sandbox.
    pub(super) egress: Option<VisiblePath>,
    pub(super) has_network: bool,
    /// In bytes.
    pub(super) tmp_size: u64,
}

/// A file or folder, and the path at which the server sees it.
#[derive(Clone, Debug)]
pub(super) struct VisiblePath {
    pub(super) from: PathBuf,
    pub(super) at: PathBuf,
}

impl From<&GrantedPath> for VisiblePath {
    fn from(granted: &GrantedPath) -> Self {
        Self {
            from: granted.real.clone(),
            at: granted.at.clone(),
        }
    }
}

impl From<PathBuf> for VisiblePath {
    fn from(path: PathBuf) -> Self {
        Self {
            from: path.clone(),
            at: path,
        }
    }
}

/// The size of a private /tmp, if the entry has no smaller limit of memory.
const PRIVATE_TMP_BYTES: u64 = 256 << 20;

/// The contents of a sandbox besides the paths of its entry.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ImplicitGrants {
    /// Files of the system.
    pub system: Vec<PathBuf>,
    /// The server's program, with its package and its interpreter.
    pub program: Vec<PathBuf>,
    /// This server's own folders in muxd's directories, such as the folder for the packages that it fetches.
    pub private: Vec<PathBuf>,
    /// Set if its home is an empty folder that is gone when it ends.
    pub has_empty_home: bool,
}

/// The user's files in a sandbox.
struct PlannedFiles {
    /// The files that the entry grants.
    read: Vec<GrantedPath>,
    write: Vec<GrantedPath>,
    /// The files of the program.
    program: Vec<GrantedPath>,
    kind: Option<ProgramKind>,
    hidden: Vec<HiddenPath>,
    /// The server's home, if it is an empty folder because the entry does not grant all of it.
    empty_home: Option<PathBuf>,
}

impl PlannedFiles {
    /// Fails if the sandbox is not available. Reads the file system.
    fn of(inputs: &ConfineInputs<'_>) -> Result<Self, ConfineError> {
        let ConfineInputs {
            command,
            sandbox,
            support,
            others,
        } = inputs;
        refuse_container_engine(&command.spec.program)?;
        refuse_unenforceable(sandbox, support)?;
        refuse_unenforceable_limits(sandbox, support)?;
        if let Some((key, path)) = sandbox.missing_paths().next() {
            let path = path.display();
            return Err(ConfineError::BadPath(format!(
                "{path} does not exist; create it or remove it from sandbox.{key}"
            )));
        }
        let mut read = GrantedPath::resolve_all(&sandbox.read)?;
        let mut write = GrantedPath::resolve_all(&sandbox.write)?;
        let own = write.iter().map(|granted| WriteGrant {
            server: command.identity.to_owned(),
            folder: granted.real.clone(),
        });
        let changeable: Vec<WriteGrant> = own.chain(others.iter().cloned()).collect();
        for granted in read.iter().chain(&write) {
            granted.refuse_changeable(&changeable, |_| false)?;
        }
        let grants = ProgramGrants {
            read: &read,
            write: &write,
            changeable: &changeable,
        };
        let files = command.program_files(grants);
        if let Some(escape) = files.escape {
            return Err(escape.refusal());
        }
        let home = command.home();
        let mut program = GrantedPath::resolve_all(&files.read)?;
        for granted in &program {
            granted.refuse_changeable(&changeable, |real| grants.may_hold_program(real, &home))?;
        }
        let granted = [&read[..], &write, &program].concat();
        for path in read.iter_mut().chain(&mut write).chain(&mut program) {
            path.place_inside(&granted);
        }
        let all = read.iter().chain(&write).chain(&program);
        let has_home = all.into_iter().any(|granted| home.starts_with(&granted.at));
        let readable = [&read[..], &program].concat();
        Ok(Self {
            hidden: hidden_paths(&readable, &write, command.dirs, support)?,
            empty_home: (support.bubblewrap.works() && !has_home).then_some(home),
            kind: files.kind,
            read,
            write,
            program,
        })
    }

    /// The paths of the entry, each with its key.
    fn of_entry(&self) -> Vec<(&'static str, &GrantedPath)> {
        let read = self.read.iter().map(|granted| ("read", granted));
        let write = self.write.iter().map(|granted| ("write", granted));
        read.chain(write).collect()
    }
}

/// The access that a server's sandbox would grant, or why the sandbox is not available. Reads the file system.
pub fn grants(inputs: &ConfineInputs<'_>) -> Result<ImplicitGrants, ConfineError> {
    let planned = PlannedFiles::of(inputs)?;
    let ServerCommand { identity, dirs, .. } = &inputs.command;
    let granted = planned.of_entry();
    dirs.record.check(identity, inputs.sandbox, &granted)?;
    let private = inputs.command.private_folder();
    let cache = package_cache(planned.kind).map(|cache| private.join(cache.folder));
    let tmp = (!inputs.support.bubblewrap.works()).then(|| private.join("tmp"));
    let system = SYSTEM_FOLDERS.iter().chain(SYSTEM_FILES).map(PathBuf::from);
    Ok(ImplicitGrants {
        system: system.filter(|path| path.exists()).collect(),
        program: planned
            .program
            .into_iter()
            .map(|granted| granted.at)
            .collect(),
        private: cache.into_iter().chain(tmp).collect(),
        has_empty_home: planned.empty_home.is_some(),
    })
}

/// Turns a server's command into a command that runs in its sandbox. Reads the file system, and creates the server's
/// folders.
pub fn confine(inputs: ConfineInputs<'_>) -> Result<ConfinedCommand, ConfineError> {
    let planned = PlannedFiles::of(&inputs)?;
    let ServerCommand { identity, dirs, .. } = &inputs.command;
    let granted = planned.of_entry();
    dirs.record
        .check_and_record(identity, inputs.sandbox, &granted)?;
    let private = inputs.command.private_folder();
    let ConfineInputs {
        command,
        sandbox,
        support,
        others: _,
    } = inputs;
    let PlannedFiles {
        read,
        write,
        program: program_files,
        kind,
        hidden,
        empty_home,
    } = planned;
    let ServerCommand {
        identity,
        mut spec,
        dirs,
        muxd,
    } = command;
    let egress = matches!(sandbox.network, SandboxNetwork::Hosts(_))
        .then(|| egress_folder(dirs, identity, sandbox));
    let writes = write.iter().map(|granted| granted.real.clone()).collect();
    let mut granted_read = program_files;
    granted_read.extend(read);
    // muxd's own folders, which the server may change.
    let mut own = Vec::new();
    set_package_caches(kind, sandbox, &private, &mut spec.env, &mut own)?;
    spec.env.retain(|(name, _)| name != RUNTIME_DIR_VARIABLE);
    if egress.is_some() {
        set_proxies(&mut spec.env);
    }
    spec.limits = TreeLimits {
        memory: sandbox.memory,
        tasks: Some(max_tasks(sandbox)),
    };
    if support.seatbelt {
        let tmp = folder_of_command(&private, "tmp")?;
        set(&mut spec.env, "TMPDIR", &tmp);
        own.push(tmp);
        let read = both_paths(&granted_read);
        let write = [with_targets(&own), both_paths(&write)].concat();
        let profile = seatbelt::profile(&read, &write, &sandbox.network);
        start_through(&mut spec, seatbelt::PROGRAM.into(), ["-p".into(), profile]);
        return Ok(ConfinedCommand {
            spec,
            egress,
            empty_home: None,
            writes,
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
    if let Some(bwrap) = support.bubblewrap.program() {
        set(&mut spec.env, "TMPDIR", "/tmp");
        let visible = VisibleFiles {
            system: system_paths(),
            system_links: system_links(),
            read: granted_read.iter().map(VisiblePath::from).collect(),
            write: write
                .iter()
                .map(VisiblePath::from)
                .chain(own.iter().cloned().map(VisiblePath::from))
                .collect(),
            empty_home: empty_home.clone(),
            cwd: spec.cwd.clone(),
            hidden: hidden.iter().map(|hidden| hidden.at.clone()).collect(),
            egress: egress.clone().map(|from| VisiblePath {
                from,
                at: INNER_EGRESS_FOLDER.into(),
            }),
            has_network: plan.network == PlannedNetwork::Any,
            tmp_size: sandbox.memory.unwrap_or(u64::MAX).min(PRIVATE_TMP_BYTES),
        };
        let mut command = Vec::new();
        if let Some(scopes) = support.running_scopes() {
            command.push(scopes.program.clone().into_os_string());
            command.extend(crate::user_scope::UserScopes::words(spec.limits));
            plan.runtime_dir = Some(scopes.runtime_dir.clone());
        }
        command.push(bwrap.into());
        plan.bubblewrap = Some(BubblewrapStart {
            command: utf8_words(command)?,
            args: utf8_words(bubblewrap::arguments(&visible))?,
        });
        // The mounts limit what is visible, so Landlock lets everything be read. It limits writing once more, to the same
        // paths.
        plan.read = vec!["/".into()];
        plan.write = own;
        plan.write
            .extend(write.iter().map(|granted| granted.at.clone()));
        plan.write.extend(["/tmp".into(), "/dev".into()]);
        plan.write.extend(visible.empty_home);
        plan.own_namespaces = true;
        // The shared network has abstract sockets, which older versions of Landlock do not close.
        plan.unix_sockets =
            plan.network != PlannedNetwork::Any || support.landlock >= LANDLOCK_WITH_SCOPES;
        // Without namespaces the limit would count all processes of the user.
        plan.processes = support.counts_processes.then_some(max_tasks(sandbox));
    } else {
        let tmp = folder_of_command(&private, "tmp")?;
        set(&mut spec.env, "TMPDIR", &tmp);
        plan.read = SYSTEM_FOLDERS
            .iter()
            .chain(SYSTEM_FILES)
            .map(PathBuf::from)
            .collect();
        plan.read.push("/proc".into());
        plan.write = own;
        plan.write.push(tmp);
        plan.write.extend(PLAIN_DEVICES.iter().map(PathBuf::from));
    }
    plan.granted_read = granted_read;
    plan.granted_write = write;
    plan.hidden = hidden;
    let plan =
        serde_json::to_string(&plan).map_err(|error| ConfineError::Failed(error.to_string()))?;
    start_through(&mut spec, muxd.to_owned(), ["confine".into(), plan]);
    Ok(ConfinedCommand {
        spec,
        egress,
        empty_home,
        writes,
    })
}

/// Makes another program start the command, which follows these words.
pub(super) fn start_through(spec: &mut SpawnSpec, program: PathBuf, words: [String; 2]) {
    let inner = std::mem::replace(&mut spec.program, program);
    let words = words.map(OsString::from).into_iter().chain([inner.into()]);
    spec.args.splice(0..0, words);
}

fn utf8_words(words: Vec<OsString>) -> Result<Vec<String>, ConfineError> {
    let words = words.into_iter().map(OsString::into_string);
    let words: Result<_, _> = words.collect();
    words.map_err(|word| ConfineError::BadPath(format!("{} is not UTF-8", word.display())))
}

/// The processes and threads of a whole sandbox.
fn max_tasks(sandbox: &ServerSandbox) -> u32 {
    let forwarder = match sandbox.network {
        SandboxNetwork::Hosts(_) => FORWARDER_THREADS,
        SandboxNetwork::None | SandboxNetwork::Any => 0,
    };
    sandbox.max_processes() + OWN_PROCESSES + forwarder
}

/// The folder is the same for all sessions of a server with these hosts, and for the next daemon.
fn egress_folder(dirs: &SandboxDirs, identity: &str, sandbox: &ServerSandbox) -> PathBuf {
    let key = blake3::hash(format!("{identity} {}", sandbox.network).as_bytes()).to_hex();
    // Short, because the length of a socket's path is limited.
    dirs.egress.join(&key[..16])
}

fn system_paths() -> Vec<VisiblePath> {
    let folders = SYSTEM_FOLDERS.iter().map(PathBuf::from);
    let folders = folders.filter(|folder| !folder.is_symlink() && folder.exists());
    let files = SYSTEM_FILES.iter().filter_map(|file| {
        Some(VisiblePath {
            from: Path::new(file).canonicalize().ok()?,
            at: file.into(),
        })
    });
    folders.map(VisiblePath::from).chain(files).collect()
}

fn system_links() -> Vec<VisiblePath> {
    let links = SYSTEM_FOLDERS.iter().filter_map(|folder| {
        Some(VisiblePath {
            from: fs::read_link(folder).ok()?,
            at: folder.into(),
        })
    });
    links.collect()
}

pub(super) fn create(folder: &Path) -> Result<(), ConfineError> {
    let made = fs::DirBuilder::new()
        .recursive(true)
        .private()
        .create(folder);
    made.map_err(|error| ConfineError::Failed(format!("{}: {error}", folder.display())))
}

/// The paths of objects, and the paths to which they led when they were resolved.
fn both_paths(granted: &[GrantedPath]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = granted
        .iter()
        .flat_map(|granted| [granted.at.clone(), granted.real.clone()])
        .collect();
    paths.dedup();
    paths
}

/// The paths, and the paths to which they lead. macOS's sandbox compares the latter, and `/tmp`, `/var` and `/etc` are
/// links there.
fn with_targets(paths: &[PathBuf]) -> Vec<PathBuf> {
    let targets = paths.iter().filter_map(|path| path.canonicalize().ok());
    let targets = targets.filter(|target| !paths.contains(target));
    paths.iter().cloned().chain(targets).collect()
}

// Unix paths: there is no server sandbox on Windows.
#[cfg(all(test, unix))]
mod tests;

#[cfg(all(test, target_os = "linux"))]
mod linux_tests;
