//! Homes whose workers always, or never, build isolates from a snapshot.
//!
//! Invariant: after each of these functions, all workers of the home are of one kind.

use std::fs;

use crate::TestEnv;

impl TestEnv {
    /// Waits until the snapshot exists and starts a new daemon, which uses it from its first worker on. Does nothing if
    /// the engine has no snapshots.
    #[track_caller]
    pub fn restart_with_snapshot(&self) {
        let folder = self.dirs.cache.join("snapshots");
        let made = || {
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            entries
                .map(|entry| entry.path())
                .any(|path| path.extension().is_some_and(|found| found == "snapshot"))
        };
        self.run("return 1").ok();
        if self.mux(["status", "--json"]).ok().json()["engine"] != "v8" {
            return;
        }
        for _ in 0..2000 {
            if made() {
                break;
            }
            // The snapshot is made between runs, so a run waits for it without sleeping.
            self.run("return 1").ok();
        }
        self.stop();
        self.run("return 1").ok();
        let status = self.mux(["status", "--json"]).ok().json();
        assert_eq!(status["workers"]["snapshot"], true, "{status:#}");
    }

    /// Blocks the folder of the snapshots with a file. Must be called before the first daemon starts.
    pub fn prevent_snapshots(&self) {
        self.dirs.prepare().unwrap();
        fs::write(self.dirs.cache.join("snapshots"), "no folder").unwrap();
    }
}
