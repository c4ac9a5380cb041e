//! Persistent problems of this daemon, as `mux status` and `mux doctor` show them.

use std::path::Path;

use mux_messages::Problem;

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

    pub fn with(self, message: impl Into<String>) -> Problem {
        Problem {
            code: self.as_str().to_owned(),
            server: None,
            message: message.into(),
            fix: self.fix().to_owned(),
        }
    }

    /// The fix, if it is not the usual one (`usual_fix`).
    fn fix(self) -> &'static str {
        match self {
            Self::Workers => {
                "`mux-worker` must be in the same directory as `muxd` and from the same build; `mux logs` shows more"
            }
            Self::Cache => "`mux restart` opens it again",
            Self::Audit => "`mux logs` shows since when; lost lines cannot be recovered",
            _ => "",
        }
    }
}

/// The fix of most problems. `config` is the configuration file.
pub(crate) fn usual_fix(config: &Path) -> String {
    let config = config.display();
    format!("`mux logs` shows more; after changing {config}, run `mux reload`")
}
