//! `mux logs` and `mux servers logs`: the logs of the daemon and the servers, merged by time. Both commands read the
//! files, and work without a daemon.
//!
//! Invariant: the lines of one log stay in their order, regardless of their times.

mod log_files;
mod log_filter;
mod log_tail;

use std::{process::ExitCode, time::Duration};

use mux_proto::{Error, Kind, endpoint::Dirs};

use self::{
    log_files::{LogSelection, is_log_of_server, select_logs},
    log_tail::LogTail,
};
use super::{CommandFailure, CommandResult, audit, resolve_dirs, wait_for_ctrl_c};
use crate::{
    args,
    log_line::{LogLine, LogSource},
    render,
};

/// How often followed files are polled.
const LOG_FOLLOW_INTERVAL: Duration = Duration::from_millis(200);
/// How many lines are shown by default.
const DEFAULT_LOG_LINES: usize = 50;

pub(super) async fn print_logs(args: &args::LogsArgs, json: bool) -> CommandResult {
    let of = match (args.daemon, &args.servers[..]) {
        (true, _) => LogSelection::Daemon,
        (false, []) => LogSelection::All,
        (false, servers) => LogSelection::Servers(servers),
    };
    show_logs(of, &args.lines, json).await
}

pub(super) async fn server_logs(
    server: &str,
    lines: &args::LogLinesArgs,
    json: bool,
) -> CommandResult {
    show_logs(LogSelection::Servers(&[server.to_owned()]), lines, json).await
}

/// The last lines of the log of one server.
pub(super) fn last_lines_of_server(
    server: &str,
    most: usize,
) -> Result<Vec<LogLine>, CommandFailure> {
    let servers = [server.to_owned()];
    let of = LogSelection::Servers(&servers);
    let dirs = resolve_dirs()?;
    require_logs(&dirs, of, false)?;
    let mut tails = open_tails(&dirs, of);
    Ok(read_past(
        &mut tails,
        &args::LogLinesArgs::default(),
        most,
        false,
    )?)
}

fn open_tails(dirs: &Dirs, of: LogSelection<'_>) -> Vec<LogTail> {
    let logs = select_logs(dirs, of).into_iter();
    logs.map(LogTail::new).collect()
}

/// The latest `most` lines of several logs.
fn read_past(
    tails: &mut [LogTail],
    wanted: &args::LogLinesArgs,
    most: usize,
    follows: bool,
) -> Result<Vec<LogLine>, Error> {
    let logs = tails
        .iter_mut()
        .map(|tail| tail.read_past(wanted, most, follows))
        .collect::<Result<_, _>>()
        .map_err(|error| read_failure(&error))?;
    let mut lines = merge_logs(logs);
    Ok(lines.split_off(lines.len().saturating_sub(most)))
}

fn read_failure(error: &std::io::Error) -> Error {
    Error::new(Kind::Internal, error.to_string())
}

async fn show_logs(of: LogSelection<'_>, args: &args::LogLinesArgs, json: bool) -> CommandResult {
    let dirs = resolve_dirs()?;
    require_logs(&dirs, of, args.follow)?;
    let most = match (args.lines, &args.since) {
        (Some(lines), _) => lines,
        (None, Some(_)) => usize::MAX,
        (None, None) => DEFAULT_LOG_LINES,
    };
    let mut tails = open_tails(&dirs, of);
    render::logs(&read_past(&mut tails, args, most, args.follow)?, json);
    if let (Some(run), false) = (&args.run, json)
        && audit::has_audit_log(&dirs)
    {
        render::note(&format!("`mux audit --run {run}` lists its calls"));
    }
    if !args.follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        for family in select_logs(&dirs, of) {
            // A server may have no log before its first start.
            if !tails.iter().any(|tail| tail.family == family) {
                tails.push(LogTail::new(family));
            }
        }
        let mut logs = Vec::new();
        for tail in &mut tails {
            let mut added = tail.read_appended().map_err(|error| read_failure(&error))?;
            added.retain(|line| args.matches_line(line));
            logs.push(added);
        }
        render::logs(&merge_logs(logs), json);
        if render::is_output_closed() {
            return Ok(ExitCode::SUCCESS);
        }
        tokio::select! {
            () = tokio::time::sleep(LOG_FOLLOW_INTERVAL) => {}
            () = wait_for_ctrl_c() => return Ok(ExitCode::SUCCESS),
        }
    }
}

/// Fails if there are no lines to show, now or later.
fn require_logs(dirs: &Dirs, of: LogSelection<'_>, follows: bool) -> Result<(), Error> {
    let there: Vec<_> = select_logs(dirs, of)
        .into_iter()
        .filter(|family| !family.files().is_empty())
        .collect();
    let named = match of {
        LogSelection::Servers(servers) => servers,
        LogSelection::All | LogSelection::Daemon => &[],
    };
    let missing = named.iter().find(|server| {
        let is_there = |source: &LogSource| match source {
            LogSource::Daemon => false,
            LogSource::Server(name) => is_log_of_server(name, server),
        };
        !there.iter().any(|family| is_there(&family.source))
    });
    if let Some(server) = missing {
        let message = format!("there is no log for a server `{server}`");
        return Err(Error::new(Kind::NotFound, message)
            .hint("a server's log begins when it first starts; see `mux servers`"));
    }
    if there.is_empty() && !follows {
        let message = format!("there is no log in {} yet", dirs.logs().display());
        return Err(Error::new(Kind::NotFound, message).hint("muxd writes it while it runs"));
    }
    Ok(())
}

/// Merges logs by time. Each log keeps its order, even if the clock was set back.
fn merge_logs(logs: Vec<Vec<LogLine>>) -> Vec<LogLine> {
    let mut logs: Vec<_> = logs
        .into_iter()
        .map(|lines| lines.into_iter().peekable())
        .collect();
    let mut merged = Vec::new();
    loop {
        let next = logs
            .iter_mut()
            .filter_map(|lines| lines.peek().map(|line| line.time).map(|time| (time, lines)))
            .min_by_key(|(time, _)| *time);
        match next.and_then(|(_, lines)| lines.next()) {
            Some(line) => merged.push(line),
            None => return merged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_merged_by_time_and_each_keeps_its_order() {
        let log = |name: &str, lines: &[(u32, &str)]| {
            let source = LogSource::Server(name.into());
            let lines = lines.iter().map(|(second, text)| {
                let text = format!("2026-11-22T08:00:{second:02}Z - {text}");
                LogLine::parse_log_line(&source, text.as_bytes(), 0)
            });
            lines.collect::<Vec<_>>()
        };
        let logs = vec![
            log("a", &[(1, "a1"), (9, "a9"), (2, "a2")]),
            log("b", &[(3, "b3"), (9, "b9")]),
            Vec::new(),
        ];
        let merged = merge_logs(logs);
        let texts: Vec<&str> = merged.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["a1", "b3", "a9", "a2", "b9"]);
    }
}
