//! The official SDKs, each as one process that tries all servers.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    case::{Subject, Transport},
    outcome::Outcome,
};
use crate::{
    clients::{client, node},
    env::{binary, pypi},
};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sdk {
    TypeScript,
    Python,
}

/// Where the servers of one comparison are.
pub(super) struct Servers<'a> {
    /// The URL of the server for all subjects.
    pub(super) url: &'a str,
    /// The folder with one file of a case per subject over stdio.
    pub(super) folder: &'a Path,
}

#[derive(Deserialize)]
struct Line {
    name: String,
    #[serde(flatten)]
    outcome: Outcome,
}

impl Sdk {
    pub(super) const ALL: [Self; 2] = [Self::TypeScript, Self::Python];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::TypeScript => "typescript",
            Self::Python => "python",
        }
    }

    /// Tries all subjects, in a separate thread. The outcomes are by name.
    pub(super) fn start(
        self,
        servers: &Servers<'_>,
        subjects: &[Subject],
        limits: Limits,
    ) -> thread::JoinHandle<HashMap<String, Outcome>> {
        let list = servers.folder.join(format!("{}.jsonl", self.as_str()));
        let line = |subject| format!("{}\n", servers.entry(self.as_str(), subject));
        fs::write(&list, subjects.iter().map(line).collect::<String>()).unwrap();
        let mut command = self.command(servers.folder);
        command
            .arg(list)
            .arg(limits.at_once.to_string())
            .arg(limits.seconds.to_string());
        thread::spawn(move || outcomes(command))
    }

    fn command(self, folder: &Path) -> Command {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
        match self {
            Self::TypeScript => {
                // Node resolves imports from the folder of the program.
                let program = folder.join("differential.mjs");
                fs::copy(sources.join("differential.mjs"), &program).unwrap();
                let modules = folder.join("node_modules");
                if !modules.exists() {
                    std::os::unix::fs::symlink(client(""), modules).unwrap();
                }
                let mut command = Command::new(node());
                command.arg(program);
                command
            }
            Self::Python => {
                let mut command = Command::new(pypi("python"));
                command.arg(sources.join("differential.py"));
                command
            }
        }
    }
}

/// How many servers a client tries at a time, and how long it waits for an answer.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) at_once: usize,
    pub(super) seconds: u64,
}

impl Servers<'_> {
    /// The address of a subject for a client: `url`, or `command` and `args`.
    pub(super) fn entry(&self, client: &str, subject: &Subject) -> Value {
        let name = subject.name();
        let transport = subject.transport.as_str();
        match subject.transport {
            Transport::Stdio => json!({
                "name": name,
                "transport": transport,
                "command": binary("mux-scripted-server"),
                "args": [self.case_file(subject)],
            }),
            other => {
                let last = if other == Transport::Sse {
                    "sse"
                } else {
                    "mcp"
                };
                let url = format!("{}/{client}/{name}/{last}", self.url);
                json!({ "name": name, "transport": transport, "url": url })
            }
        }
    }

    pub(super) fn case_file(&self, subject: &Subject) -> PathBuf {
        self.folder.join(format!("{}.json", subject.name()))
    }
}

fn outcomes(mut command: Command) -> HashMap<String, Outcome> {
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    let read = |line: &str| {
        let line: Line = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        (line.name, line.outcome)
    };
    stdout.lines().map(read).collect()
}
