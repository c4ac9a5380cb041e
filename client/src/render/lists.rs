//! Lists of tools and servers.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::terminal::{eprintln, print, println};
use comfy_table::{Cell, Color};
use mux_proto::{
    AuthState, Problem, SandboxInfo, SandboxState, ServerInfo, ServerState, ToolInfo, ToolList,
};

use super::{
    display_path, human_units, note, print_extended,
    style::{DIM, NAME, STRONG, WARN, escape_text, paint},
    table::{ListTable, cut_line, terminal_columns, text_columns},
    terminal::escape_one_line,
    warn,
};

const MAX_DESCRIPTION_CHARS: usize = 100;

/// Prints tools by server. `no_servers`: none is configured.
pub(crate) fn tools(list: &ToolList, no_servers: bool) {
    let mut server = "";
    for tool in &list.tools {
        if tool.server != server {
            if !server.is_empty() {
                println!();
            }
            server = &tool.server;
            println!("{}", paint(STRONG, server));
            let instructions = list
                .instructions
                .iter()
                .find(|instructions| instructions.server == server);
            if let Some(instructions) = instructions {
                print_instructions(&instructions.text);
            }
        }
        print_tool(tool, "  ");
    }
    if list.tools.len() < list.total {
        eprintln!(
            "{} of {} tools; --limit shows more",
            list.tools.len(),
            list.total
        );
    } else if no_servers {
        eprintln!(
            "no server is configured: `mux import` imports those of your agents, `mux servers add` adds one"
        );
    } else if list.total == 0 && list.missing.is_empty() {
        eprintln!("there are no tools");
    }
    print_list_remarks(list);
}

/// Prints the results of a search, best match first. `asked` is the server whose tools were searched, if not all were.
pub(crate) fn search_results(
    list: &ToolList,
    next: Option<&str>,
    asked: Option<&str>,
    json: bool,
) -> ExitCode {
    if json {
        print_extended(list, "next", next);
        return ExitCode::SUCCESS;
    }
    for tool in &list.tools {
        print_tool(tool, "");
    }
    match next {
        Some(next) => eprintln!(
            "{} of {} tools; --cursor {next} shows the next page",
            list.tools.len(),
            list.total
        ),
        None if list.total == 0 => eprintln!("no tool matches"),
        None => {}
    }
    print_list_remarks(&remarks_on_results(list, asked));
    if list.total == 0 && asked.is_none() && !list.missing.is_empty() {
        let missing: Vec<&str> = list.missing.iter().map(|it| it.server.as_str()).collect();
        note(&format!(
            "not searched: {}; `mux servers` shows why",
            missing.join(", ")
        ));
    }
    ExitCode::SUCCESS
}

/// The remarks on a list. Servers that failed or were remembered are mentioned only if they have tools in the list, or
/// if the user asked for them.
fn remarks_on_results(list: &ToolList, asked: Option<&str>) -> ToolList {
    let concerns =
        |server: &str| asked == Some(server) || list.tools.iter().any(|tool| tool.server == server);
    let mut remarks = list.clone();
    remarks.missing.retain(|missing| concerns(&missing.server));
    remarks.remembered.retain(|server| concerns(server));
    remarks
}

fn print_tool(tool: &ToolInfo, pad: &str) {
    let width = terminal_columns();
    println!("{}", tool_line(tool, pad, width));
    if let Some(line) = tool.description.as_deref().and_then(first_line) {
        let line = format!("{pad}    {}", paint(DIM, escape_text(&line)));
        println!("{}", cut_line(&line, width));
    }
}

/// A tool's signature with its marks. The signature is cut to the width, the marks are not.
fn tool_line(tool: &ToolInfo, pad: &str, width: Option<u16>) -> String {
    let rest = tool
        .signature
        .strip_prefix(&tool.path)
        .unwrap_or(&tool.signature);
    let mark = match (tool.destructive, tool.read_only) {
        (_, Some(true)) => String::new(),
        (Some(true), _) => format!(" {}", paint(WARN, "destructive")),
        _ => String::new(),
    };
    let changed = if tool.changed {
        format!(" {}", paint(WARN, "changed"))
    } else {
        String::new()
    };
    let forbidden = if tool.forbidden {
        format!(" {}", paint(WARN, "not callable"))
    } else {
        String::new()
    };
    let for_apps = if tool.for_apps {
        format!(" {}", paint(DIM, "for apps only"))
    } else {
        String::new()
    };
    let signature = format!(
        "{pad}{}{}",
        paint(NAME, escape_text(&tool.path)),
        escape_text(rest)
    );
    let marks = format!("{mark}{changed}{forbidden}{for_apps}");
    let room = width.map(|width| width.saturating_sub(text_columns(&marks)));
    format!("{}{marks}", cut_line(&signature, room))
}

/// Prints a server's instructions, marked as a quotation.
fn print_instructions(text: &str) {
    println!("  {}", paint(DIM, "the server's instructions:"));
    for line in text.lines() {
        println!("  {} {}", paint(DIM, "|"), escape_text(line));
    }
}

/// Prints which servers failed, warnings, and which lists are from the last session.
fn print_list_remarks(list: &ToolList) {
    for missing in &list.missing {
        warn(format!("{}: {}", missing.server, missing.error.message));
    }
    for warning in &list.warnings {
        warn(warning);
    }
    if !list.remembered.is_empty() {
        note(&format!(
            "from the last session, being refreshed: {}",
            list.remembered.join(", ")
        ));
    }
}

/// Prints one tool with its types.
pub(crate) fn tool(tool: &ToolInfo, types: &str) -> ExitCode {
    let mut traits = Vec::new();
    match (tool.destructive, tool.read_only) {
        (_, Some(true)) => traits.push("read-only".to_owned()),
        (Some(true), _) => traits.push("destructive".to_owned()),
        _ => {}
    }
    if let Some(calls) = tool.observed_calls {
        let calls = usize::try_from(calls).unwrap_or(usize::MAX);
        let calls = human_units::count_text(calls, "call");
        traits.push(format!("result type observed in {calls}"));
    }
    print!("{}", escape_text(types));
    if !traits.is_empty() {
        println!("\n{}", paint(DIM, traits.join(", ")));
    }
    ExitCode::SUCCESS
}

fn first_line(description: &str) -> Option<String> {
    // The first paragraph may be wrapped over several lines.
    let mut paragraphs = description.split("\n\n").map(str::trim);
    let paragraph = paragraphs.find(|paragraph| !paragraph.is_empty())?;
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut cut: String = line.chars().take(MAX_DESCRIPTION_CHARS).collect();
    if line.chars().count() > MAX_DESCRIPTION_CHARS {
        cut.push('…');
    }
    Some(cut)
}

pub(crate) fn servers(servers: &[ServerInfo], problems: &[Problem], config: &Path) {
    // Problems of a single server are shown with it.
    for problem in problems.iter().filter(|problem| problem.server.is_none()) {
        warn(&problem.message);
    }
    if servers.is_empty() && !problems.is_empty() {
        return;
    }
    if servers.is_empty() {
        eprintln!(
            "no server is configured; add one to {}:\n",
            display_path(config)
        );
        eprintln!(
            "[servers.files]\ncommand = \"mcp-server-filesystem\"\nargs = [\"/home/me/notes\"]"
        );
        eprintln!("\nthen run `mux reload`");
        return;
    }
    println!("{}", server_table(servers).text());
    for server in servers {
        let mut remarks = server_remarks(server);
        if servers.len() == 1 {
            remarks.extend(repair_remarks(server));
        }
        print_remarks(server, remarks);
        let name = paint(NAME, &server.name);
        match server.auth {
            Some(AuthState::Required) => println!("{name}: `mux servers login {}`", server.name),
            Some(AuthState::SignedIn) => println!("{name}: signed in"),
            None => {}
        }
        if let Some(project) = &server.project {
            let of = format!("of the project in {}", display_path(project));
            println!("{}: {}", paint(NAME, &server.name), paint(DIM, of));
        }
    }
}

/// The reason for a server's state, and the problems that need the user's attention.
pub(super) fn print_remarks(server: &ServerInfo, remarks: Vec<String>) {
    let name = paint(NAME, &server.name);
    for remark in remarks {
        println!("{name}: {}", super::indent_continuation(&remark));
    }
}

pub(super) fn server_remarks(server: &ServerInfo) -> Vec<String> {
    let retry = server
        .retry_in_ms
        .map(|ms| format!("retrying in {:.1} s", ms as f64 / 1e3));
    let reason = server
        .reason
        .as_deref()
        .map(|reason| reason.trim().to_owned());
    let mut remarks: Vec<String> = match (reason, retry) {
        (Some(reason), Some(retry)) => vec![format!("{retry}; {reason}")],
        (reason, retry) => reason.or(retry).into_iter().collect(),
    };
    if let (Some(share), Some(why)) = (&server.share, &server.share_reason)
        && share != "user"
    {
        remarks.push(format!("one session per {share}: {why}"));
    }
    for session in &server.sessions {
        // The reason of the best session is already shown above.
        if let Some(reason) = session
            .reason
            .as_deref()
            .filter(|_| session.reason != server.reason)
        {
            remarks.push(format!("{}: {}", session.of, reason.trim()));
        }
    }
    let warnings = server.warnings.iter();
    let warnings = warnings.filter(|warning| warning.fix.is_some());
    remarks.extend(warnings.map(|warning| warning.text.clone()));
    remarks.extend(server.sandbox.iter().flat_map(sandbox_remarks));
    remarks
}

/// The repairs of the server's messages. They do not matter to a user who lists several servers.
fn repair_remarks(server: &ServerInfo) -> impl Iterator<Item = String> {
    let warnings = server.warnings.iter();
    let repairs = warnings.filter(|warning| warning.fix.is_none());
    repairs.map(|warning| warning.text.clone())
}

/// The layers of a sandbox, its grants, and its denials.
fn sandbox_remarks(sandbox: &SandboxInfo) -> Vec<String> {
    if sandbox.state != SandboxState::On {
        return Vec::new();
    }
    let layers = if sandbox.layers.is_empty() {
        String::new()
    } else {
        format!(" ({})", sandbox.layers.join(", "))
    };
    let network = sandbox.network.as_deref().unwrap_or("none");
    let paths = |what: &str, paths: &[PathBuf]| {
        let paths: Vec<String> = paths.iter().map(|path| display_path(path)).collect();
        if paths.is_empty() {
            String::new()
        } else {
            format!("; {what}: {}", paths.join(", "))
        }
    };
    let read = paths("reads", &sandbox.read);
    let write = paths("writes", &sandbox.write);
    let denied = sandbox.denied.iter();
    std::iter::once(format!(
        "in a sandbox{layers}; network: {network}{read}{write}"
    ))
    .chain(denied.map(|denied| format!("its sandbox denied {denied}")))
    .collect()
}

/// As whom the server is used: who has signed in, and the account of its entry.
pub(crate) fn user_of(server: &ServerInfo) -> Option<String> {
    match (&server.who, &server.account) {
        (Some(who), Some(account)) if who != account => Some(format!("{who} ({account})")),
        (who, account) => who.clone().or_else(|| account.clone()),
    }
}

/// The table of servers: one row for each server, and one for each session of servers that may have several.
pub(super) fn server_table(servers: &[ServerInfo]) -> ListTable {
    let mut table = ListTable::new([
        "SERVER", "STATE", "WHO", "TOOLS", "START", "CALLS", "PID", "SHARE", "COMMAND",
    ])
    .leaving_out(["SHARE", "START", "PID", "CALLS", "TOOLS", "WHO"]);
    for server in servers {
        let number = |n: Option<u64>| n.map_or_else(|| "-".into(), |n| n.to_string());
        let dimmed = |cell: Cell| match server.state {
            ServerState::Disabled => cell.fg(Color::DarkGrey),
            _ => cell,
        };
        table.add_row([
            dimmed(Cell::new(&server.name)),
            state_cell(server.state),
            Cell::new(escape_one_line(
                &user_of(server).unwrap_or_else(|| "-".into()),
            )),
            Cell::new(number(server.tools.map(|n| n as u64))),
            Cell::new(
                server
                    .start_ms
                    .map_or_else(|| "-".into(), |ms| format!("{ms} ms")),
            ),
            Cell::new(server.calls),
            Cell::new(number(server.pid.map(u64::from))),
            Cell::new(server.share.as_deref().unwrap_or("-")),
            dimmed(Cell::new(escape_one_line(&server.command))),
        ]);
        for session in &server.sessions {
            table.add_row([
                Cell::new(format!("  {}", escape_one_line(&session.of))),
                state_cell(session.state),
                Cell::new(""),
                Cell::new(""),
                Cell::new(""),
                Cell::new(""),
                Cell::new(number(session.pid.map(u64::from))),
            ]);
        }
    }
    table
}

pub(super) fn state_cell(state: ServerState) -> Cell {
    match state {
        ServerState::Cold => Cell::new("cold").fg(Color::DarkGrey),
        ServerState::Starting => Cell::new("starting").fg(Color::Yellow),
        ServerState::Ready => Cell::new("ready").fg(Color::Green),
        ServerState::Degraded => Cell::new("degraded").fg(Color::Yellow),
        ServerState::BackingOff => Cell::new("backing off").fg(Color::Yellow),
        ServerState::Failed => Cell::new("failed").fg(Color::Red),
        ServerState::Broken => Cell::new("broken").fg(Color::Red),
        ServerState::Disabled => Cell::new("disabled").fg(Color::DarkGrey),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::table::tests::assert_fits, *};

    fn servers() -> Vec<ServerInfo> {
        let server = serde_json::json!([
            {
                "name": "filesystem", "state": "ready", "starts": 1, "calls": 12, "in_flight": 0, "tools": 14,
                "start_ms": 1204, "pid": 1_234_567, "share": "workspace",
                "command": "npx -y @modelcontextprotocol/server-filesystem /home/me/notes",
                "sessions": [
                    { "of": "/tmp/data", "state": "ready", "pid": 1_234_567 },
                    { "of": "/home/me/project", "state": "backing_off" },
                ],
            },
            { "name": "git", "state": "cold", "starts": 0, "calls": 0, "in_flight": 0, "command": "uvx mcp-server-git",
              "who": "ada@example.com", "account": "work" },
        ]);
        serde_json::from_value(server).unwrap()
    }

    #[test]
    fn table_of_servers_fits_the_terminal_with_sessions_under_their_columns() {
        for width in [40, 80, 120] {
            let text = server_table(&servers()).text_within(Some(width));
            assert_fits(&text, 4, width);
        }
        let narrow = server_table(&servers()).text_within(Some(40));
        let lines = [
            "SERVER              STATE        COMMAND",
            "filesystem          ready        npx -y…",
            "  /tmp/data         ready",
            "  /home/me/project  backing off",
            "git                 cold         uvx mc…",
        ];
        assert_eq!(narrow.lines().collect::<Vec<_>>(), lines);
        let piped = server_table(&servers()).text_within(None);
        let lines = [
            "SERVER              STATE        WHO                     TOOLS  START    CALLS  PID      SHARE      COMMAND",
            "filesystem          ready        -                       14     1204 ms  12     1234567  workspace  npx -y \
             @modelcontextprotocol/server-filesystem /home/me/notes",
            "  /tmp/data         ready                                                       1234567",
            "  /home/me/project  backing off                                                 -",
            "git                 cold         ada@example.com (work)  -      -        0      -        -          uvx mcp-server-git",
        ];
        assert_eq!(piped.lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn long_signature_is_cut_before_its_marks() {
        let tool = ToolInfo {
            path: "files.write_file".into(),
            signature: "files.write_file(args: { path: string; content: string })".into(),
            destructive: Some(true),
            ..ToolInfo::default()
        };
        let line = |width| {
            let line = tool_line(&tool, "  ", width);
            anstream::adapter::strip_str(&line).to_string()
        };
        let whole = format!("  {} destructive", tool.signature);
        assert_eq!((line(None), line(Some(80))), (whole.clone(), whole));
        assert_eq!(line(Some(40)), "  files.write_file(args: { … destructive");
    }
}
