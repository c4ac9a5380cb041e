//! Persistent problems of this daemon, as `mux status` and `mux doctor` show them.

use std::path::Path;

/// One problem.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DaemonProblem {
    pub code: ProblemCode,
    /// The server or source that cannot be used.
    pub server: Option<String>,
    pub message: String,
}

impl DaemonProblem {
    /// The fix. `config` is the configuration file.
    pub fn fix(&self, config: &Path) -> String {
        let fix = match self.code {
            ProblemCode::Workers => {
                "`mux-worker` must be in the same directory as `muxd` and from the same build; `mux logs` shows more"
            }
            ProblemCode::Cache => "`mux restart` opens it again",
            ProblemCode::Audit => "`mux logs` shows since when; lost lines cannot be recovered",
            _ => {
                let config = config.display();
                return format!("`mux logs` shows more; after changing {config}, run `mux reload`");
            }
        };
        fix.to_owned()
    }
}

/// The subject of a problem. Clients decide by the subject, never by the message.
#[derive(Clone, Copy, Debug, Eq, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ProblemCode {
    /// The configuration, or a value of it.
    Config,
    /// A server or source whose entry cannot be used.
    Server,
    /// The file of approved projects, or the file of approvals.
    Approvals,
    Metrics,
    Client,
    Pins,
    Workers,
    /// The cache is not stored: results are computed again after a restart.
    Cache,
    Audit,
    /// The history of runs is incomplete.
    History,
    Credentials,
}

impl ProblemCode {
    /// The subject's name in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn with(self, message: impl Into<String>) -> DaemonProblem {
        DaemonProblem {
            code: self,
            server: None,
            message: message.into(),
        }
    }
}
