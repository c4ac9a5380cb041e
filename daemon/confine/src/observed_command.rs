//! Starts a server without a sandbox to observe it, and suggests a sandbox from the observations.
//!
//! Invariant: an observed server fetches packages into the cache that its sandbox will have.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

use mux_keeper::SpawnSpec;
use mux_messages::SandboxSuggestion;
use mux_settings::{SandboxNetwork, ServerSandbox, projects::lexical_path};

use super::{
    enforceable::refuse_container_engine,
    observation::{ObservationPlan, read_observations},
    plan::{ConfineError, EGRESS_SOCKET, ServerCommand, create, start_through},
    program_files::ProgramGrants,
    server_environment::{set_package_caches, set_proxy_rules, variable},
    suggestion::{ObservedServer, suggest},
    user_scope::RUNTIME_DIR_VARIABLE,
};

/// The file name of an observed server's record.
const OBSERVATION_FILE: &str = "observed.jsonl";
/// Folders that each sandbox replaces with its own.
const TEMPORARY_FOLDERS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// The command that starts a server without a sandbox and records what it does.
pub struct ObservedCommand {
    pub spec: SpawnSpec,
    /// The facts that the suggestion needs besides the observations.
    pub server: ObservedServer,
}

/// Turns a server's command into a command that is observed in `folder`, where its proxy listens, too. Creates the
/// server's folders.
pub fn observe(command: ServerCommand<'_>, folder: &Path) -> Result<ObservedCommand, ConfineError> {
    if !cfg!(target_os = "linux") {
        return Err(ConfineError::Unenforceable(
            "servers can only be observed on Linux; write the sandbox by hand".into(),
        ));
    }
    refuse_container_engine(&command.spec.program)?;
    let files = command.program_files(ProgramGrants::default());
    let home = command.home();
    let private = command.private_folder();
    let ServerCommand {
        mut spec,
        dirs,
        muxd,
        ..
    } = command;
    let named = named_paths(&spec);
    let mut temporary: Vec<PathBuf> = TEMPORARY_FOLDERS.map(PathBuf::from).into();
    let env = &mut spec.env;
    temporary.extend(variable(env, "TMPDIR").map(PathBuf::from));
    let anything = ServerSandbox {
        network: SandboxNetwork::Any,
        ..ServerSandbox::default()
    };
    set_package_caches(files.kind, &anything, &private, env, &mut Vec::new())?;
    env.retain(|(name, _)| name != RUNTIME_DIR_VARIABLE);
    set_proxy_rules(env);
    create(folder)?;
    let plan = ObservationPlan {
        record: folder.join(OBSERVATION_FILE),
        proxy: folder.join(EGRESS_SOCKET),
    };
    let plan =
        serde_json::to_string(&plan).map_err(|error| ConfineError::Failed(error.to_string()))?;
    start_through(&mut spec, muxd.to_owned(), ["observe".into(), plan]);
    Ok(ObservedCommand {
        spec,
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

impl ObservedServer {
    /// The sandbox in which the server would have worked. `folder` is the folder of [`observe`], and `hosts` are the
    /// hosts for which its proxy was asked.
    pub fn suggested_sandbox(
        &self,
        folder: &Path,
        hosts: &[String],
    ) -> io::Result<SandboxSuggestion> {
        let observations = read_observations(&folder.join(OBSERVATION_FILE))?;
        Ok(suggest(&observations, hosts, self))
    }
}

/// The existing absolute paths in an entry: in its arguments (also after `=`), in its variables, and as its working
/// directory.
fn named_paths(spec: &SpawnSpec) -> Vec<PathBuf> {
    let values = spec.env.iter().map(|(_, value)| value.as_os_str());
    let words = spec.args.iter().map(OsString::as_os_str).chain(values);
    let words = words.filter_map(OsStr::to_str);
    let words = words.flat_map(|word| [Some(word), word.split_once('=').map(|(_, value)| value)]);
    let paths = words.flatten().map(Path::new).chain([&*spec.cwd]);
    let mut named: Vec<PathBuf> = paths
        .filter(|path| path.is_absolute() && path.exists())
        .map(lexical_path)
        .collect();
    named.sort();
    named.dedup();
    named
}
