//! `mux init`: imports the agents' servers, adds mux to the agents, installs the type checker, connects to all servers,
//! and runs a program.
//!
//! Each step runs the code of a separate command (`mux import`, `mux install`, `mux setup`, `mux service install`),
//! first as a dry run, which is the plan, and then for real.
//!
//! Invariant: no file is written before the plan was shown and confirmed. A failed step does not stop the others.

mod init_record;
mod server_check;
mod undo;

use std::time::Duration;

use mux_proto::{Error, Event, Kind, Outcome, RunRequest, endpoint::Dirs};
use mux_typegen::names::spell;
use serde_json::{Value, json};

use self::init_record::InitRecord;
use super::{
    CommandFailure, CommandResult,
    confirm::{DefaultAnswer, can_ask, confirm},
    import::run_import,
    install::{agent_places, edit_agents, list_agents},
    request_with_retry, resolve_dirs,
    run::duration_millis,
    service, setup,
};
use crate::{
    agents::{Agent, AgentFile, AgentPaths, ConfigFormat},
    args,
    render::{self, CompilerStep, ImportedServer, InitReport, InstallStatus},
};

const FIRST_PROGRAM: &str = include_str!("init/first_program.ts");
/// A server that is started for the first time may need a download.
const FIRST_PROGRAM_TIMEOUT: Duration = Duration::from_mins(2);
const ADD_SERVER_EXAMPLE: &str =
    "mux servers add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes";

pub(super) async fn init(args: &args::InitArgs, json: bool) -> CommandResult {
    if args.undo {
        return undo::undo_init(args, json).await;
    }
    let steps = InitSteps::find(args)?;
    let config = steps.config()?;
    if steps.agents.is_empty() && !config.has_servers {
        return Err(nothing_found().into());
    }
    let mut plan = steps.take(&config, true, json).await?;
    let asks = !args.yes && !json && can_ask();
    if args.dry_run || !plan.has_changes() {
        if !args.dry_run && config.has_servers {
            plan.servers = server_check::check_servers(&steps.dirs, asks, json).await?;
        }
        plan.next = steps.next_steps(&plan, false);
        return Ok(render::init_plan(&plan, json));
    }
    if !args.yes && (json || !can_ask()) {
        return Ok(render::init_unconfirmed(&plan, &unconfirmed(), json));
    }
    if !json {
        render::init_plan(&plan, false);
    }
    if !args.yes && !confirm("Go on?", DefaultAnswer::Yes) {
        return Err(Error::new(Kind::Cancelled, "nothing was changed").into());
    }
    let before = InitRecord::before(&steps.dirs);
    let mut done = steps.take(&config, false, json).await?;
    before.add(&done, &steps.dirs)?;
    let has_servers = steps.config().is_ok_and(|config| config.has_servers);
    if has_servers {
        done.servers = server_check::check_servers(&steps.dirs, asks, json).await?;
        let mut ready = done.servers.iter().filter(|server| server.is_ready());
        if let Some(server) = ready.next() {
            done.program = Some(run_first_program(&server.name, json).await);
        }
    }
    done.next = steps.next_steps(&done, has_servers);
    Ok(render::init_done(&done, json))
}

/// The steps to take.
struct InitSteps<'a> {
    args: &'a args::InitArgs,
    dirs: Dirs,
    places: AgentPaths,
    /// The agents that were named, or all that are on this machine.
    agents: Vec<Agent>,
    /// The agents that already start mux.
    with_mux: Vec<Agent>,
}

/// A summary of config.toml.
struct ConfigSummary {
    has_servers: bool,
    /// True if the user's own compiler checks programs, or if they are not checked at all.
    has_own_check: bool,
}

impl<'a> InitSteps<'a> {
    fn find(args: &'a args::InitArgs) -> Result<Self, CommandFailure> {
        let places = agent_places()?;
        let known = list_agents(&places);
        let meant = known.iter().filter(|known| match args.agents.as_slice() {
            [] => known.found,
            named => named.contains(&known.agent),
        });
        let has_mux = |known: &&render::KnownAgent| known.installed;
        Ok(Self {
            args,
            dirs: resolve_dirs()?,
            agents: meant.clone().map(|known| known.agent).collect(),
            with_mux: meant.filter(has_mux).map(|known| known.agent).collect(),
            places,
        })
    }

    fn config(&self) -> Result<ConfigSummary, CommandFailure> {
        let config = AgentFile::read(&self.dirs.config_file())?.parse(ConfigFormat::Toml)?;
        let check = &config.values()["check"];
        Ok(ConfigSummary {
            has_servers: ["servers", "sources"]
                .iter()
                .any(|section| !config.section_entries(&[section]).is_empty()),
            has_own_check: check["tsc"].is_string() || check["mode"] == "off",
        })
    }

    /// Takes all steps, or plans them in a dry run.
    async fn take(
        &self,
        config: &ConfigSummary,
        dry_run: bool,
        json: bool,
    ) -> Result<InitReport, CommandFailure> {
        // First, because servers are moved only out of the files of agents that have mux.
        let without_mux = self.agents.iter().copied();
        let without_mux: Vec<Agent> = without_mux
            .filter(|agent| !self.with_mux.contains(agent))
            .collect();
        let install_args = args::InstallArgs {
            dry_run,
            name: "mux".into(),
            ..args::InstallArgs::default()
        };
        let installs = edit_agents(&without_mux, &install_args, &self.places)?;
        let getting_mux: Vec<Agent> = installs
            .iter()
            .filter(|edit| edit.status != InstallStatus::Failed)
            .map(|edit| edit.agent)
            .collect();
        Ok(InitReport {
            dry_run,
            agents: self.agents.clone(),
            import: self.import_servers(dry_run, &getting_mux).await,
            installs,
            compiler: if config.has_own_check {
                Ok(CompilerStep::NotNeeded)
            } else {
                install_compiler(dry_run, json).await
            },
            service: if self.args.service {
                Some(
                    service::install_service(&self.dirs, dry_run, json)
                        .await
                        .map_err(|failure| failure.error),
                )
            } else {
                None
            },
            program: None,
            servers: Vec::new(),
            next: Vec::new(),
        })
    }

    async fn import_servers(
        &self,
        dry_run: bool,
        getting_mux: &[Agent],
    ) -> Option<Result<render::ImportReport, Error>> {
        let has_file = |agent: &Agent| self.places.agent_config_file(*agent).exists();
        let agents: Vec<Agent> = self.agents.iter().copied().filter(has_file).collect();
        if agents.is_empty() {
            return None;
        }
        let args = args::ImportArgs {
            dry_run,
            move_servers: self.args.move_servers,
            ..args::ImportArgs::default()
        };
        let report = run_import(&agents, &args, getting_mux).await;
        Some(report.map_err(|failure| failure.error))
    }

    /// The user's next steps, one sentence each. `has_servers` is true if muxd has servers after the steps.
    fn next_steps(&self, report: &InitReport, has_servers: bool) -> Vec<String> {
        let import = report
            .import
            .as_ref()
            .and_then(|import| import.as_ref().ok());
        let carried = import.map_or(&[][..], |import| &import.carried);
        let mut next = Vec::new();
        let edited: Vec<Agent> = report.edited_agents().collect();
        let has_mux = |agent: &Agent| self.with_mux.contains(agent) || edited.contains(agent);
        let moved = || carried.iter().filter(|one| one.moved);
        if !report.dry_run {
            let mut changed: Vec<Agent> = edited
                .iter()
                .copied()
                .chain(moved().map(|one| one.agent))
                .collect();
            changed.sort_unstable();
            changed.dedup();
            if !changed.is_empty() {
                let names: Vec<&str> = changed.iter().map(|agent| agent.display_name()).collect();
                next.push(format!(
                    "restart {} to start `mux mcp` there",
                    names.join(", ")
                ));
            }
            next.push(if has_servers {
                "`mux tools` lists the tools of your servers, `mux ui` shows muxd in the browser"
                    .into()
            } else {
                format!("add a server: `{ADD_SERVER_EXAMPLE}`")
            });
        }
        // An entry that muxd cannot use stays in the agent's file.
        let is_usable = |one: &ImportedServer| {
            let mut servers = report.servers.iter();
            let known = servers.find(|server| one.server.as_ref() == Some(&server.name));
            known.is_none_or(render::InitServer::is_usable)
        };
        let runs_twice = |one: &&ImportedServer| {
            is_usable(one)
                && !one.moved
                && one.stays.is_none()
                && !one.is_mux
                && one.enabled
                && one.is_in_config()
                && has_mux(&one.agent)
        };
        let mut twice: Vec<&str> = carried
            .iter()
            .filter(runs_twice)
            .map(|one| one.name.as_str())
            .collect();
        twice.sort_unstable();
        twice.dedup();
        if !twice.is_empty() {
            next.push(format!(
                "`mux import --move` removes {} from the agents' files; until then each runs twice",
                twice.join(", ")
            ));
        }
        if !report.dry_run && report.has_changes() {
            next.push("`mux init --undo` undoes all of this".into());
        }
        next
    }
}

async fn install_compiler(dry_run: bool, json: bool) -> Result<CompilerStep, Error> {
    let error = |failure: CommandFailure| {
        with_prefix("the type checker cannot be installed", failure.error)
    };
    let Some(from) = setup::missing_compiler_url().map_err(error)? else {
        return Ok(CompilerStep::Present);
    };
    if dry_run {
        return Ok(CompilerStep::Missing { from });
    }
    let installed = setup::install_compiler(args::SetupArgs::default(), json).await;
    let (compiler, _) = installed.map_err(error)?;
    Ok(CompilerStep::Installed { compiler })
}

fn with_prefix(what: &str, error: Error) -> Error {
    Error {
        message: format!("{what}: {}", error.message),
        ..error
    }
}

fn nothing_found() -> Error {
    let message = "no supported agent was found on this machine, and config.toml has no server";
    Error::new(Kind::NotFound, message).hint(format!(
        "add a server: {ADD_SERVER_EXAMPLE}\nor name an agent ({}): mux init --agents NAME",
        Agent::names()
    ))
}

fn unconfirmed() -> Error {
    Error::new(Kind::Validation, "cannot ask for confirmation here")
        .hint("`mux init --yes` makes the changes shown, `mux init --dry-run` only shows them")
}

/// Runs a program that asks the servers for their tools, and calls none.
async fn run_first_program(server: &str, json: bool) -> Result<Value, Error> {
    let request = RunRequest {
        source: FIRST_PROGRAM.into(),
        input: json!(spell(server)).into(),
        timeout_ms: duration_millis(Some(FIRST_PROGRAM_TIMEOUT)),
        ..RunRequest::default()
    };
    let finished = request_with_retry(async |session| {
        mux_client::run(session, request.clone(), |_: &Event| ()).await
    });
    let outcome = match render::with_spinner("running a program", json, finished).await {
        Ok(Ok(finished)) => finished.outcome,
        Ok(Err(error)) | Err(CommandFailure { error, .. }) => Outcome::Error(error),
    };
    match outcome {
        Outcome::Result(value) => Ok(value.to_value()),
        Outcome::Stored(handle) => Ok(json!(handle)),
        Outcome::Error(error) => {
            let mut error = with_prefix("the first program failed", error);
            error.hint.get_or_insert_with(|| {
                "`mux servers` shows each server's state, `mux doctor` shows what to do".into()
            });
            // The position is in a program that the user does not see.
            (error.line, error.column) = (None, None);
            Err(error)
        }
    }
}
