//! The reader of texts about tools: which learned types and counts of calls it may see.
//!
//! Results and calls belong to their caller, which is a client, agent and workspace. Knowledge learned from them
//! reaches other callers only here.
//!
//! Invariant: of others' results, a reader other than the user sees only confirmed parts (`ResultShape::visible_to`),
//! and nothing of a tool that its policy denies for all arguments.

use std::{fmt, path::Path, sync::Arc};

use super::{Digest, Tool};

/// Decides if policy denies the tool, for all arguments.
type ToolDenial = dyn Fn(&Tool) -> bool + Send + Sync;

#[derive(Clone)]
pub struct CatalogReader {
    /// The digest of the caller; `None` for the user, who sees everything.
    caller: Option<u64>,
    is_file: bool,
    /// Identifies the configuration that `denies` depends on.
    configuration: u64,
    denies: Arc<ToolDenial>,
}

/// The digest of a caller: of its client, agent and workspace.
pub fn caller_digest(client: &str, agent: Option<&str>, workspace: Option<&Path>) -> u64 {
    let workspace = workspace.map(|path| path.as_os_str().as_encoded_bytes());
    let key = Digest::new()
        .text(client)
        .optional_text(agent)
        .bytes(&[u8::from(workspace.is_some())])
        .bytes(workspace.unwrap_or_default())
        .key();
    u64::from_le_bytes(std::array::from_fn(|index| key[index]))
}

impl CatalogReader {
    /// The user, who sees everything.
    pub fn user() -> Self {
        Self {
            caller: None,
            is_file: false,
            configuration: 0,
            denies: Arc::new(|_| false),
        }
    }

    /// A file that the user's editor reads, and perhaps an agent: it has no names that may instruct a model.
    pub fn file_of_user() -> Self {
        Self {
            is_file: true,
            ..Self::user()
        }
    }

    /// A caller by its digest. `configuration` changes whenever the answer of `denies` may change.
    pub fn caller(
        caller: u64,
        configuration: u64,
        denies: impl Fn(&Tool) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            caller: Some(caller),
            is_file: false,
            configuration,
            denies: Arc::new(denies),
        }
    }

    pub fn is_user(&self) -> bool {
        self.caller.is_none()
    }

    /// True if names that may instruct a model are shown.
    pub(super) fn sees_signs(&self) -> bool {
        self.is_user() && !self.is_file
    }

    /// The digest of the caller; `None` for the user.
    pub(super) fn caller_key(&self) -> Option<u64> {
        self.caller
    }

    /// True if the reader learns nothing from others' calls of the tool.
    pub(super) fn is_denied(&self, tool: &Tool) -> bool {
        (self.denies)(tool)
    }

    /// Two readers with the same key see the same data for the same tools.
    pub(super) fn key(&self) -> [u8; 17] {
        let mut key = [0; 17];
        key[0] = u8::from(self.caller.is_some()) | u8::from(self.is_file) << 1;
        key[1..9].copy_from_slice(&self.caller.unwrap_or_default().to_le_bytes());
        key[9..].copy_from_slice(&self.configuration.to_le_bytes());
        key
    }
}

impl fmt::Debug for CatalogReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogReader")
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}
