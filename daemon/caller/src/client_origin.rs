//! The client and agent of a connection.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The maximum length of a name, in characters.
const MAX_NAME_CHARS: usize = 80;
const MAX_WORKSPACE_PATH_BYTES: usize = 4096;

/// The client of a connection. All but the process is self-reported: rules on it separate cooperating clients and are
/// not a security boundary.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ClientOrigin {
    pub client: String,
    pub agent: Option<String>,
    pub workspace: Option<PathBuf>,
    /// The process, if the system reports it. Not stored: it may be another one later.
    #[serde(skip)]
    pub pid: Option<u32>,
    #[serde(skip)]
    pub uid: Option<u32>,
    /// True if an agent reads the errors. An agent has tools but no command line.
    pub for_agent: bool,
}

impl ClientOrigin {
    /// Creates an origin. Names are cut to one line, and an overlong workspace path is dropped.
    pub fn new(client: &str, agent: Option<&str>, workspace: Option<PathBuf>) -> Self {
        Self {
            client: one_line(client),
            agent: agent.map(one_line),
            workspace: workspace.filter(|path| path.as_os_str().len() <= MAX_WORKSPACE_PATH_BYTES),
            ..Self::default()
        }
    }

    /// Returns true if client, agent and workspace are the same. The process may differ.
    pub fn is_same_client(&self, other: &Self) -> bool {
        (&self.client, &self.agent, &self.workspace)
            == (&other.client, &other.agent, &other.workspace)
    }
}

/// The beginning of a string, without control characters.
pub fn one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut line: String = text.chars().take(MAX_NAME_CHARS).map(plain).collect();
    if text.chars().nth(MAX_NAME_CHARS).is_some() {
        line.pop();
        line.push('…');
    }
    line
}
