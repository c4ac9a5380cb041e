//! `mux types`: prints the declarations, keeps them up to date in files, or forgets learned types.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use mux_client::{Session, within_seconds};
use mux_proto::{
    Error, ForgetTypesRequest, Kind, TypesPage, TypesRequest, WatchTypesRequest, transport,
};

use super::{Failure, Outcome, ask, interrupted, session, show::STARTS};
use crate::{args, render};

/// How long one request waits for a change.
const POLL: Duration = Duration::from_secs(25);
/// The delay between two attempts to reach a daemon.
const AGAIN: Duration = Duration::from_secs(1);

const DECLARATIONS: &str = "mux.d.ts";
const PROJECT: &str = "tsconfig.json";

/// The compiler options for editors, the same as in the check before a run.
const PROJECT_TEXT: &str = include_str!("types/tsconfig.json");

pub(super) async fn types(args: args::Types, json: bool) -> Outcome {
    if let Some(folder) = args.watch {
        return watch(&folder).await;
    }
    if args.forget {
        let request = ForgetTypesRequest { paths: args.paths };
        let question = async |session: &Session| {
            let asked = session
                .client
                .forget_types(within_seconds(10), request.clone());
            asked.await.unwrap_or_else(|error| Err(lost(&error)))
        };
        let forgotten = ask(question).await?.map_err(Failure::from)?;
        return Ok(render::forgotten(&forgotten, json));
    }
    let session = session().await?;
    let waiting = render::Waiting::begin("asking the servers for their tools", json);
    let request = TypesRequest { paths: args.paths };
    let answer = session
        .client
        .types(transport::within(STARTS), request)
        .await;
    waiting.end();
    let types = answer?.map_err(Failure::from)?;
    Ok(render::types(&types, json))
}

/// Writes the files on every change, across restarts of the daemon, until Ctrl-C.
async fn watch(folder: &Path) -> Outcome {
    let folder = folder.to_owned();
    fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    let project = folder.join(PROJECT);
    // An existing tsconfig.json is kept.
    if !project.exists() {
        write(&project, PROJECT_TEXT)?;
    }
    let follow = async {
        // Asks servers that were never asked for their tools; later changes are reported by the daemon.
        let session = session().await?;
        let everything = TypesRequest::default();
        let all = session.client.types(transport::within(STARTS), everything);
        all.await?.map_err(Failure::from)?;
        let mut known = None;
        loop {
            let page = match next(known.clone()).await {
                Ok(page) => page,
                // The daemon was stopped, and the next request starts another.
                Err(failure) if known.is_some() && failure.error.kind != Kind::Limit => {
                    render::note(&failure.error.message);
                    tokio::time::sleep(AGAIN).await;
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            if let Some(text) = page.text {
                let file = folder.join(DECLARATIONS);
                write(&file, &text)?;
                render::note(&format!("{} is up to date", file.display()));
            }
            known = Some(page.name);
        }
    };
    tokio::select! {
        ended = follow => ended,
        () = interrupted() => Ok(ExitCode::SUCCESS),
    }
}

async fn next(known: Option<String>) -> Result<TypesPage, Failure> {
    let request = WatchTypesRequest {
        known,
        wait_ms: u64::try_from(POLL.as_millis()).unwrap_or(u64::MAX),
    };
    let within = transport::within(POLL + Duration::from_secs(10));
    let page = session().await?.client.watch_types(within, request).await?;
    page.map_err(Failure::from)
}

/// Writes a file atomically, so that an editor never reads half of it.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let mut beside: PathBuf = file.to_owned();
    beside.set_extension("new");
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, file))
        .map_err(|error| unwritable(file, &error))
}

fn unwritable(file: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot write {}: {error}", file.display());
    let error = Error::new(Kind::Internal, message);
    error.hint("name a folder that you may write to").into()
}

fn lost(error: &tarpc::client::RpcError) -> Error {
    Error::new(
        Kind::Unavailable,
        format!("the connection to muxd was lost: {error}"),
    )
}
