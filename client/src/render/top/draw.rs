//! Draws one frame: the daemon on top, then its servers and runs, and the keys at the bottom.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Cell, Paragraph, Row, Table, TableState},
};

use super::{RUN_COLUMNS, SERVER_COLUMNS, run_cells, server_cells, summary_lines};
use crate::{
    render::{run_number, style::one_line},
    top::{FocusedList, TopFigures, TopScreen},
};

/// The height of a list's title and header.
const LIST_HEAD_LINES: u16 = 2;
/// Columns of the server list that narrow terminals omit: the column, and the width below which it is omitted.
const OPTIONAL_COLUMNS: [(usize, u16); 6] =
    [(2, 112), (5, 102), (9, 90), (3, 78), (6, 70), (8, 60)];
const COLUMN_WIDTHS: [u16; 10] = [0, 11, 8, 8, 8, 9, 8, 8, 7, 10];
/// The same for the run list, whose last column takes the rest.
const OPTIONAL_RUN_COLUMNS: [(usize, u16); 3] = [(4, 108), (3, 90), (2, 74)];
const RUN_COLUMN_WIDTHS: [u16; 6] = [24, 20, 8, 14, 16, 0];

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);

pub(super) fn draw_frame(
    frame: &mut Frame<'_>,
    figures: Option<&TopFigures>,
    screen: &TopScreen,
    trouble: Option<&str>,
) {
    let area = frame.area();
    let Some(figures) = figures else {
        let text = trouble.unwrap_or("asking muxd");
        frame.render_widget(Paragraph::new(one_line(text, 200)), area);
        return;
    };
    let servers = u16::try_from(figures.servers.len()).unwrap_or(u16::MAX);
    // Runs get the rest of the height, at least a few lines.
    let servers = servers.max(1).saturating_add(LIST_HEAD_LINES + 1);
    let [head, servers, runs, foot] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Max(servers),
        Constraint::Min(LIST_HEAD_LINES + 3),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(self::head_paragraph(figures, screen), head);
    let selected = screen.selected(figures);
    draw_servers(frame, servers, figures, screen, selected.0);
    draw_runs(frame, runs, figures, screen, selected.1);
    frame.render_widget(self::foot_paragraph(screen, trouble), foot);
}

fn head_paragraph(figures: &TopFigures, screen: &TopScreen) -> Paragraph<'static> {
    let [first, second] = summary_lines(figures);
    let mut first = vec![Span::styled("muxd ", STRONG), Span::raw(first)];
    if screen.paused {
        first.push(Span::styled("   paused", Style::new().fg(Color::Yellow)));
    }
    Paragraph::new(vec![Line::from(first), Line::raw(second)])
}

fn draw_servers(
    frame: &mut Frame<'_>,
    area: Rect,
    figures: &TopFigures,
    screen: &TopScreen,
    selected: Option<usize>,
) {
    let columns = shown_columns(SERVER_COLUMNS.len(), &OPTIONAL_COLUMNS, area.width);
    let widths = columns.iter().map(|column| match COLUMN_WIDTHS[*column] {
        0 => Constraint::Min(12),
        width => Constraint::Length(width),
    });
    let servers = screen.servers(figures);
    let rows = servers.iter().map(|server| {
        let cells = server_cells(server);
        let failing = server.errors > 0;
        let cells = columns.iter().map(|column| match column {
            1 => Cell::from(cells[1].clone()).style(state_style(&server.state)),
            8 if failing => {
                Cell::from(align_right(&cells[8], 8)).style(Style::new().fg(Color::Red))
            }
            column => Cell::from(align_right(&cells[*column], *column)),
        });
        Row::new(cells.collect::<Vec<_>>())
    });
    let header = columns
        .iter()
        .map(|column| align_right(SERVER_COLUMNS[*column], *column));
    let header = Row::new(header.collect::<Vec<_>>()).style(DIM);
    let table = Table::new(rows.collect::<Vec<_>>(), widths).header(header);
    let title = format!("servers, by {}", screen.order.order_name());
    let is_here = screen.focus == FocusedList::Servers;
    draw_list(frame, area, table, (&title, is_here), selected);
}

fn draw_runs(
    frame: &mut Frame<'_>,
    area: Rect,
    figures: &TopFigures,
    screen: &TopScreen,
    selected: Option<usize>,
) {
    let columns = shown_columns(RUN_COLUMNS.len(), &OPTIONAL_RUN_COLUMNS, area.width);
    let widths = columns
        .iter()
        .map(|column| match RUN_COLUMN_WIDTHS[*column] {
            0 => Constraint::Min(10),
            width => Constraint::Length(width),
        });
    let rows = figures.running.iter().map(|run| {
        let cells = run_cells(run);
        Row::new(
            columns
                .iter()
                .map(|column| cells[*column].clone())
                .collect::<Vec<_>>(),
        )
    });
    let header = Row::new(columns.iter().map(|column| RUN_COLUMNS[*column])).style(DIM);
    let table = Table::new(rows.collect::<Vec<_>>(), widths).header(header);
    let is_here = screen.focus == FocusedList::Runs;
    draw_list(frame, area, table, ("active runs", is_here), selected);
}

/// The columns of a list for which the terminal is wide enough.
fn shown_columns(count: usize, optional: &[(usize, u16)], width: u16) -> Vec<usize> {
    let omitted = |column: &usize| {
        let mut optional = optional.iter();
        optional.any(|(omitted, below)| omitted == column && width < *below)
    };
    (0..count).filter(|column| !omitted(column)).collect()
}

/// Draws a list with its title, scrolled to the selected row.
fn draw_list(
    frame: &mut Frame<'_>,
    area: Rect,
    table: Table<'_>,
    (title, is_here): (&str, bool),
    selected: Option<usize>,
) {
    let [above, below] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let style = if is_here { STRONG } else { DIM };
    frame.render_widget(Paragraph::new(title.to_owned()).style(style), above);
    let highlight = if is_here {
        Style::new().add_modifier(Modifier::REVERSED)
    } else {
        STRONG
    };
    let mut state = TableState::new().with_selected(selected);
    let table = table.row_highlight_style(highlight).column_spacing(2);
    frame.render_stateful_widget(table, below, &mut state);
}

fn foot_paragraph(screen: &TopScreen, trouble: Option<&str>) -> Paragraph<'static> {
    let warned = Style::new().fg(Color::Yellow);
    if let Some(run) = &screen.confirming {
        return Paragraph::new(format!(
            "stop run {}? press y to stop it, any other key to keep it",
            run_number(run)
        ))
        .style(warned);
    }
    if let Some(text) = screen.note.as_deref().or(trouble) {
        return Paragraph::new(one_line(text, 200)).style(warned);
    }
    let keys = "q quit   s sort   tab list   \u{2191}\u{2193} select   x stop a run   p pause";
    Paragraph::new(keys).style(DIM)
}

/// Aligns the numbers of a column to the right.
fn align_right(text: &str, column: usize) -> String {
    match column {
        0 | 1 => text.to_owned(),
        column => format!("{text:>width$}", width = usize::from(COLUMN_WIDTHS[column])),
    }
}

fn state_style(state: &str) -> Style {
    let color = match state {
        "ready" => Color::Green,
        "cold" | "gone" => Color::DarkGray,
        "failed" | "broken" => Color::Red,
        _ => Color::Yellow,
    };
    Style::new().fg(color)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use crossterm::event::{KeyCode, KeyEvent};
    use ratatui::{Terminal, backend::TestBackend};

    use super::*;
    use crate::top::{ReadingHistory, tests::reading};

    fn figures() -> TopFigures {
        let began = Instant::now();
        let mut history = ReadingHistory::default();
        history.push(reading(began, 4711, 60, 100));
        history.push(reading(began, 4711, 61, 130));
        TopFigures::of(&history).unwrap()
    }

    /// The lines of a terminal of this size.
    fn drawn(
        (width, height): (u16, u16),
        figures: Option<&TopFigures>,
        screen: &TopScreen,
        trouble: Option<&str>,
    ) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal
            .draw(|frame| draw_frame(frame, figures, screen, trouble))
            .unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| {
            let cells = (0..width).map(|x| buffer[(x, y)].symbol());
            cells.collect::<String>().trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }

    #[test]
    fn daemon_servers_and_runs_are_on_one_screen() {
        let lines = drawn((120, 14), Some(&figures()), &TopScreen::default(), None);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(
            lines,
            [
                "muxd 0.1.0, pid 4711, up 1m 1s   cpu 10.0%   memory 30.0 MiB   descriptors 40   clients 2",
                "runs 1 running, 5 succeeded, 2 failed   workers 2 ready, 0 busy, 0 starting, 0 waiting",
                "",
                "servers, by name",
                "SERVER                     STATE        SESSIONS     CALLS   CALLS/S  IN FLIGHT       P50       P99   ERRORS      MEMORY",
                "fix                        ready               1       133      30.0          4      5 ms     10 ms        3     2.0 MiB",
                "idle                       cold                0         0       0.0          0         -         -        0           -",
                "",
                "active runs",
                "RUN                       STATE                 AGE       CALLS           CLIENT            PROGRAM",
                "7                         running               1.2 s     3 (1 failed)    coder             return 1",
                "",
                "",
                "q quit   s sort   tab list   \u{2191}\u{2193} select   x stop a run   p pause",
            ]
        );
    }

    #[test]
    fn narrow_terminal_omits_columns() {
        let figures = figures();
        let narrow = drawn((64, 12), Some(&figures), &TopScreen::default(), None);
        assert!(
            narrow[4].starts_with("SERVER") && narrow[4].ends_with("ERRORS"),
            "{narrow:#?}"
        );
        assert!(
            !narrow[4].contains("MEMORY") && narrow[4].contains("P99"),
            "{narrow:#?}"
        );
        let runs = narrow.iter().find(|line| line.starts_with("RUN"));
        assert!(
            runs.is_some_and(|line| line.contains("PROGRAM") && !line.contains("AGE")),
            "{narrow:#?}"
        );
        for size in [(1, 1), (10, 3), (40, 6), (200, 60)] {
            drawn(size, Some(&figures), &TopScreen::default(), None);
        }
    }

    #[test]
    fn prompts_and_errors_are_on_the_last_line() {
        let figures = figures();
        let mut screen = TopScreen::default();
        let press = |screen: &mut TopScreen, keys: &str| {
            for key in keys.chars() {
                screen.handle_key(KeyEvent::from(KeyCode::Char(key)), Some(&figures));
            }
        };
        press(&mut screen, "pjx");
        let lines = drawn((100, 12), Some(&figures), &screen, None);
        assert!(lines[0].ends_with("paused"), "{lines:#?}");
        assert!(lines[11].starts_with("stop run 7?"), "{lines:#?}");
        press(&mut screen, "n");
        let lines = drawn((100, 12), Some(&figures), &screen, Some("no muxd\u{1b}[2J"));
        assert_eq!(lines[11], "no muxd [2J");
        let lines = drawn((100, 2), None, &screen, None);
        assert_eq!(lines[0], "asking muxd");
    }
}
