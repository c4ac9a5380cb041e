//! `mux service`: systemd or launchd listens for clients, starts muxd for the first one, and restarts it. Task Scheduler
//! starts it at login.
//!
//! Invariant: one daemon of a user serves. From the end of the daemon that a client started until the service manager
//! listens, no client can start another.

mod service_command;
mod service_files;
mod service_location;
mod service_manager;
mod stop_running;
mod task_scheduler;
mod unit_files;

use std::path::PathBuf;

use mux_client::within_seconds;
use mux_proto::{Error, Kind, endpoint::Dirs};

use self::{
    service_command::{ServiceCommandError, ServiceStep},
    service_files::PlannedFile,
    service_manager::ServiceManager,
    unit_files::UnwritablePathError,
};
use super::{
    CommandFailure, CommandResult, connect_if_running, repeated_edit::repeat_edit, resolve_dirs,
};
use crate::{
    args::{self, ServiceCommand},
    exit,
    render::{self, ServiceChange, ServiceFile, ServiceReport},
};

impl From<UnwritablePathError> for CommandFailure {
    fn from(error: UnwritablePathError) -> Self {
        let fix = "move it to a directory with a plain name";
        Error::new(Kind::Validation, error.to_string())
            .hint(fix)
            .into()
    }
}

impl From<ServiceCommandError> for CommandFailure {
    fn from(error: ServiceCommandError) -> Self {
        exit::unavailable_error(error.to_string())
            .hint("`mux service status` shows its state; muxd needs no service to work")
            .into()
    }
}

pub(super) async fn service(args: args::ServiceArgs, json: bool) -> CommandResult {
    let dirs = resolve_dirs()?;
    match args.command {
        ServiceCommand::Install(args) => {
            let change = install_service(&dirs, args.dry_run, json).await?;
            Ok(render::show(&change, json, render::service_changed))
        }
        ServiceCommand::Uninstall(args) => {
            let change = uninstall_service(&dirs, args.dry_run, json).await?;
            Ok(render::show(&change, json, render::service_changed))
        }
        ServiceCommand::Status => Ok(render::service(&service_report(&dirs).await?, json)),
    }
}

fn current_manager() -> Result<ServiceManager, Error> {
    ServiceManager::current().ok_or_else(|| {
        exit::unavailable_error(
            "muxd can be a service of systemd, launchd or Task Scheduler, but this system has none of them"
                .into(),
        )
        .hint("muxd needs no service: the first client starts it")
    })
}

/// Installs the service, or plans that in a dry run.
pub(super) async fn install_service(
    dirs: &Dirs,
    dry_run: bool,
    json: bool,
) -> Result<ServiceChange, CommandFailure> {
    // The files are written before any step is taken.
    repeat_edit(async || try_install(dirs, dry_run, json).await).await
}

async fn try_install(
    dirs: &Dirs,
    dry_run: bool,
    json: bool,
) -> Result<ServiceChange, CommandFailure> {
    let system = current_manager()?;
    let described = service_location::describe_service(dirs)?;
    let name = &described.name;
    let folder = service_location::service_dir(system, dirs)?;
    let files = service_files::plan_writes(system.unit_files(&described, &folder)?)?;
    let changed = files.iter().any(PlannedFile::changes);
    let reached = system.check_reachable().await;
    let in_force = !changed && system.is_active(name).await && system.is_enabled(name).await;
    let steps = if in_force {
        Vec::new()
    } else {
        system.install_steps(name, &folder, changed)
    };
    let mut change = ServiceChange {
        service: name.clone(),
        system: system.name(),
        installs: true,
        dry_run,
        files: files.iter().map(PlannedFile::preview).collect(),
        ran: steps.iter().map(ServiceStep::command_line).collect(),
        made_room: None,
        listens: system.listens(),
        socket: dirs.socket(),
    };
    if dry_run {
        return Ok(change);
    }
    reached?;
    for file in &files {
        file.apply_change(dirs)?;
    }
    if !steps.is_empty() {
        let stopped = stop_running::stop_running_daemon(dirs);
        let (pid, held) = render::with_spinner("stopping the running muxd", json, stopped).await?;
        change.made_room = pid;
        let ran = run_steps(&steps).await;
        // From here on clients find the system's socket.
        drop(held);
        ran?;
    }
    Ok(change)
}

/// Uninstalls the service, or plans that in a dry run.
pub(super) async fn uninstall_service(
    dirs: &Dirs,
    dry_run: bool,
    json: bool,
) -> Result<ServiceChange, CommandFailure> {
    let system = current_manager()?;
    let name = service_location::service_name(dirs.home());
    let folder = service_location::service_dir(system, dirs)?;
    let files = service_files::plan_removals(system, &name, &folder)?;
    let reached = system.check_reachable().await.is_ok();
    let (before, after) = if files.is_empty() || !reached {
        Default::default()
    } else {
        system.uninstall_steps(&name)
    };
    let change = ServiceChange {
        service: name,
        system: system.name(),
        installs: false,
        dry_run,
        files: files.iter().map(PlannedFile::preview).collect(),
        ran: before
            .iter()
            .chain(&after)
            .map(ServiceStep::command_line)
            .collect(),
        made_room: None,
        listens: system.listens(),
        socket: dirs.socket(),
    };
    if !dry_run {
        render::with_spinner("stopping muxd", json, run_steps(&before)).await?;
        for file in &files {
            file.apply_change(dirs)?;
        }
        run_steps(&after).await?;
    }
    Ok(change)
}

async fn run_steps(steps: &[ServiceStep]) -> Result<(), ServiceCommandError> {
    for step in steps {
        match step.run_command().await {
            Err(error) if step.must => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The state of the service, for `mux service status` and `mux doctor`.
pub(super) async fn service_report(dirs: &Dirs) -> Result<ServiceReport, CommandFailure> {
    let system = current_manager()?;
    let name = service_location::service_name(dirs.home());
    let folder = service_location::service_dir(system, dirs)?;
    let files = service_files::plan_removals(system, &name, &folder)?;
    let files: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let mut report = ServiceReport {
        installed: !files.is_empty(),
        service: name.clone(),
        system: system.name(),
        files,
        listens: system.listens(),
        socket: dirs.socket(),
        ..ServiceReport::default()
    };
    if report.installed {
        // If muxd cannot be found, the rest is still reported.
        if let Ok(described) = service_location::describe_service(dirs) {
            let wanted = service_files::plan_writes(system.unit_files(&described, &folder)?)?;
            let stale = wanted.into_iter().filter(PlannedFile::changes);
            report.stale = stale.map(|file| file.path).collect();
        }
        match system.check_reachable().await {
            Ok(()) => {
                report.active = system.is_active(&name).await;
                report.enabled = system.is_enabled(&name).await;
            }
            Err(error) => report.unreachable = Some(error),
        }
    }
    if let Ok(Some(session)) = connect_if_running().await {
        report.pid = Some(session.welcome.pid);
        if let Ok(Ok(status)) = session.client.status(within_seconds(10)).await {
            report.started = status.started;
        }
    }
    Ok(report)
}
