//! Who is at the other end of a connection.

use std::path::PathBuf;

/// Characters of a name.
const MAX_NAME_CHARS: usize = 80;
const MAX_WORKSPACE_PATH_BYTES: usize = 4096;

/// Who asks. Clients say it of themselves, but for the process: rules that go by it are for those who mean well, and
/// no wall.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientOrigin {
    pub client: String,
    pub agent: Option<String>,
    pub workspace: Option<PathBuf>,
    /// The process, where the system tells.
    pub pid: Option<u32>,
    pub uid: Option<u32>,
    /// Failures are read by an agent, which has tools and no command line.
    pub for_agent: bool,
}

impl ClientOrigin {
    /// Names are cut and shown in one line; a workspace that no system could have is left out.
    pub fn new(client: &str, agent: Option<&str>, workspace: Option<PathBuf>) -> Self {
        Self {
            client: one_line(client),
            agent: agent.map(one_line),
            workspace: workspace.filter(|path| path.as_os_str().len() <= MAX_WORKSPACE_PATH_BYTES),
            ..Self::default()
        }
    }

    /// Whether it is the same client, in whatever process.
    pub fn is_same_client(&self, other: &Self) -> bool {
        (&self.client, &self.agent, &self.workspace)
            == (&other.client, &other.agent, &other.workspace)
    }
}

/// The beginning of a text, with nothing in it that could move a cursor.
pub fn one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut line: String = text.chars().take(MAX_NAME_CHARS).map(plain).collect();
    if text.chars().nth(MAX_NAME_CHARS).is_some() {
        line.pop();
        line.push('…');
    }
    line
}
