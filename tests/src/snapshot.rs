//! Homes whose workers build isolates from a snapshot, or never do.
//!
//! Invariant: after each of these, the home's workers are all of one kind.

use std::fs;

use crate::TestEnv;

impl TestEnv {
    /// Has the snapshot made and starts another daemon, which uses it from its first worker on. An
    /// engine that has none is left as it is.
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
            // It is made between runs; this waits for the daemon and not for the clock.
            self.run("return 1").ok();
        }
        self.stop();
        self.run("return 1").ok();
        let status = self.mux(["status", "--json"]).ok().json();
        assert_eq!(status["workers"]["snapshot"], true, "{status:#}");
    }

    /// Must come before the first daemon: there is no place where a snapshot could be kept.
    pub fn prevent_snapshots(&self) {
        self.dirs.prepare().unwrap();
        fs::write(self.dirs.cache.join("snapshots"), "no folder").unwrap();
    }
}
