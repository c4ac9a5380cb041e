//! The restrictions of a worker process, as the kernel reports them.

use std::{fs, path::PathBuf};

use mux_sandbox::{Pool, ProgramLimits};

use super::limits::{pool, run};

/// The idle workers of a pool, one of which has run a program already.
async fn workers(pool: &Pool) -> Vec<u32> {
    assert_eq!(
        run(pool, "return 1", ProgramLimits::default())
            .await
            .unwrap(),
        "1"
    );
    loop {
        let pids = pool.status().pids;
        if !pids.is_empty() {
            return pids;
        }
        // The worker is building its next isolate.
        tokio::task::yield_now().await;
    }
}

fn proc(pid: u32, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{name}"))
}

/// The fields of `/proc/<pid>/status` that describe the restrictions of a thread.
fn fields(status: &str) -> Vec<(&str, &str)> {
    status
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name, value.trim()))
        .filter(|(name, _)| ["NoNewPrivs", "Seccomp", "Umask"].contains(name))
        .collect()
}

#[tokio::test]
async fn every_thread_of_a_worker_is_filtered() {
    let pool = pool();
    for pid in workers(&pool).await {
        for thread in fs::read_dir(proc(pid, "task")).unwrap() {
            let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
            assert_eq!(
                fields(&status),
                [("Umask", "0777"), ("NoNewPrivs", "1"), ("Seccomp", "2")],
                "{status}"
            );
        }
    }
}

#[tokio::test]
async fn worker_has_no_environment_and_three_descriptors() {
    let pool = pool();
    for pid in workers(&pool).await {
        // Only root can read these files of a worker.
        let Ok(environment) = fs::read(proc(pid, "environ")) else {
            return;
        };
        assert_eq!(String::from_utf8_lossy(&environment), "");
        let mut open: Vec<String> = fs::read_dir(proc(pid, "fd"))
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let target = fs::read_link(&path).unwrap();
                let kind = target.to_string_lossy();
                let kind = kind.split(':').next().unwrap();
                format!("{} {kind}", path.file_name().unwrap().to_string_lossy())
            })
            .collect();
        open.sort();
        assert_eq!(open, ["0 pipe", "1 pipe", "2 pipe"]);
        assert_eq!(fs::read_link(proc(pid, "cwd")).unwrap(), PathBuf::from("/"));
    }
}

#[tokio::test]
async fn worker_has_resource_limits() {
    let pool = pool();
    for pid in workers(&pool).await {
        let limits = fs::read_to_string(proc(pid, "limits")).unwrap();
        let hard = |name: &str| {
            let line = limits.lines().find_map(|line| line.strip_prefix(name));
            let words: Vec<&str> = line.unwrap().split_whitespace().collect();
            words[1].to_owned()
        };
        assert_eq!(hard("Max core file size"), "0");
        assert_eq!(hard("Max file size"), "0");
        assert_eq!(hard("Max open files"), "3");
        let data: u64 = hard("Max data size").parse().unwrap();
        assert!(data < 1 << 30, "{data}");
        let seconds: u64 = hard("Max cpu time").parse().unwrap();
        assert!(seconds < 2 * 3600, "{seconds}");
    }
}
