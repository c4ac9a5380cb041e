//! Selects the servers that fit on one screen.
//!
//! Invariant: omitted servers are counted, and servers with problems are shown first.

use mux_proto::{ServerInfo, ServerState};

use super::{
    lists,
    style::escape_text,
    table::{STANDARD_COLUMNS, cut_line, terminal_columns},
};

/// The height of a standard terminal.
const SCREEN_LINES: usize = 24;
/// The shell's prompt below the output.
const PROMPT_LINES: usize = 1;

/// The lines of a table of servers, as many as fit below `above` other lines.
pub(super) fn fitting_lines(servers: &[ServerInfo], above: usize) -> Vec<String> {
    let width = Some(terminal_columns().unwrap_or(STANDARD_COLUMNS));
    let room = SCREEN_LINES - PROMPT_LINES;
    let mut room = room.saturating_sub(above);
    let all: usize = servers.iter().map(line_count).sum();
    let mut shown: Vec<&ServerInfo> = servers.iter().collect();
    // Including the table's header.
    let cut = all + 1 > room;
    if cut {
        // The header, and the line that counts omitted servers.
        room = room.saturating_sub(2).max(1);
        shown.sort_by_key(|server| is_healthy(server));
        shown.retain(|server| {
            let lines = line_count(server);
            let fits = lines <= room;
            room = if fits { room - lines } else { 0 };
            fits
        });
    }
    let rows: Vec<ServerInfo> = shown.into_iter().cloned().collect();
    let table = lists::server_table(&rows).text_within(width);
    let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
    for server in &rows {
        let remarks = remarks(server).map(|remark| format!("{}: {remark}", server.name));
        lines.extend(remarks.map(|line| cut_line(&line, width).into_owned()));
    }
    if cut {
        let left = servers.len() - rows.len();
        lines.push(format!(
            "... and {left} more; `mux status --all` shows them"
        ));
    }
    lines
}

fn line_count(server: &ServerInfo) -> usize {
    1 + server.sessions.len() + remarks(server).count()
}

/// The problems that need the user's attention, one line each.
fn remarks(server: &ServerInfo) -> impl Iterator<Item = String> {
    let is_shown = !is_healthy(server) || server.source.is_some();
    let remarks = is_shown
        .then(|| lists::server_remarks(server))
        .into_iter()
        .flatten();
    remarks.map(|remark| escape_text(remark.lines().next().unwrap_or_default()).to_string())
}

fn is_healthy(server: &ServerInfo) -> bool {
    matches!(
        server.state,
        ServerState::Ready | ServerState::Cold | ServerState::Starting | ServerState::Disabled
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, state: ServerState) -> ServerInfo {
        let plain = serde_json::json!({
            "name": name, "state": state, "command": "x".repeat(100), "starts": 0, "calls": 0, "in_flight": 0,
        });
        serde_json::from_value(plain).unwrap()
    }

    #[test]
    fn ten_servers_fit_and_no_line_wraps() {
        let servers: Vec<_> = (0..10)
            .map(|number| server(&format!("server{number}"), ServerState::Ready))
            .collect();
        let lines = fitting_lines(&servers, 10);
        assert_eq!(lines.len(), 11, "{lines:#?}");
        assert!(
            lines
                .iter()
                .all(|line| line.chars().count() <= STANDARD_COLUMNS.into()),
            "{lines:#?}"
        );
    }

    #[test]
    fn omitted_servers_are_counted_and_failed_ones_come_first() {
        let mut servers: Vec<_> = (0..50)
            .map(|number| server(&format!("server{number}"), ServerState::Ready))
            .collect();
        servers[40].state = ServerState::Failed;
        servers[40].reason = Some("it ended\nin many words".into());
        let lines = fitting_lines(&servers, 10);
        assert_eq!(lines.len(), SCREEN_LINES - PROMPT_LINES - 10, "{lines:#?}");
        assert!(lines[1].starts_with("server40"), "{lines:#?}");
        assert!(
            lines.contains(&"server40: it ended".to_owned()),
            "{lines:#?}"
        );
        let last = lines.last().unwrap();
        assert!(last.starts_with("... and 40 more; "), "{last}");
    }

    #[test]
    fn one_server_is_shown_even_without_room() {
        let servers = [
            server("a", ServerState::Ready),
            server("b", ServerState::Ready),
        ];
        let lines = fitting_lines(&servers, 100);
        assert_eq!(lines.len(), 3, "{lines:#?}");
    }
}
