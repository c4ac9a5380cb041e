//! The place of one keeper test: a directory, a lock, and a witness pipe that proves the end of a tree.
//!
//! Invariant: a place belongs to one test, so no test waits for the lock of another.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use mux_keeper::{ChildExit, Keeper, KeptChild, SpawnSpec, TreeLimits};
use nix::{sys::stat::Mode, unistd::mkfifo};
use tokio::{io::AsyncReadExt, net::unix::pipe, time::timeout};

pub(crate) const MUXD: &str = env!("CARGO_BIN_EXE_muxd");

/// The time that invariant 8 of ARCHITECTURE.md allows from the daemon's end to the end of the last process.
pub(crate) const PROMISED: Duration = Duration::from_secs(2);

/// A limit for operations without a guaranteed time, which would otherwise hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A directory for one test, with a lock path and a pipe that proves the end of a tree.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(test: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        fs::remove_dir_all(&root).ok();
        fs::create_dir_all(&root).unwrap();
        mkfifo(&root.join("witness"), Mode::S_IRWXU).unwrap();
        Place(root)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) async fn keeper(&self) -> Keeper {
        Keeper::start(MUXD.as_ref(), &self.path("lock"))
            .await
            .unwrap()
    }

    pub(crate) fn sh(&self, script: &str) -> SpawnSpec {
        SpawnSpec {
            program: "sh".into(),
            args: vec!["-c".into(), script.into()],
            env: vec![
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                ("WITNESS".into(), self.path("witness").into()),
            ],
            cwd: self.0.clone(),
            tag: "test".into(),
            limits: TreeLimits::default(),
        }
    }

    /// The reading end of the witness, once the tree has opened it and `count` processes have said `ready`.
    pub(crate) async fn witness(&self, count: usize) -> pipe::Receiver {
        let path = self.path("witness");
        let file = tokio::task::spawn_blocking(|| fs::File::open(path).unwrap());
        let mut witness = pipe::Receiver::from_file(file.await.unwrap()).unwrap();
        let mut said = vec![0; count * "ready\n".len()];
        let all = timeout(PATIENCE, witness.read_exact(&mut said)).await;
        all.expect("the tree is up").unwrap();
        assert_eq!(said, "ready\n".repeat(count).as_bytes());
        witness
    }
}

/// Waits until no process holds the witness any more.
pub(crate) async fn ended(mut witness: pipe::Receiver, limit: Duration) {
    let rest = timeout(limit, witness.read_to_end(&mut Vec::new())).await;
    rest.expect("every process of the tree is gone in time")
        .unwrap();
}

pub(crate) async fn output(mut child: KeptChild) -> (String, ChildExit) {
    drop(child.stdin.take());
    let mut said = String::new();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_to_string(&mut said).await.unwrap();
    (said, child.wait().await)
}
