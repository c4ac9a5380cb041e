//! Who shares a session of a server: everybody, a workspace, a client, a run.
//!
//! Invariant of all of it: a process serves callers of one key only, and ends with what it was for.

mod ends;
mod roots;
mod workspaces;

use std::{fs, path::PathBuf, time::Duration};

use mux_client::{Identity, Session, within_seconds};
use mux_proto::{CallRequest, Error, EventKind, EventsRequest, Held, Outcome, RunRequest};
use mux_tests::{TestEnv, env::binary, env::server};
use serde_json::{Value, json};

/// Longer than anything here takes.
const PATIENCE: u64 = 60;
/// What is promised within 2 s is waited for this long: the machine may be busy.
const PROMISE: Duration = Duration::from_secs(5);

/// A directory in which a client works.
fn workspace(env: &TestEnv, name: &str) -> PathBuf {
    let folder = env.path(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// What `mux servers` says of one server.
fn seen(env: &TestEnv, name: &str) -> Value {
    let mut servers = env.mux(["--json", "servers"]).ok().json();
    let servers = servers.as_array_mut().unwrap();
    let found = servers.iter_mut().find(|server| server["name"] == name);
    found.unwrap().take()
}

/// A client that works there, or nowhere.
struct Client(Session);

impl Client {
    async fn at(env: &TestEnv, workspace: Option<PathBuf>) -> Self {
        let mut identity = Identity::new("test", "0");
        identity.workspace = workspace;
        let session = mux_client::connect_or_spawn(&env.dirs, Some(binary("muxd")), &identity);
        Self(session.await.unwrap())
    }

    async fn try_call(&self, path: &str) -> Result<Value, Error> {
        let request = CallRequest {
            path: path.into(),
            arguments: json!({}),
            ..CallRequest::default()
        };
        match self
            .0
            .client
            .call(within_seconds(PATIENCE), request)
            .await
            .unwrap()?
        {
            Held::Value(value) => Ok(value),
            Held::Stored(handle) => panic!("{handle:?}"),
        }
    }

    async fn call(&self, path: &str) -> Value {
        self.try_call(path).await.unwrap()
    }

    async fn pid(&self, server: &str) -> i32 {
        let pid = self.call(&format!("{server}.pid")).await;
        // A text that is a number comes as one.
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
                    } => return value,
                    EventKind::Ended { outcome } => panic!("{outcome:?}"),
                    _ => {}
                }
            }
        }
    }
}
