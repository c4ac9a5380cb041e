//! `mux service`: the system listens for clients, starts muxd for the first one, and watches over it.
//!
//! Invariant: of a user's daemons one serves. Between the end of the one that a client started and the
//! moment in which the system listens, nobody can start another.

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
            .hint("`mux service status` shows what is in force; muxd needs no service to work")
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
        exit::machinery("muxd can be a service of systemd or launchd, and here is neither".into())
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
        let waiting = render::Waiting::begin("asking the muxd that runs to make room", json);
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
        let waiting = render::Waiting::begin("asking muxd to end", json);
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

/// What there is of a service, for `mux service status` and for the doctor.
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
        // What cannot be said of this program is no reason to say nothing of the others.
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

/// The daemon that runs, and how it was started, if it tells.
async fn daemon() -> Option<(u32, Option<Started>)> {
    let session = running().await.ok()??;
    let status = session.client.status(within_seconds(10)).await;
    let started = status
        .ok()
        .and_then(Result::ok)
        .and_then(|status| status.started);
    Some((session.welcome.pid, started))
}
