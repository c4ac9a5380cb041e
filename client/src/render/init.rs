//! The output of `mux init`: the plan, the completed steps, and the next steps. The output contains no secret
//! values.

use std::process::ExitCode;

use comfy_table::{Cell, Color};
use serde::Serialize;

use super::terminal::{eprintln, println};
use mux_proto::{Error, Kind};
use serde_json::{Value, json};

use super::{
    CompilerInfo, ImportOutcome, ImportReport, InstallEdit, InstallStatus, ServiceChange,
    display_path,
    human_units::count_text,
    print_document,
    style::{DIM, ERROR, GOOD, NAME, STRONG, escape_text, one_line, paint},
    table::ListTable,
    usage, warn,
};
use crate::{agents::Agent, exit};

/// The maximum length of the reason why a server is not imported, in characters.
const MAX_REASON_CHARS: usize = 160;
/// Longer next steps of servers stand below the table.
const MAX_NEXT_CHARS: usize = 40;

/// The steps of `mux init`, planned or taken.
#[derive(Debug)]
pub(crate) struct InitReport {
    pub(crate) dry_run: bool,
    pub(crate) agents: Vec<Agent>,
    /// `None` if no agent has a file with servers.
    pub(crate) import: Option<Result<ImportReport, Error>>,
    /// The files of the agents that did not have mux.
    pub(crate) installs: Vec<InstallEdit>,
    pub(crate) compiler: Result<CompilerStep, Error>,
    /// `None` if the service was not asked for.
    pub(crate) service: Option<Result<ServiceChange, Error>>,
    /// The result of the first program, or `None` if none was run.
    pub(crate) program: Option<Result<Value, Error>>,
    /// All servers, once they were connected to.
    pub(crate) servers: Vec<InitServer>,
    /// The user's next steps.
    pub(crate) next: Vec<String>,
}

/// A server after the attempt to connect to it.
#[derive(Debug, Serialize)]
pub(crate) struct InitServer {
    pub(crate) name: String,
    pub(crate) state: InitServerState,
    pub(crate) tools: Option<usize>,
    /// Why it is not ready.
    pub(crate) reason: Option<String>,
    /// The command or change that comes next.
    pub(crate) next: Option<String>,
}

impl InitServer {
    pub(crate) fn is_ready(&self) -> bool {
        self.state == InitServerState::Ready
    }

    /// The next step, if it fits into a table on any terminal.
    fn short_next(&self) -> Option<&str> {
        let next = self.next.as_deref()?;
        (next.chars().count() <= MAX_NEXT_CHARS).then_some(next)
    }

    /// False if its entry needs an edit or a value first.
    pub(crate) fn is_usable(&self) -> bool {
        !matches!(
            self.state,
            InitServerState::EntryUnusable | InitServerState::NeedsValue
        )
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InitServerState {
    Ready,
    NeedsValue,
    NeedsLogin,
    ProgramNotFound,
    EntryUnusable,
    NoAnswer,
    Disabled,
}

impl InitServerState {
    /// A disabled server is as the user wants it.
    pub(crate) fn is_working(self) -> bool {
        matches!(self, Self::Ready | Self::Disabled)
    }

    fn cell(self) -> Cell {
        let (text, color) = match self {
            Self::Ready => ("ready", Color::Green),
            Self::NeedsValue => ("needs a value", Color::Yellow),
            Self::NeedsLogin => ("needs a login", Color::Yellow),
            Self::ProgramNotFound => ("program not found", Color::Red),
            Self::EntryUnusable => ("entry cannot be used", Color::Red),
            Self::NoAnswer => ("does not answer", Color::Red),
            Self::Disabled => ("disabled", Color::DarkGrey),
        };
        Cell::new(text).fg(color)
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum CompilerStep {
    /// The configuration names another compiler, or switches checks off.
    NotNeeded,
    Present,
    /// The compiler would be downloaded.
    Missing {
        from: String,
    },
    Installed {
        compiler: CompilerInfo,
    },
}

impl InitReport {
    /// The agents whose files got mux, or would get it.
    pub(crate) fn edited_agents(&self) -> impl Iterator<Item = Agent> {
        let edited = self
            .installs
            .iter()
            .filter(|edit| matches!(edit.status, InstallStatus::Added | InstallStatus::Updated));
        edited.map(|edit| edit.agent)
    }

    /// Returns true if a step changes something.
    pub(crate) fn has_changes(&self) -> bool {
        matches!(&self.import, Some(Ok(import)) if import.changes_files())
            || self.edited_agents().next().is_some()
            || matches!(
                self.compiler,
                Ok(CompilerStep::Missing { .. } | CompilerStep::Installed { .. })
            )
            || matches!(&self.service, Some(Ok(change)) if !change.is_idle())
    }

    /// The errors of all steps, in their order.
    fn errors(&self) -> Vec<&Error> {
        let installs = self.installs.iter();
        let mut errors: Vec<&Error> = installs.filter_map(|edit| edit.error.as_ref()).collect();
        match &self.import {
            Some(Ok(import)) => {
                // A file that cannot be read cannot be edited either, which is reported with its fix.
                let is_told = |agent| {
                    let mut failed = self.installs.iter().filter(|edit| edit.error.is_some());
                    failed.any(|edit| edit.agent == agent)
                };
                let reads = import.agents.iter().filter(|read| !is_told(read.agent));
                errors.extend(reads.filter_map(|read| read.error.as_ref()));
                errors.extend(&import.move_error);
            }
            Some(Err(error)) => errors.push(error),
            None => {}
        }
        errors.extend(self.compiler.as_ref().err());
        errors.extend(self.service.iter().filter_map(|step| step.as_ref().err()));
        errors.extend(self.program.iter().filter_map(|step| step.as_ref().err()));
        errors
    }

    /// The exit code of the first step that failed, or that of a server that is not ready.
    fn code(&self) -> u8 {
        let not_ready = self.servers.iter().any(|server| !server.state.is_working());
        let otherwise = if not_ready {
            Kind::Unavailable.exit_code()
        } else {
            0
        };
        self.errors()
            .first()
            .map_or(otherwise, |error| error.kind.exit_code())
    }

    fn document(&self) -> Value {
        let or_error = |step: Result<Value, &Error>| match step {
            Ok(value) => value,
            Err(error) => json!({ "error": error }),
        };
        let compiler = self.compiler.as_ref().map(|step| json!(step));
        let import = self.import.as_ref();
        let service = self.service.as_ref();
        let program = self.program.as_ref();
        json!({
            "ok": self.code() == 0,
            "dry_run": self.dry_run,
            "changes": self.has_changes(),
            "agents": self.agents,
            "import": import.map(|step| or_error(step.as_ref().map(|import| json!(import.document())))),
            "install": self.installs,
            "compiler": or_error(compiler),
            "service": service.map(|step| or_error(step.as_ref().map(|change| json!(change)))),
            "program": program.map(|step| {
                or_error(step.as_ref().map(|result| json!({ "result": result })))
            }),
            "servers": self.servers,
            "next": self.next,
        })
    }
}

/// Prints the plan, or that no step is needed. The exit code is that of the first step that cannot be taken.
pub(crate) fn init_plan(plan: &InitReport, json: bool) -> ExitCode {
    if json {
        print_document(&plan.document());
        return ExitCode::from(plan.code());
    }
    let titles: Vec<&str> = plan
        .agents
        .iter()
        .map(|agent| agent.display_name())
        .collect();
    match titles.as_slice() {
        [] => println!("no agent was found; config.toml has servers"),
        titles => println!("agents: {}", titles.join(", ")),
    }
    print_steps(plan);
    if !plan.has_changes() && plan.errors().is_empty() {
        println!("nothing to do: everything is set up");
    }
    print_servers(&plan.servers);
    print_end(plan)
}

/// Prints the plan that cannot be confirmed, as a usage error.
pub(crate) fn init_unconfirmed(plan: &InitReport, error: &Error, json: bool) -> ExitCode {
    if json {
        let mut document = plan.document();
        document["ok"] = false.into();
        document["error"] = json!(error);
        print_document(&document);
        return ExitCode::from(exit::USAGE_EXIT_CODE);
    }
    init_plan(plan, false);
    usage(error, false)
}

/// Prints the completed steps, the result of the first program, and the next steps.
pub(crate) fn init_done(done: &InitReport, json: bool) -> ExitCode {
    if json {
        print_document(&done.document());
        return ExitCode::from(done.code());
    }
    println!();
    print_steps(done);
    if let Some(Ok(import)) = &done.import {
        let problems = import.reloaded.iter().flat_map(|report| &report.problems);
        problems.chain(&import.not_reloaded).for_each(warn);
    }
    match &done.program {
        Some(Ok(Value::Null)) => println!("no server is enabled; `mux servers enable NAME`"),
        Some(Ok(result)) => print_program_result(result),
        Some(Err(_)) | None => {}
    }
    print_servers(&done.servers);
    print_end(done)
}

/// Prints a table of all servers, then the reasons why servers are not ready.
fn print_servers(servers: &[InitServer]) {
    if servers.is_empty() {
        return;
    }
    let mut table = ListTable::new(["SERVER", "STATE", "TOOLS", "NEXT"]);
    for server in servers {
        table.add_row([
            Cell::new(&server.name),
            server.state.cell(),
            Cell::new(server.tools.map_or("-".into(), |tools| tools.to_string())),
            Cell::new(server.short_next().unwrap_or_default()),
        ]);
    }
    println!("\n{}", table.text());
    for server in servers {
        if let Some(reason) = &server.reason {
            let reason = escape_text(&one_line(reason, MAX_REASON_CHARS)).into_owned();
            println!("{}: {reason}", paint(NAME, &server.name));
            if let Some(next) = &server.next
                && server.short_next().is_none()
            {
                println!("  {} {}", paint(DIM, "next:"), escape_text(next));
            }
        }
    }
    let ready = servers.iter().filter(|server| server.is_ready()).count();
    let enabled = servers
        .iter()
        .filter(|server| server.state != InitServerState::Disabled);
    println!("{ready} of {} ready", count_text(enabled.count(), "server"));
}

/// Asks for a value that a server needs; the prompt with its name follows.
pub(crate) fn value_needed(server: &str, name: &str) {
    eprintln!(
        "{} needs {name}, which is stored so that only you can read it; press Enter to skip it",
        paint(NAME, server)
    );
}

fn print_program_result(result: &Value) {
    let text = |value: &Value| escape_text(value.as_str().unwrap_or_default()).into_owned();
    let server = text(&result["server"]);
    let tools = result["tools"].as_u64().unwrap_or_default();
    let tools = usize::try_from(tools).unwrap_or(usize::MAX);
    let paths = result["paths"].as_array().into_iter().flatten();
    let paths: Vec<String> = paths.map(text).collect();
    let more = if tools > paths.len() { ", …" } else { "" };
    let such = if paths.is_empty() {
        String::new()
    } else {
        format!(": {}{more}", paths.join(", "))
    };
    let tools = count_text(tools, "tool");
    println!(
        "{} a program; the server {} answered with {tools}{such}",
        paint(GOOD, "ran"),
        paint(NAME, server)
    );
}

/// Prints the errors with their fixes, then the next steps.
fn print_end(report: &InitReport) -> ExitCode {
    for error in report.errors() {
        eprintln!("{}: {}", paint(ERROR, "error"), escape_text(&error.message));
        let hint = error.hint.as_deref().unwrap_or_default();
        for (index, line) in hint.lines().enumerate() {
            let label = if index == 0 { "fix:" } else { "    " };
            eprintln!("  {} {}", paint(DIM, label), escape_text(line));
        }
    }
    if !report.next.is_empty() {
        println!();
    }
    for line in &report.next {
        println!("{} {}", paint(DIM, "next:"), escape_text(line));
    }
    ExitCode::from(report.code())
}

/// The verb of a step that would be taken, or that was taken.
pub(super) fn step_verb(dry_run: bool, plan: &str, done: &str) -> String {
    if dry_run {
        paint(STRONG, format!("would {plan}"))
    } else {
        paint(GOOD, done)
    }
}

/// Prints the steps, with each file that is written. A plan has more details.
fn print_steps(report: &InitReport) {
    let verb = |plan: &str, done: &str| step_verb(report.dry_run, plan, done);
    if let Some(Ok(import)) = &report.import {
        print_import(import, report.dry_run, &verb);
    }
    let edits = report.installs.iter().filter(|edit| edit.error.is_none());
    let edits: Vec<&InstallEdit> = edits
        .filter(|edit| edit.status != InstallStatus::Unchanged)
        .collect();
    if !edits.is_empty() {
        println!("{} `mux mcp` to", verb("add", "added"));
        for edit in edits {
            print_file(
                edit.agent,
                &display_path(&edit.file),
                edit.backup.as_deref(),
            );
        }
    }
    if let Some(Ok(import)) = &report.import {
        print_moves(import, &verb);
    }
    match &report.compiler {
        Ok(CompilerStep::Missing { from }) => println!(
            "{} the TypeScript compiler, which checks programs, from {}",
            paint(STRONG, "would install"),
            escape_text(from)
        ),
        Ok(CompilerStep::Installed { compiler }) => println!(
            "{} TypeScript {}, which checks programs, in {}",
            paint(GOOD, "installed"),
            compiler.version.as_deref().unwrap_or_default(),
            display_path(&compiler.path)
        ),
        Ok(CompilerStep::NotNeeded | CompilerStep::Present) | Err(_) => {}
    }
    if let Some(Ok(change)) = &report.service
        && !change.is_idle()
    {
        println!(
            "{} the service {} ({})",
            verb("install", "installed"),
            change.service,
            change.system
        );
        for file in change.files.iter().filter(|file| file.changes) {
            println!("  {}", display_path(&file.path));
        }
    }
}

fn print_import(import: &ImportReport, dry_run: bool, verb: &dyn Fn(&str, &str) -> String) {
    let written: Vec<_> = import.written().collect();
    if !written.is_empty() {
        println!(
            "{} {} into {}",
            verb("import", "imported"),
            count_text(written.len(), "server"),
            display_path(&import.config)
        );
        if let Some(backup) = &import.backup {
            println!("  backup: {}", display_path(backup));
        }
    }
    if !dry_run {
        return;
    }
    for one in &written {
        let server = one.server.as_deref().unwrap_or_default();
        let renamed = if server == one.name {
            String::new()
        } else {
            format!(" as {server}")
        };
        let off = if one.enabled { "" } else { ", disabled" };
        println!(
            "  {}{renamed} of {}{off}",
            paint(NAME, escape_text(&one.name)),
            one.agent.display_name()
        );
    }
    let secrets: usize = written.iter().map(|one| one.secrets.len()).sum();
    if secrets > 0 {
        let secrets = count_text(secrets, "secret");
        println!("  {secrets}: stored in {}", display_path(&import.env));
    }
    for one in import
        .carried
        .iter()
        .filter(|one| !one.is_in_config() && !one.is_mux)
    {
        let reason = match one.fate {
            ImportOutcome::Kept => "config.toml has a different server with this name",
            _ => one.notes.first().map_or("", String::as_str),
        };
        println!(
            "  not {} of {}: {}",
            paint(NAME, escape_text(&one.name)),
            one.agent.display_name(),
            one_line(reason, MAX_REASON_CHARS)
        );
    }
}

fn print_moves(import: &ImportReport, verb: &dyn Fn(&str, &str) -> String) {
    let moved = import.agents.iter().filter(|read| read.diff.is_some());
    for read in moved {
        let mine = import.carried.iter().filter(|one| one.agent == read.agent);
        let names = mine.filter(|one| one.moved).map(|one| one.name.as_str());
        println!(
            "{} {} out of",
            verb("take", "took"),
            escape_text(&names.collect::<Vec<_>>().join(", "))
        );
        print_file(
            read.agent,
            &display_path(&read.file),
            read.backup.as_deref(),
        );
    }
    for one in &import.carried {
        if let Some(reason) = &one.stays {
            println!(
                "  {} stays in the file of {}: {}",
                paint(NAME, escape_text(&one.name)),
                one.agent.display_name(),
                escape_text(reason)
            );
        }
    }
}

fn print_file(agent: Agent, file: &str, backup: Option<&std::path::Path>) {
    println!("  {}  {}", agent.display_name(), paint(DIM, file));
    if let Some(backup) = backup {
        println!("    backup: {}", display_path(backup));
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use mux_proto::Kind;

    use super::*;

    #[test]
    fn file_that_cannot_be_read_is_one_error_and_no_change() {
        let file = PathBuf::from("/h/mcp.json");
        let error = |message: &str, kind| Error::new(kind, message);
        let mut import = ImportReport::new(true, "/h/config.toml".into(), "/h/env".into());
        import.read(
            Agent::Cursor,
            file.clone(),
            Err(error("read", Kind::Validation)),
        );
        import.read(
            Agent::Zed,
            file.clone(),
            Err(error("zed", Kind::Validation)),
        );
        let edit = error("edit", Kind::Validation);
        let mut report = InitReport {
            dry_run: true,
            agents: vec![Agent::Cursor, Agent::Zed],
            import: Some(Ok(import)),
            installs: vec![InstallEdit::failed(Agent::Cursor, file, true, edit)],
            compiler: Err(error("download", Kind::Unavailable)),
            service: None,
            program: None,
            servers: Vec::new(),
            next: Vec::new(),
        };
        let messages = |report: &InitReport| -> Vec<String> {
            let errors = report.errors().into_iter();
            errors.map(|error| error.message.clone()).collect()
        };
        assert_eq!(messages(&report), ["edit", "zed", "download"]);
        assert_eq!((report.code(), report.has_changes()), (1, false));
        let document = report.document();
        assert_eq!(document["compiler"]["error"]["kind"], "unavailable");
        assert_eq!(
            (&document["ok"], &document["service"]),
            (&json!(false), &Value::Null)
        );

        report.installs[0].error = None;
        report.installs[0].status = InstallStatus::Added;
        report.import = None;
        assert_eq!(messages(&report), ["download"]);
        assert_eq!((report.code(), report.has_changes()), (3, true));
    }
}
