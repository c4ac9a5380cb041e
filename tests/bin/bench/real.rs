//! The real servers of the end-to-end tests, and one call of each without side effects.

use std::path::{Path, PathBuf};

use mux_tests::env::{npm, pypi};
use serde_json::{Value, json};

pub(crate) struct Real {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

/// All six. `folder` is a git repository.
pub(crate) fn all(folder: &Path) -> Vec<Real> {
    let folder = folder.display().to_string();
    let thought = json!({ "thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1 });
    let real = |name, program, args: &[&str], tool, arguments| Real {
        name,
        program,
        args: args.iter().map(|word| (*word).to_owned()).collect(),
        tool,
        arguments,
    };
    vec![
        real(
            "everything",
            npm("mcp-server-everything"),
            &["stdio"],
            "echo",
            json!({ "message": "hello" }),
        ),
        real(
            "filesystem",
            npm("mcp-server-filesystem"),
            &[&folder],
            "list_directory",
            json!({ "path": folder }),
        ),
        real(
            "memory",
            npm("mcp-server-memory"),
            &[],
            "read_graph",
            json!({}),
        ),
        real(
            "thinking",
            npm("mcp-server-sequential-thinking"),
            &[],
            "sequentialthinking",
            thought,
        ),
        real(
            "git",
            pypi("mcp-server-git"),
            &[],
            "git_status",
            json!({ "repo_path": folder }),
        ),
        real(
            "time",
            pypi("mcp-server-time"),
            &[],
            "get_current_time",
            json!({ "timezone": "UTC" }),
        ),
    ]
}
