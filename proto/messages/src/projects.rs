//! Projects: directories whose files define servers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which projects to list.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectsRequest {
    /// Lists only the project to which this directory belongs. If absent, all known projects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectList {
    pub projects: Vec<ProjectInfo>,
}

/// The files of one directory that define servers.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectInfo {
    /// The project's directory, without symbolic links.
    pub root: PathBuf,
    pub state: ProjectState,
    /// The digest of the current files. Absent if one cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    pub files: Vec<ProjectFile>,
    pub servers: Vec<ProjectServer>,
    /// Globs of paths that clients in this project may not call, approved or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// Globs of tool paths that the approved version denies, although the files have since been changed or deleted.
    /// These denials apply until the approval is revoked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still_denied: Vec<String>,
    /// Parts of the files without effect, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProjectState {
    /// The project was never approved.
    New,
    /// The files have changed since they were approved.
    Changed,
    Approved,
    /// The project was approved, and its files do not exist any more.
    Gone,
}

/// A file of a project.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectFile {
    pub name: String,
    /// The current content. Absent if the file does not exist or cannot be read.
    pub text: Option<String>,
    /// The approved content.
    pub approved: Option<String>,
}

/// A server as its file defines it: with the names of variables and without their values.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectServer {
    pub name: String,
    /// The file that defines it.
    pub file: String,
    /// The command line or the URL.
    pub command: String,
    /// The names of its environment variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// The commands that are run to obtain values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Why the server cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Approves the files that the user has seen, by their digest.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApproveProjectRequest {
    pub root: PathBuf,
    pub digest: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectRevoked {
    /// True if the project was approved.
    pub was_approved: bool,
}
