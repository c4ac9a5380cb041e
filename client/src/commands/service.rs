//! `mux service`: the service manager listens for clients, starts muxd for the first one, and restarts it.
//!
//! Invariant: one daemon of a user serves. From the end of the daemon that a client started until the service manager
//! listens, no client can start another.

mod files;
mod place;
mod room;
mod system;
mod texts;
mod tool;

use std::path::PathBuf;

use mux_client::within_seconds;
use mux_proto::{Error, Kind, Started, endpoint::Dirs};

use self::{
    files::Planned,
    system::System,
    texts::Unwritable,
    tool::{Step, ToolError},
};
use super::{Failure, Outcome, dirs, running};
use crate::{
    agents::FileError,
    args::{self, ServiceCommand},
    exit,
    render::{self, ServiceChange, ServiceFile, ServiceReport},
};

impl From<Unwritable> for Failure {
    fn from(error: Unwritable) -> Self {
        let fix = "move it to a directory with a plain name";
        Error::new(Kind::Validation, error.to_string())
            .hint(fix)
            .into()
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        exit::machinery(error.to_string())
            .hint("`mux service status` shows its state; muxd needs no service to work")
            .into()
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        exit::machinery(error.to_string()).into()
    }
}

pub(super) async fn service(args: args::Service, json: bool) -> Outcome {
    let dirs = dirs()?;
    match args.command {
        ServiceCommand::Install(args) => install(&dirs, args.dry_run, json).await,
        ServiceCommand::Uninstall(args) => uninstall(&dirs, args.dry_run, json).await,
        ServiceCommand::Status => Ok(render::service(&look(&dirs).await?, json)),
    }
}

fn current() -> Result<System, Error> {
    System::current().ok_or_else(|| {
        exit::machinery("muxd can be a service of systemd or launchd, and neither is here".into())
            .hint("muxd needs no service: the first client starts it")
    })
}

async fn install(dirs: &Dirs, dry_run: bool, json: bool) -> Outcome {
    let system = current()?;
    let described = place::described(dirs)?;
    let (name, folder) = (&described.name, place::folder(system)?);
    let files = files::planned(system.files(&described, &folder)?)?;
    let changed = files.iter().any(Planned::changes);
    let reached = system.reach().await;
    let in_force = !changed && system.is_active(name).await && system.is_enabled(name).await;
    let steps = match in_force {
        true => Vec::new(),
        false => system.put_in_force(name, &folder, changed),
    };
    let mut change = ServiceChange {
        service: name.clone(),
        system: system.name(),
        installs: true,
        dry_run,
        files: files.iter().map(Planned::shown).collect(),
        ran: steps.iter().map(Step::shown).collect(),
        made_room: None,
        socket: dirs.socket(),
    };
    if dry_run {
        return Ok(render::service_changed(&change, json));
    }
    reached?;
    dirs.prepare()
        .map_err(|error| Failure::from(exit::machinery(error.to_string())))?;
    for file in &files {
        file.write()?;
    }
    if !steps.is_empty() {
        let waiting = render::Waiting::begin("stopping the running muxd", json);
        let room = room::make(dirs).await;
        waiting.end();
        let (pid, held) = room?;
        change.made_room = pid;
        let ran = run(&steps).await;
        // From here on clients find the system's socket.
        drop(held);
        ran?;
    }
    Ok(render::service_changed(&change, json))
}

async fn uninstall(dirs: &Dirs, dry_run: bool, json: bool) -> Outcome {
    let system = current()?;
    let (name, folder) = (place::name(dirs.home()), place::folder(system)?);
    let files = files::leaving(system, &name, &folder)?;
    let reached = system.reach().await.is_ok();
    let (before, after) = match files.is_empty() || !reached {
        true => Default::default(),
        false => system.take_out_of_force(&name),
    };
    let change = ServiceChange {
        service: name,
        system: system.name(),
        installs: false,
        dry_run,
        files: files.iter().map(Planned::shown).collect(),
        ran: before.iter().chain(&after).map(Step::shown).collect(),
        made_room: None,
        socket: dirs.socket(),
    };
    if !dry_run {
        let waiting = render::Waiting::begin("stopping muxd", json);
        let ended = run(&before).await;
        waiting.end();
        ended?;
        for file in &files {
            file.write()?;
        }
        run(&after).await?;
    }
    Ok(render::service_changed(&change, json))
}

async fn run(steps: &[Step]) -> Result<(), ToolError> {
    for step in steps {
        match step.run().await {
            Err(error) if step.must => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The state of the service, for `mux service status` and `mux doctor`.
pub(super) async fn look(dirs: &Dirs) -> Result<ServiceReport, Failure> {
    let system = current()?;
    let (name, folder) = (place::name(dirs.home()), place::folder(system)?);
    let files = files::leaving(system, &name, &folder)?;
    let files: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let mut report = ServiceReport {
        installed: !files.is_empty(),
        service: name.clone(),
        system: system.name(),
        stale: Vec::new(),
        files,
        unreachable: None,
        active: false,
        enabled: false,
        socket: dirs.socket(),
        daemon: None,
    };
    if report.installed {
        // If muxd cannot be found, the rest is still reported.
        if let Ok(described) = place::described(dirs) {
            let wanted = files::planned(system.files(&described, &folder)?)?;
            let stale = wanted.into_iter().filter(Planned::changes);
            report.stale = stale.map(|file| file.path).collect();
        }
        match system.reach().await {
            Ok(()) => {
                report.active = system.is_active(&name).await;
                report.enabled = system.is_enabled(&name).await;
            }
            Err(error) => report.unreachable = Some(error),
        }
    }
    report.daemon = daemon().await;
    Ok(report)
}

/// The pid of the running daemon, and how it was started, if it reports that.
async fn daemon() -> Option<(u32, Option<Started>)> {
    let session = running().await.ok()??;
    let status = session.client.status(within_seconds(10)).await;
    let started = status
        .ok()
        .and_then(Result::ok)
        .and_then(|status| status.started);
    Some((session.welcome.pid, started))
}
