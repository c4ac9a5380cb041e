//! Who is at the other end of a connection.

use std::path::PathBuf;

/// Characters of a name.
const LONGEST: usize = 80;
const LONGEST_PATH: usize = 4096;

/// Who asks. Clients say it of themselves, but for the process: rules that go by it are for those who mean well, and
/// no wall.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    pub client: String,
    pub agent: Option<String>,
    pub workspace: Option<PathBuf>,
    /// The process, where the system tells.
    pub pid: Option<u32>,
    pub uid: Option<u32>,
    /// Failures are read by an agent, which has tools and no command line.
    pub for_agent: bool,
}

impl Origin {
    /// Names are cut and shown in one line; a workspace that no system could have is left out.
    pub fn new(client: &str, agent: Option<&str>, workspace: Option<PathBuf>) -> Self {
        Self {
            client: one_line(client),
            agent: agent.map(one_line),
            workspace: workspace.filter(|path| path.as_os_str().len() <= LONGEST_PATH),
            ..Self::default()
        }
    }

    /// Whether it is the same client, in whatever process.
    pub fn is_as(&self, other: &Self) -> bool {
        (&self.client, &self.agent, &self.workspace)
            == (&other.client, &other.agent, &other.workspace)
    }
}

/// The beginning of a text, with nothing in it that could move a cursor.
pub fn one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut line: String = text.chars().take(LONGEST).map(plain).collect();
    if text.chars().nth(LONGEST).is_some() {
        line.pop();
        line.push('…');
    }
    line
}
