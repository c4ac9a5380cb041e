//! `mux types`: prints the declarations, keeps them up to date in files, or forgets learned types.

use std::{fs, io, path::Path, process::ExitCode, time::Duration};

use mux_client::within_seconds;
use mux_paths::replaced_file::replace_file;
use mux_proto::{
    Error, ForgetTypesRequest, Kind, TypesPage, TypesRequest, WatchTypesRequest, transport,
};

use super::{
    CommandFailure, CommandResult, ask, connect_or_start, wait_for_ctrl_c, within_server_start,
};
use crate::{args, render};

/// How long one request waits for a change.
const TYPES_POLL_TIMEOUT: Duration = Duration::from_secs(25);
/// The delay between two attempts to reach a daemon.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);

const DECLARATIONS_FILE: &str = "mux.d.ts";
const TSCONFIG_FILE: &str = "tsconfig.json";

/// The compiler options for editors, the same as in the check before a run.
const TSCONFIG_TEXT: &str = include_str!("types/tsconfig.json");

pub(super) async fn types(args: args::TypesArgs, json: bool) -> CommandResult {
    if let Some(folder) = args.watch {
        return watch_types(&folder).await;
    }
    if args.forget {
        let request = ForgetTypesRequest { paths: args.paths };
        let forgotten = ask(async |client| {
            let within = within_seconds(10);
            client.forget_types(within, request.clone()).await
        });
        let forgotten = forgotten.await?;
        return Ok(render::show(&forgotten, json, render::forgotten));
    }
    let session = connect_or_start().await?;
    let request = TypesRequest { paths: args.paths };
    let answer = session.client.types(within_server_start(), request);
    let what = "asking the servers for their tools";
    let types = render::with_spinner(what, json, answer).await??;
    Ok(render::types(&types, json))
}

/// Writes the files on every change, across restarts of the daemon, until Ctrl-C.
async fn watch_types(folder: &Path) -> CommandResult {
    let folder = folder.to_owned();
    fs::create_dir_all(&folder).map_err(|error| write_failure(&folder, &error))?;
    let project = folder.join(TSCONFIG_FILE);
    // An existing tsconfig.json is kept.
    if !project.exists() {
        write_atomically(&project, TSCONFIG_TEXT)?;
    }
    let follow = async {
        // Asks servers that were never asked for their tools. The daemon reports later changes.
        let session = connect_or_start().await?;
        let everything = TypesRequest::default();
        let all = session.client.types(within_server_start(), everything);
        all.await??;
        let mut known = None;
        loop {
            let page = match poll_types(known.clone()).await {
                Ok(page) => page,
                // The daemon was stopped, and the next request starts another.
                Err(failure) if known.is_some() && failure.error.kind != Kind::Limit => {
                    render::note(&failure.error.message);
                    tokio::time::sleep(RECONNECT_DELAY).await;
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            if let Some(text) = page.text {
                let file = folder.join(DECLARATIONS_FILE);
                write_atomically(&file, &text)?;
                render::note(&format!("{} is up to date", file.display()));
            }
            known = Some(page.name);
        }
    };
    tokio::select! {
        ended = follow => ended,
        () = wait_for_ctrl_c() => Ok(ExitCode::SUCCESS),
    }
}

async fn poll_types(known: Option<String>) -> Result<TypesPage, CommandFailure> {
    let request = WatchTypesRequest {
        known,
        wait_ms: u64::try_from(TYPES_POLL_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
    };
    let within = transport::within(TYPES_POLL_TIMEOUT + Duration::from_secs(10));
    let session = connect_or_start().await?;
    Ok(session.client.watch_types(within, request).await??)
}

/// Writes a file atomically, because an editor must never read half of it.
fn write_atomically(file: &Path, text: &str) -> Result<(), CommandFailure> {
    replace_file(file, text.as_bytes()).map_err(|error| write_failure(file, &error))
}

fn write_failure(file: &Path, error: &io::Error) -> CommandFailure {
    let message = format!("cannot write {}: {error}", file.display());
    let error = Error::new(Kind::Internal, message);
    error.hint("name a directory that you can write to").into()
}
