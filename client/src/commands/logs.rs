//! `mux logs` and `mux servers logs`: read from the files, so that they work without a daemon.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use mux_proto::{Error, Kind};

use super::{Outcome, dirs, usage};
use crate::{args, render};

/// How often a followed file is looked at.
const TICK: Duration = Duration::from_millis(200);
/// The end of a file that is searched for the last lines.
const TAIL: u64 = 1 << 20;

pub(super) async fn daemon(args: &args::Logs, json: bool) -> Outcome {
    let logs = dirs()?.logs();
    let newest = || newest(&logs);
    match newest() {
        Some(file) => show(file, args, json, newest).await,
        None => {
            let message = format!("there is no log in {} yet", logs.display());
            Err(Error::new(Kind::NotFound, message)
                .hint("muxd writes it when it runs")
                .into())
        }
    }
}

pub(super) async fn server(server: &str, args: &args::Logs, json: bool) -> Outcome {
    let mut file = dirs()?.server_log(server);
    if !file.exists()
        && let Some(only) = of_project(&file, server)
    {
        file = only;
    }
    if !file.exists() {
        let message = format!("there is no log of a server `{server}`");
        return Err(Error::new(Kind::NotFound, message)
            .hint("a server has one once it was started; see `mux servers`")
            .into());
    }
    show(file.clone(), args, json, move || Some(file.clone())).await
}

/// That of a project's server, whose file has something behind the name, if one project has such a server.
fn of_project(file: &Path, server: &str) -> Option<PathBuf> {
    let mut found = fs::read_dir(file.parent()?)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.strip_prefix(server)
                .is_some_and(|rest| rest.starts_with('@'))
        });
    found.next().filter(|_| found.next().is_none())
}

/// Prints the last lines, and with `--follow` whatever comes, also in the file after this one.
async fn show(
    path: PathBuf,
    args: &args::Logs,
    json: bool,
    current: impl Fn() -> Option<PathBuf>,
) -> Outcome {
    if json && args.follow {
        let message = "--json prints one document, and --follow never ends";
        return usage(message, "leave one of them out", json);
    }
    let failed = |error: std::io::Error| Error::new(Kind::Internal, error.to_string());
    let mut file = File::open(&path).map_err(failed)?;
    let last = last_lines(&mut file, args.lines).map_err(failed)?;
    render::lines(&path, &last, json);
    if args.follow {
        follow(path, file, current).await.map_err(failed)?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn follow(
    mut path: PathBuf,
    mut file: File,
    current: impl Fn() -> Option<PathBuf>,
) -> std::io::Result<()> {
    loop {
        let mut added = String::new();
        // What is not UTF-8 yet is half a character; the next look has the rest.
        if file.read_to_string(&mut added).is_ok() {
            render::text(&added);
        }
        if let Some(now) = current()
            && now != path
        {
            path = now;
            file = File::open(&path)?;
            continue;
        }
        tokio::select! {
            () = tokio::time::sleep(TICK) => {}
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
    }
}

fn last_lines(file: &mut File, count: usize) -> std::io::Result<Vec<String>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(count)..];
    Ok(shown.iter().map(|line| (*line).to_owned()).collect())
}

fn newest(logs: &Path) -> Option<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(logs)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            name.starts_with("muxd.") && name.ends_with(".log")
        })
        .collect();
    // The date in the name sorts as text.
    files.sort();
    files.pop()
}
