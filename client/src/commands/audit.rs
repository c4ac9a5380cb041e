//! `mux audit`: calls and decisions, read from the audit log's files. The command works without a
//! daemon.
//!
//! Invariant: an invalid line, such as one torn by a crash, is counted and skipped.

mod audit_files;
mod audit_filter;
#[cfg(test)]
mod fuzz;

use std::{process::ExitCode, time::Duration};

use mux_proto::{Error, Kind, endpoint::Dirs};
use serde_json::Value;

use self::audit_files::{AuditFile, AuditTail, list_audit_files};
use super::{CommandResult, UsageMistake, resolve_dirs, wait_for_ctrl_c};
use crate::{args, render};

/// How often a followed file is polled.
const AUDIT_FOLLOW_INTERVAL: Duration = Duration::from_millis(200);
/// How many entries are shown by default.
const DEFAULT_AUDIT_LINES: usize = 50;

pub(super) async fn audit(args: &args::AuditArgs, json: bool) -> CommandResult {
    if json && args.follow {
        let message = "--json prints one document, and --follow never ends";
        return Err(UsageMistake::new(message, "omit one of them").into());
    }
    let folder = resolve_dirs()?.audit();
    let files = list_audit_files(&folder);
    let Some(latest) = files.last() else {
        let message = format!("there is no audit log in {} yet", folder.display());
        return Err(Error::new(Kind::NotFound, message)
            .hint("muxd writes it at the first call, unless [audit] has `enabled = false`")
            .into());
    };
    let most = match (args.lines, &args.since) {
        (Some(lines), _) => lines,
        (None, Some(_)) => usize::MAX,
        (None, None) => DEFAULT_AUDIT_LINES,
    };
    let failed = |error: std::io::Error| Error::new(Kind::Internal, error.to_string());
    let past = read_past_entries(&files, args, most).map_err(failed)?;
    render::audit(&past.entries, past.torn, json);
    if !args.follow {
        return Ok(ExitCode::SUCCESS);
    }
    let mut tail = AuditTail::open_at(&folder, latest, past.read).map_err(failed)?;
    loop {
        for line in tail.read_new_lines().map_err(failed)? {
            if let Some(entry) = args.parse_match(&line).flatten() {
                render::audit_entry(&entry);
            }
        }
        if render::is_output_closed() {
            return Ok(ExitCode::SUCCESS);
        }
        tokio::select! {
            () = tokio::time::sleep(AUDIT_FOLLOW_INTERVAL) => {}
            () = wait_for_ctrl_c() => return Ok(ExitCode::SUCCESS),
        }
    }
}

/// Returns true if muxd has written an audit log.
pub(super) fn has_audit_log(dirs: &Dirs) -> bool {
    !list_audit_files(&dirs.audit()).is_empty()
}

/// The entries that are in the log already.
struct PastEntries {
    /// The latest matching entries, the oldest first.
    entries: Vec<Value>,
    /// How many lines were invalid.
    torn: usize,
    /// Bytes of the latest file that were read.
    read: u64,
}

fn read_past_entries(
    files: &[AuditFile],
    wanted: &args::AuditArgs,
    most: usize,
) -> std::io::Result<PastEntries> {
    let mut pieces = Vec::new();
    let mut found = 0;
    let mut torn = 0;
    let mut read = None;
    let mut later: Option<&AuditFile> = None;
    for file in files.iter().rev() {
        // A file gets no entries after the next one was created.
        if later.is_some_and(|later| found >= most || !wanted.may_match_before(later.began)) {
            break;
        }
        let mut piece = Vec::new();
        let (lines, length) = file.read_complete_lines()?;
        read.get_or_insert(length);
        for line in lines {
            match wanted.parse_match(&line) {
                Some(Some(entry)) => piece.push(entry),
                Some(None) => {}
                None => torn += 1,
            }
        }
        found += piece.len();
        pieces.push(piece);
        later = Some(file);
    }
    let entries: Vec<Value> = pieces.into_iter().rev().flatten().collect();
    let over = entries.len().saturating_sub(most);
    Ok(PastEntries {
        entries: entries.into_iter().skip(over).collect(),
        torn,
        read: read.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
