//! Projects whose files define servers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Asks for projects.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ProjectsRequest {
    /// The one to which this directory belongs; without it, all that are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ProjectList {
    pub projects: Vec<ProjectInfo>,
}

/// The files of one directory that define servers.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ProjectInfo {
    /// Without links.
    pub root: PathBuf,
    pub state: ProjectState,
    /// Names the files as they are now; absent if one cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    pub files: Vec<ProjectFile>,
    pub servers: Vec<ProjectServer>,
    /// Globs of paths that may not be called by those who work there, approved or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// Globs of paths that the approved text denies, where the files are others now or gone: in force until the
    /// approval is revoked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still_denied: Vec<String>,
    /// What of the files has no effect, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectState {
    /// Nothing was approved there.
    New,
    /// Something else was approved.
    Changed,
    Approved,
    /// Something was approved, and there is no file any more.
    Gone,
}

/// One of its files.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ProjectFile {
    pub name: String,
    /// As it is now; absent if it is gone or cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// As it was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
}

/// One server, as it is written: with the names of variables and without their values.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ProjectServer {
    pub name: String,
    /// The file that defines it.
    pub file: String,
    /// The command line or the URL.
    pub command: String,
    /// The variables that it is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// What is run to find out values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Why it cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The user has seen what this digest names, and approves it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ApproveProjectRequest {
    pub root: PathBuf,
    pub digest: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ProjectRevoked {
    /// Whether anything was approved.
    pub was_approved: bool,
}
