//! Lasting grants ("always allow") and their file.
//!
//! Invariant: a grant covers one tool definition of one server entry under one rule, for one agent. If the file cannot
//! be trusted, nothing is granted.

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use mux_wire::{Fault, FaultKind};
use serde::{Deserialize, Serialize};

use super::approval_subject::ApprovalSubject;
use mux_files::atomic_file;
use mux_messages::millis;
use mux_text::digest::Digest;

const GRANTS_VERSION: u32 = 1;
const MAX_GRANTS_FILE_BYTES: u64 = 16 << 20;
/// Far more grants than a user gives.
const MAX_GRANTS: usize = 10_000;
/// Hexadecimal digits of the name of a grant: 128 bits. Names of 8 digits from earlier versions stay valid.
const GRANT_NAME_HEX_DIGITS: usize = 32;

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Grant {
    pub path: String,
    pub agent: Option<String>,
    pub rule: String,
    pub cover: String,
    pub since_ms: u64,
}

impl Grant {
    /// True if the grant covers these calls for this agent. The name is a hash of both, but hashes can collide.
    fn is_for(&self, cover: &str, agent: Option<&str>) -> bool {
        self.cover == cover && self.agent.as_deref() == agent
    }
}

#[derive(Debug)]
pub(super) struct Grants {
    file: PathBuf,
    /// The grants by name, or the reason nothing is granted.
    granted: Result<BTreeMap<String, Grant>, String>,
}

#[derive(Deserialize, Serialize)]
struct GrantsFile {
    version: u32,
    grants: BTreeMap<String, Grant>,
}

impl Grants {
    pub(super) fn open(file: PathBuf) -> Self {
        let granted = read_grants(&file).map_err(|error| format!("{}: {error}", file.display()));
        Self { file, granted }
    }

    /// Reads the file again, because another daemon may have written it.
    pub(super) fn reload(&mut self) {
        *self = Self::open(std::mem::take(&mut self.file));
    }

    pub(super) fn problem(&self) -> Option<String> {
        let error = self.granted.as_ref().err()?;
        Some(format!(
            "{error}; no grants apply, and the next grant replaces the file"
        ))
    }

    pub(super) fn covers(&self, subject: &ApprovalSubject) -> bool {
        let cover = subject.cover.hex();
        let agent = subject.origin.agent.as_deref();
        let mut granted = self.granted.as_ref().into_iter().flatten();
        granted.any(|(_, grant)| grant.is_for(&cover, agent))
    }

    pub(super) fn all(&self) -> Vec<(String, Grant)> {
        let granted = self.granted.as_ref().into_iter().flatten();
        granted
            .map(|(name, grant)| (name.clone(), grant.clone()))
            .collect()
    }

    /// Adds a grant, which is on disk when this returns.
    pub(super) fn add(&mut self, subject: &ApprovalSubject) -> io::Result<()> {
        self.reload();
        let mut next = self.granted.clone().unwrap_or_default();
        if next.len() >= MAX_GRANTS {
            return Err(io::Error::other(format!(
                "the limit of {MAX_GRANTS} grants is reached; remove one with `mux approvals revoke GRANT`"
            )));
        }
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let grant = Grant {
            path: subject.path.clone(),
            agent: subject.origin.agent.clone(),
            rule: subject.rule.clone(),
            cover: subject.cover.hex(),
            since_ms: millis(since),
        };
        // An earlier version may have saved the same grant under another name.
        next.retain(|_, known| !known.is_for(&grant.cover, grant.agent.as_deref()));
        next.insert(grant_name(subject), grant);
        self.write_grants(next)
    }

    pub(super) fn revoke(&mut self, name: &str) -> Result<Grant, Fault> {
        self.reload();
        let mut next = self.granted.clone().unwrap_or_default();
        let Some(grant) = next.remove(name) else {
            return Err(unknown_grant_fault(name));
        };
        self.write_grants(next).map_err(|error| {
            let message = format!("the revocation could not be saved: {error}");
            Fault::new(FaultKind::Internal, message)
        })?;
        Ok(grant)
    }

    fn write_grants(&mut self, next: BTreeMap<String, Grant>) -> io::Result<()> {
        let document = GrantsFile {
            version: GRANTS_VERSION,
            grants: next,
        };
        let text = serde_json::to_string_pretty(&document).map_err(io::Error::other)?;
        if self.granted.is_err() {
            // Keep the unreadable file for diagnosis.
            drop(std::fs::rename(
                &self.file,
                self.file.with_extension("json.broken"),
            ));
        }
        atomic_file::write(&self.file, text.as_bytes())?;
        self.granted = Ok(document.grants);
        Ok(())
    }
}

/// The error for a name that no grant has.
pub(super) fn unknown_grant_fault(name: &str) -> Fault {
    let message = format!(
        "there is no approval `{}` to revoke",
        mux_caller::one_line(name)
    );
    Fault::new(FaultKind::NotFound, message).hint("`mux approvals --granted` lists them")
}

/// Derives the name from the granted calls and their agent, so equal grants have one entry.
fn grant_name(subject: &ApprovalSubject) -> String {
    let agent = subject.origin.agent.as_deref();
    let key = Digest::new()
        .text(&subject.cover.hex())
        .optional_text(agent)
        .key();
    let digits = blake3::Hash::from(key).to_hex();
    format!("g{}", &digits[..GRANT_NAME_HEX_DIGITS])
}

fn read_grants(file: &std::path::Path) -> io::Result<BTreeMap<String, Grant>> {
    let Some(text) = atomic_file::read(file, MAX_GRANTS_FILE_BYTES)? else {
        return Ok(BTreeMap::new());
    };
    let document: GrantsFile = serde_json::from_str(&text)?;
    match document.version {
        GRANTS_VERSION => Ok(document.grants),
        other => Err(io::Error::other(format!("unsupported version {other}"))),
    }
}
