//! The home of the daemon: its configuration, of servers of every kind, and its small disks.

use std::{
    fs::{self, File},
    io::Write,
    path::PathBuf,
    process::Command,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, anyhow};
use mux_client::{ClientIdentity, Session, connect_or_spawn, within_seconds};
use mux_proto::CallRequest;
use mux_tests::{TestEnv, env::binary};
use serde_json::json;

pub(crate) const SERVERS: usize = 20;

/// The size of each of the disks that are filled.
const DISK_MIB: u64 = 64;

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
    /// The reason why no disks can be filled.
    pub(crate) disk_problem: Option<String>,
    /// Of each server's entry.
    versions: Mutex<[u32; SERVERS]>,
}

pub(crate) fn name(server: usize) -> String {
    format!("s{server}")
}

impl Home {
    /// With `own_disks`, this process is in a separate mount namespace, where it may mount.
    pub(crate) fn new(own_disks: bool) -> Self {
        let mut home = Self {
            env: TestEnv::new(),
            disk_problem: None,
            versions: Mutex::default(),
        };
        home.disk_problem = if own_disks {
            home.mount_disks().err().map(|error| format!("{error:#}"))
        } else {
            Some("this system permits no mount namespace".into())
        };
        home.configure();
        home
    }

    /// Each server has answered once.
    pub(crate) async fn warm_up(&self) -> anyhow::Result<()> {
        let session = self.connect("warm-up").await?;
        for server in 0..SERVERS {
            let request = CallRequest {
                path: format!("{}.add", name(server)),
                arguments: json!({ "a": 1, "b": 1 }).into(),
                ..CallRequest::default()
            };
            session.client.call(within_seconds(60), request).await??;
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

    pub(crate) fn configure(&self) {
        let versions = *self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = |server: usize| {
            let entry = self.env.fixture(&name(server), KINDS[server % KINDS.len()]);
            format!("{entry}env = {{ VERSION = \"{}\" }}\n", versions[server])
        };
        self.env
            .write_config(&(0..SERVERS).map(entry).collect::<String>());
    }

    /// Writes a configuration that ends in the middle of an entry.
    pub(crate) fn break_config(&self) {
        self.env.write_config("[servers.s0]\ncommand = \"");
    }

    /// Fills the disks. Returns the files to remove.
    pub(crate) fn fill_disks(&self) -> Vec<PathBuf> {
        let fill = |disk: PathBuf| {
            let path = disk.join("filler");
            let mut file = File::create(&path).ok()?;
            let block = vec![1; 64 << 10];
            while file.write_all(&block).is_ok() {}
            Some(path)
        };
        self.disks().into_iter().filter_map(fill).collect()
    }

    /// The directories that the daemon writes to.
    fn disks(&self) -> [PathBuf; 2] {
        ["state", "cache"].map(|name| self.env.path(name))
    }

    fn mount_disks(&self) -> anyhow::Result<()> {
        for disk in self.disks() {
            fs::create_dir(&disk)?;
            let mounted = Command::new("mount")
                .args(["-t", "tmpfs", "-o"])
                .arg(format!("size={DISK_MIB}m,mode=700"))
                .arg("none")
                .arg(&disk)
                .output()?;
            let said = String::from_utf8_lossy(&mounted.stderr);
            anyhow::ensure!(mounted.status.success(), "{}", said.trim());
        }
        Ok(())
    }
}

impl Drop for Home {
    /// Allows the folders to be removed. The daemon, which ends later, keeps its open files.
    fn drop(&mut self) {
        if self.disk_problem.is_none() {
            // Otherwise two empty folders are left.
            drop(Command::new("umount").arg("-l").args(self.disks()).output());
        }
    }
}
