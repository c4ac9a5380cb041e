//! The output of `mux config`.

use std::{path::Path, process::ExitCode};

use super::terminal::println;
use comfy_table::Cell;
use mux_proto::{ConfigReport, Setting, SettingSource, SettingsReport};
use serde_json::{Value, json};

use super::{
    amounts::count_text,
    display_path, note, print_document,
    style::{ERROR, one_line, paint},
    table::ListTable,
};

const MAX_VALUE_CHARS: usize = 200;

pub(crate) fn settings(report: &SettingsReport, json: bool) -> ExitCode {
    if json {
        print_document(report);
        return ExitCode::SUCCESS;
    }
    let mut table = ListTable::new(["SETTING", "VALUE", "FROM"]).cutting("VALUE");
    for setting in &report.settings {
        table.add_row([
            Cell::new(one_line(&setting.name, MAX_VALUE_CHARS)),
            Cell::new(setting_value(&setting.value)),
            Cell::new(setting_origin(setting)),
        ]);
    }
    println!("{}", table.text());
    note(&format!("the file is {}", display_path(&report.file)));
    for told in &report.notes {
        note(&one_line(told, MAX_VALUE_CHARS));
    }
    ExitCode::SUCCESS
}

fn setting_value(value: &Value) -> String {
    let text = match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    one_line(&text, MAX_VALUE_CHARS)
}

fn setting_origin(setting: &Setting) -> String {
    let line = |what: &str| match setting.line {
        Some(line) => format!("{what}:{line}"),
        None => what.to_owned(),
    };
    match setting.from {
        SettingSource::Default => "default".into(),
        SettingSource::Config => line("config.toml"),
        SettingSource::Agent => format!("{} (agent)", line("config.toml")),
        SettingSource::Project => setting.file.as_deref().map_or_else(
            || "project".into(),
            |file| one_line(&display_path(file), MAX_VALUE_CHARS),
        ),
    }
}

pub(crate) fn config_path(file: &Path, json: bool) -> ExitCode {
    if json {
        print_document(&json!({ "path": file, "exists": file.exists() }));
    } else {
        println!("{}", display_path(file));
    }
    ExitCode::SUCCESS
}

/// Prints the problems of a configuration file. Exits with 1 if there are any.
pub(crate) fn config_report(report: &ConfigReport, file: &Path, json: bool) -> ExitCode {
    let file = display_path(file);
    if json {
        print_document(&json!({
            "ok": report.problems.is_empty(),
            "file": file,
            "servers": report.servers,
            "problems": report.problems,
        }));
    } else {
        for problem in &report.problems {
            let place = match problem.line {
                Some(line) => format!("{file}:{line}"),
                None => file.clone(),
            };
            println!("{place}: {}: {}", paint(ERROR, "error"), problem.message);
        }
        if report.problems.is_empty() {
            println!(
                "{file}: no errors found, {}",
                count_text(report.servers, "server")
            );
        }
    }
    match report.problems.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
