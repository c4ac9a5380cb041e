//! The pictures of `docs/img`: made from a real daemon with invented data, and as new as what they show.
//!
//! `docs/img/pictures.json` has, for each picture, a digest of the files whose output it shows. `scripts/pictures` makes
//! the pictures anew.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use mux_tests::{Browser, Page, TerminalStreams, TestEnv, TestTerminal};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::root;

const MAX_PICTURE_BYTES: u64 = 150 << 10;
const COLUMNS: u16 = 100;

const PAGE: &[&str] = &[
    "client/src/commands/ui/page",
    "tests/browser/pictures.mjs",
    "tests/data/pictures.json",
];
/// Each picture, with the files and directories that it shows.
const PICTURES: &[(&str, &[&str])] = &[
    (
        "approval.svg",
        &[
            "client/src/commands/terminal_questions",
            "client/src/render/approvals.rs",
        ],
    ),
    (
        "top.svg",
        &["client/src/render/top", "client/src/render/top.rs"],
    ),
    ("ui-approval.png", PAGE),
    ("ui-overview.png", PAGE),
    ("ui-run.png", PAGE),
    ("ui-tools.png", PAGE),
];

#[test]
fn documentation_pictures_are_as_new_as_what_they_show() {
    let folder = root().join("docs/img");
    let manifest = folder.join("pictures.json");
    let current: BTreeMap<&str, String> = PICTURES
        .iter()
        .map(|(name, sources)| (*name, digest(sources)))
        .collect();
    if is_updating() {
        make_pictures(&folder);
        let text = serde_json::to_string_pretty(&current).unwrap() + "\n";
        fs::write(&manifest, text).unwrap();
    }
    let recorded: BTreeMap<String, String> =
        serde_json::from_str(&fs::read_to_string(&manifest).unwrap()).unwrap();
    for (name, sources) in PICTURES {
        assert_eq!(
            recorded.get(*name),
            current.get(name),
            "docs/img/{name} is older than {}: run `scripts/pictures`",
            sources.join(", ")
        );
        let bytes = fs::metadata(folder.join(name)).unwrap().len();
        assert!(bytes <= MAX_PICTURE_BYTES, "{name} has {bytes} bytes");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a switch for the developer who makes pictures, not a setting"
)]
fn is_updating() -> bool {
    env::var_os("UPDATE_PICTURES").is_some()
}

/// The digest of the files, with their names.
fn digest(sources: &[&str]) -> String {
    let mut files = Vec::new();
    for source in sources {
        add_files(&root().join(source), &mut files);
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let name = file.strip_prefix(root()).unwrap();
        hash.update(name.to_str().unwrap());
        hash.update([0]);
        // As on a checkout with other line ends.
        hash.update(fs::read_to_string(&file).unwrap().replace('\r', ""));
    }
    hash.finalize()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn add_files(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            add_files(&entry.unwrap().path(), files);
        }
    } else {
        files.push(path.to_owned());
    }
}

fn make_pictures(folder: &Path) {
    let browser = Browser::here().unwrap();
    let env = invented_home();
    browser.pictures(folder, &env, &Page::serve(&env));
    fs::write(folder.join("top.svg"), top(&env)).unwrap();
    fs::write(folder.join("approval.svg"), approval(&env)).unwrap();
}

/// A home with invented servers.
fn invented_home() -> TestEnv {
    let env = TestEnv::new();
    let data = fs::read_to_string(root().join("tests/data/pictures.json")).unwrap();
    let servers: Map<String, Value> = serde_json::from_str(&data).unwrap();
    env.write_config(&env.fixture("plain", &[]));
    let listed = env.mux(["--json", "tools"]).ok().json();
    let plain = listed["tools"].as_array().unwrap().iter();
    let plain: Vec<&str> = plain.map(|tool| tool["name"].as_str().unwrap()).collect();
    env.stop();
    let mut config = String::from(
        "[servers.calendar]\ncommand = \"calendar-mcp\"\n\
         [[policy]]\nmatch = \"issues.comment\"\naction = \"ask\"\nreason = \"Comments are public.\"\n",
    );
    for (name, tools) in servers {
        // Only the invented tools are listed.
        let mut changes: Map<String, Value> = plain
            .iter()
            .map(|tool| ((*tool).to_owned(), json!({ "list": null })))
            .collect();
        changes.extend(tools.as_object().unwrap().clone());
        let file = env.path(&format!("{name}.json"));
        fs::write(&file, Value::Object(changes).to_string()).unwrap();
        config += &env.fixture(&name, &["--changes", file.to_str().unwrap()]);
    }
    env.write_config(&config);
    env
}

fn top(env: &TestEnv) -> String {
    let mut command = env.command("mux");
    command.args(["top", "--color", "always"]);
    let mut terminal = TestTerminal::start_with(&mut command, TerminalStreams::All, COLUMNS);
    terminal.wait_for_on_screen("p pause");
    let picture = svg("mux top", terminal.screen(), env);
    terminal.press("q");
    picture
}

fn approval(env: &TestEnv) -> String {
    let program =
        "await mux.issues.comment({ number: 214, text: 'Fixed in the next version.' });\n";
    fs::write(env.path("answer.ts"), program).unwrap();
    let mut command = env.command("mux");
    command.args(["run", "--no-check", "answer.ts", "--color", "always"]);
    let mut terminal = TestTerminal::start_with(&mut command, TerminalStreams::All, COLUMNS);
    terminal.wait_for_on_screen("[?]");
    let picture = svg("mux run answer.ts", terminal.screen(), env);
    terminal.interrupt();
    picture
}

/// The screen of a terminal below the command that was typed, as a picture.
fn svg(command: &str, screen: &vt100::Screen, env: &TestEnv) -> String {
    const CELL: (f32, f32) = (8.4, 19.0);
    // Up to the empty part of the screen.
    let rows: Vec<bool> = screen
        .rows(0, COLUMNS)
        .map(|row| row.trim().is_empty())
        .collect();
    let empty = rows.windows(4).position(|rows| rows == [true; 4]);
    let used = empty.unwrap_or(rows.len());
    let width = f32::from(COLUMNS) * CELL.0 + 32.0;
    let height = (used as f32 + 1.0) * CELL.1 + 32.0;
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181b\"/>\n"
    );
    let mut line = |at: usize, column: u16, text: &str, color: &str, bold: bool| {
        let x = 16.0 + f32::from(column) * CELL.0;
        let y = 16.0 + (at as f32 + 0.75) * CELL.1;
        let weight = if bold { " font-weight=\"bold\"" } else { "" };
        let length = text.chars().count() as f32 * CELL.0;
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        _ = writeln!(
            picture,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{color}\"{weight} textLength=\"{length:.1}\" xml:space=\"preserve\">{text}</text>"
        );
    };
    line(0, 0, "$ ", "#9ba1a8", false);
    line(0, 2, command, "#e6e7e4", true);
    for row in 0..u16::try_from(used).unwrap() {
        for (column, text, color, bold) in spans(screen, row) {
            line(usize::from(row) + 1, column, &text, color, bold);
        }
    }
    picture += "</svg>\n";
    assert!(!picture.contains(env.home().to_str().unwrap()), "{picture}");
    picture
}

/// The texts of a row that look alike, without blank ones: their column, color and weight.
fn spans(screen: &vt100::Screen, row: u16) -> Vec<(u16, String, &'static str, bool)> {
    let mut spans: Vec<(u16, String, &'static str, bool)> = Vec::new();
    let mut end = 0;
    for column in 0..COLUMNS {
        let Some(cell) = screen.cell(row, column).filter(|cell| cell.has_contents()) else {
            continue;
        };
        let color = color(cell);
        let bold = cell.bold();
        match spans.last_mut() {
            Some(last) if end == column && (last.2, last.3) == (color, bold) => {
                last.1.push_str(cell.contents());
            }
            _ => spans.push((column, cell.contents().to_owned(), color, bold)),
        }
        end = column + 1;
    }
    spans.retain(|span| !span.1.trim().is_empty());
    spans
}

fn color(cell: &vt100::Cell) -> &'static str {
    match cell.fgcolor() {
        _ if cell.dim() => "#9ba1a8",
        vt100::Color::Idx(1 | 9) => "#ff8f86",
        vt100::Color::Idx(2 | 10) => "#6fd08f",
        vt100::Color::Idx(3 | 11) => "#e8b45a",
        vt100::Color::Idx(4 | 12) => "#93b0ff",
        vt100::Color::Idx(5 | 13) => "#cfa8f5",
        vt100::Color::Idx(6 | 14) => "#7fd3d8",
        vt100::Color::Idx(8) => "#9ba1a8",
        _ => "#e6e7e4",
    }
}
