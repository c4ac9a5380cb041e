//! The output of `mux config`.

use std::{path::Path, process::ExitCode};

use super::terminal::{eprintln, print_toml, println};
use mux_proto::{ConfigProblem, ConfigReport, SettingsReport};
use serde_json::{Value, json};

use super::{
    display_path,
    human_units::count_text,
    note, output_exit_code, print_document, print_extended, print_value, show,
    style::{ERROR, one_line, paint},
};

const MAX_NOTE_CHARS: usize = 200;

pub(crate) fn settings(report: &SettingsReport, json: bool) -> ExitCode {
    if json {
        print_document(report);
        return ExitCode::SUCCESS;
    }
    let code = output_exit_code(print_toml(&report.text));
    note(&format!("the file is {}", display_path(&report.file)));
    for text in &report.notes {
        note(&one_line(text, MAX_NOTE_CHARS));
    }
    code
}

pub(crate) fn config_path(file: &Path, json: bool) -> ExitCode {
    let document = json!({ "path": file, "exists": file.exists() });
    // Whole: scripts use it.
    show(&document, json, |_| println!("{}", file.display()))
}

/// Prints a value of the configuration: a string unquoted, all other values as JSON, which is TOML for numbers,
/// switches and lists.
pub(crate) fn config_value(key: &str, value: &Value, json: bool) -> ExitCode {
    if json {
        print_document(&json!({ "key": key, "value": value }));
        return ExitCode::SUCCESS;
    }
    output_exit_code(print_value(value))
}

/// Prints the problems of a configuration file. Exits with 1 if there are any.
pub(crate) fn config_report(report: &ConfigReport, file: &Path, json: bool) -> ExitCode {
    // Whole: editors open FILE:LINE.
    let shown = file.display().to_string();
    if json {
        print_extended(report, "ok", Some(report.problems.is_empty()));
    } else {
        for problem in &report.problems {
            println!("{}", mistake_line(problem, &shown));
        }
        if report.problems.is_empty() {
            println!(
                "{shown}: no errors found, {}",
                count_text(report.servers, "server")
            );
        }
    }
    if report.problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Prints the errors of an edited file, before the user is asked.
pub(crate) fn config_mistakes(problems: &[ConfigProblem], file: &Path) {
    for problem in problems {
        eprintln!("{}", mistake_line(problem, &file.display().to_string()));
    }
}

fn mistake_line(problem: &ConfigProblem, file: &str) -> String {
    let position = match problem.line {
        Some(line) => format!("{file}:{line}"),
        None => file.to_owned(),
    };
    format!("{position}: {}: {}", paint(ERROR, "error"), problem.message)
}
