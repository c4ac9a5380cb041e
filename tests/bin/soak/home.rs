//! The home of the daemon: its configuration, of servers of every kind.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context, anyhow};
use mux_client::{ClientIdentity, Session, connect_or_spawn};
use mux_tests::{TestEnv, env::binary};

pub(crate) const SERVERS: usize = 20;

/// How they differ, in turn. None of them answers wrong.
const KINDS: [&[&str]; 10] = [
    &[],
    &["--tools", "300"],
    &["--slow-start", "200"],
    &["--ignore-eof"],
    &["--ignore-eof", "--ignore-term"],
    &["--grandchild", "--setsid"],
    &["--stderr-at-start", "200", "--noise-at-start", "20"],
    &["--offers"],
    &["--die-after-calls", "40"],
    &["--collide", "--bad-schema", "--page-size", "5"],
];

pub(crate) struct Home {
    pub(crate) env: TestEnv,
    /// Of each server's entry.
    versions: Mutex<[u32; SERVERS]>,
}

pub(crate) fn name(server: usize) -> String {
    format!("s{server}")
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self {
            env: TestEnv::new(),
            versions: Mutex::default(),
        };
        home.configure();
        home
    }

    /// Each server has answered once.
    pub(crate) async fn warm_up(&self) -> anyhow::Result<()> {
        let session = self.connect("warm-up").await?;
        for server in 0..SERVERS {
            let sum = crate::clients::call(&session, &format!("s{server}.add"), (1, 1)).await?;
            anyhow::ensure!(sum.is_ok(), "{sum:?}");
        }
        Ok(())
    }

    pub(crate) async fn connect(&self, name: &str) -> anyhow::Result<Session> {
        let me = ClientIdentity::new(name, "0");
        let session = connect_or_spawn(&self.env.dirs, Some(binary("muxd")), &me).await;
        session.map_err(|error| anyhow!("no connection: {error}"))
    }

    pub(crate) fn daemon(&self) -> anyhow::Result<i32> {
        self.env.daemon().context("the daemon has ended")
    }

    /// Gives a server another definition.
    pub(crate) fn change(&self, server: usize) {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)[server] += 1;
        self.configure();
    }

    fn configure(&self) {
        let versions = *self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = |server: usize| {
            let entry = self.env.fixture(&name(server), KINDS[server % KINDS.len()]);
            format!("{entry}env = {{ VERSION = \"{}\" }}\n", versions[server])
        };
        self.env
            .write_config(&(0..SERVERS).map(entry).collect::<String>());
    }
}
