//! The servers that are written in Python: the history of a git repository, and time zones.

use std::{fs, path::Path, process::Command};

use mux_tests::{TestEnv, env::output};
use serde_json::{Value, json};

use super::{git, run, time};

#[test]
fn real_git_log_is_read_and_summarized() {
    let env = TestEnv::with_config(&git());
    let repo = env.path("repo");
    make_repository(&repo);
    let found = run(&env, "history", &json!({ "repo": repo }));
    assert_eq!(
        found["result"],
        json!({
            "commits": 5,
            "authors": { "Ada": 3, "Linus": 2 },
            "newest": "fix: the second file",
            "days": ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"],
            "fixed": ["file-1.txt", "file-2.txt"],
            "clean": true,
        })
    );
}

#[test]
fn real_time_server_converts_between_time_zones() {
    let env = TestEnv::with_config(&time());
    let found = run(&env, "clock", &Value::Null);
    assert_eq!(
        found["result"],
        json!({
            "tokyo": "21:30",
            "difference": "+9.0h",
            "zones": ["UTC", "Asia/Tokyo", "America/New_York"],
            "oneMoment": true,
            "unknown": "tool",
        })
    );
}

/// Creates a repository with five commits by two authors on five days.
pub(crate) fn make_repository(repo: &Path) {
    let commits = [
        ("Ada", "file-1.txt", "add: the first file"),
        ("Linus", "file-2.txt", "add: the second file"),
        ("Ada", "file-1.txt", "fix: the first file"),
        ("Linus", "file-3.txt", "add: the third file"),
        ("Ada", "file-2.txt", "fix: the second file"),
    ];
    fs::create_dir(repo).unwrap();
    run_git(repo, "nobody", 1, &["init", "--quiet"]);
    for (index, (author, file, message)) in commits.into_iter().enumerate() {
        fs::write(repo.join(file), format!("{message}\n")).unwrap();
        run_git(repo, author, index + 1, &["add", "."]);
        run_git(
            repo,
            author,
            index + 1,
            &["commit", "--quiet", "-m", message],
        );
    }
}

/// Runs `git` as this author on this day of January, without global or system configuration.
fn run_git(repo: &Path, author: &str, day: usize, args: &[&str]) {
    let date = format!("2026-01-{day:02}T12:00:00Z");
    let mail = format!("{author}@example.com");
    let mut command = Command::new("git");
    command
        .current_dir(repo)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .envs([("GIT_AUTHOR_NAME", author), ("GIT_COMMITTER_NAME", author)])
        .envs([("GIT_AUTHOR_EMAIL", &mail), ("GIT_COMMITTER_EMAIL", &mail)])
        .envs([("GIT_AUTHOR_DATE", &date), ("GIT_COMMITTER_DATE", &date)])
        .args(args);
    output(&mut command).ok();
}
