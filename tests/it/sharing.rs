//! The scope that shares a server session: the user, a workspace, a client, or a run.
//!
//! Invariant: a server process serves callers of one session key only, and ends with the client or run of that key.

mod ends;
mod workspaces;

use std::{fs, path::PathBuf, time::Duration};

use mux_client::{ClientIdentity, Session, within_seconds};
use mux_proto::{CallRequest, Error, EventKind, EventsRequest, Held, Outcome, RunRequest};
use mux_tests::{TestEnv, env::binary};
use serde_json::{Value, json};

/// The timeout of a request in seconds, longer than any request here takes.
const PATIENCE: u64 = 60;
/// How long to wait for what must happen within 2 s: the machine may be busy.
const PROMISE: Duration = Duration::from_secs(5);

/// Creates a directory for a client to work in.
fn workspace(env: &TestEnv, name: &str) -> PathBuf {
    let folder = env.path(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The entry of `mux servers --json` for one server.
fn seen(env: &TestEnv, name: &str) -> Value {
    let mut servers = env.mux(["--json", "servers"]).ok().json();
    let servers = servers.as_array_mut().unwrap();
    let found = servers.iter_mut().find(|server| server["name"] == name);
    found.unwrap().take()
}

/// A client of the socket, with or without a workspace.
struct Client(Session);

impl Client {
    async fn at(env: &TestEnv, workspace: Option<PathBuf>) -> Self {
        let mut identity = ClientIdentity::new("test", "0");
        identity.workspace = workspace;
        let session = mux_client::connect_or_spawn(&env.dirs, Some(binary("muxd")), &identity);
        Self(session.await.unwrap())
    }

    async fn try_call(&self, path: &str) -> Result<Value, Error> {
        let request = CallRequest {
            path: path.into(),
            arguments: json!({}).into(),
            ..CallRequest::default()
        };
        match self
            .0
            .client
            .call(within_seconds(PATIENCE), request)
            .await
            .unwrap()?
            .result
        {
            Held::Value(value) => Ok(value.to_value()),
            Held::Stored(handle) => panic!("{handle:?}"),
        }
    }

    async fn call(&self, path: &str) -> Value {
        self.try_call(path).await.unwrap()
    }

    async fn pid(&self, server: &str) -> i32 {
        let pid = self.call(&format!("{server}.pid")).await;
        // The pid is returned as a text.
        pid.as_str().unwrap().parse().unwrap()
    }

    async fn run(&self, code: &str) -> Value {
        let request = RunRequest {
            source: code.into(),
            no_check: true,
            ..RunRequest::default()
        };
        let started = self.0.client.start_run(within_seconds(PATIENCE), request);
        let run = started.await.unwrap().unwrap().run;
        let mut after = 0;
        loop {
            let request = EventsRequest {
                run: run.clone(),
                after,
                wait_ms: 20_000,
            };
            let page = self.0.client.events(within_seconds(PATIENCE), request);
            for event in page.await.unwrap().unwrap().events {
                after = event.seq;
                match event.event {
                    EventKind::Ended {
                        outcome: Outcome::Result(value),
                    } => return value.to_value(),
                    EventKind::Ended { outcome } => panic!("{outcome:?}"),
                    _ => {}
                }
            }
        }
    }
}
