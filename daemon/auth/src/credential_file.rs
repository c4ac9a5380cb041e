//! `credentials.json` in the state directory: the records of all logins and named secrets, and their secrets if those
//! are not in the keyring.
//!
//! Invariant: the file is read only if no other user could have read or written it, and it is replaced atomically.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use mux_secrets::{Secret, expose_optional};
use serde::{Deserialize, Serialize};

use super::login_record::{LoginKey, LoginRecord, LoginSecrets};
use mux_files::atomic_file;

/// A longer file was not written by muxd.
const MAX_CREDENTIAL_FILE_BYTES: u64 = 16 << 20;

/// A login in the file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct LoginEntry {
    #[serde(flatten)]
    pub(super) record: LoginRecord,
    /// `None` if they are in the keyring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secrets: Option<LoginSecrets>,
}

/// A named secret in the file.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct SecretEntry {
    pub(super) name: String,
    /// Seconds since 1970.
    pub(super) since: u64,
    /// `None` if it is in the keyring.
    #[serde(serialize_with = "expose_optional")]
    pub(super) value: Option<Secret>,
}

/// The contents of the file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct CredentialContents {
    #[serde(default)]
    pub(super) logins: Vec<LoginEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) secrets: Vec<SecretEntry>,
    /// The servers from which the user has signed out. These share no sign-in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) signed_out: Vec<LoginKey>,
}

#[derive(Default, Deserialize, Serialize)]
struct CredentialDocument {
    version: u32,
    #[serde(flatten)]
    contents: CredentialContents,
}

/// Version 2 added named secrets, which older builds would drop. Version 3 added accounts, which they would mix up.
const CREDENTIAL_FILE_VERSION: u32 = 3;

#[derive(Clone, Debug)]
pub(super) struct CredentialFile(PathBuf);

/// The reason the file is not used, with a remedy. A sentence about the file, without its path.
#[derive(Debug, thiserror::Error)]
pub(super) enum CredentialFileError {
    #[error("cannot be read: {0}")]
    Read(io::Error),
    #[error("cannot be written: {0}")]
    Write(io::Error),
    #[cfg(unix)]
    #[error("contains credentials but belongs to user {0}, not to you; remove it")]
    Foreign(u32),
    #[cfg(unix)]
    #[error(
        "contains credentials but others can read it (mode {mode:03o}); run: chmod 600 {path:?}"
    )]
    Open { path: PathBuf, mode: u32 },
    #[error(
        "is not a valid credential file ({0}); remove it, sign in again, and set its secrets again"
    )]
    Shape(String),
}

impl CredentialFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Reads the file. A missing file counts as empty.
    pub(super) fn read(&self) -> Result<CredentialContents, CredentialFileError> {
        let found = self.0.symlink_metadata();
        if let Some(found) = found.ok().filter(fs::Metadata::is_file) {
            self.check(&found)?;
        }
        let text = atomic_file::read(&self.0, MAX_CREDENTIAL_FILE_BYTES);
        let Some(text) = text.map_err(CredentialFileError::Read)? else {
            return Ok(CredentialContents::default());
        };
        // The parser's message could repeat a part of the file.
        let invalid = |error: serde_json::Error| {
            let position = format!("line {}, column {}", error.line(), error.column());
            CredentialFileError::Shape(position)
        };
        let document: CredentialDocument = serde_json::from_str(&text).map_err(invalid)?;
        if document.version > CREDENTIAL_FILE_VERSION {
            let newer = format!("version {} of a newer muxd", document.version);
            return Err(CredentialFileError::Shape(newer));
        }
        Ok(document.contents)
    }

    /// Writes the file, which is on disk when this returns.
    pub(super) fn write(&self, contents: CredentialContents) -> Result<(), CredentialFileError> {
        let mut logins = contents.logins.iter();
        let version = if logins.any(|login| login.record.key.account.is_some()) {
            CREDENTIAL_FILE_VERSION
        } else {
            2
        };
        let document = CredentialDocument { version, contents };
        let text = serde_json::to_vec_pretty(&document).map_err(io::Error::from);
        let written = text.and_then(|text| atomic_file::write(&self.0, &text));
        written.map_err(CredentialFileError::Write)
    }

    #[cfg(unix)]
    fn check(&self, found: &fs::Metadata) -> Result<(), CredentialFileError> {
        use std::os::unix::fs::MetadataExt;
        let mode = found.mode() & 0o777;
        if found.uid() != nix::unistd::geteuid().as_raw() {
            return Err(CredentialFileError::Foreign(found.uid()));
        }
        match mode & 0o077 {
            0 => Ok(()),
            _ => Err(CredentialFileError::Open {
                path: self.0.clone(),
                mode,
            }),
        }
    }

    #[cfg(not(unix))]
    fn check(&self, _: &fs::Metadata) -> Result<(), CredentialFileError> {
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::login_record::tests::record;

    fn contents() -> CredentialContents {
        let entry = LoginEntry {
            record: record(Some(60), 0),
            secrets: Some(LoginSecrets {
                access: Some(Secret::new("a")),
                ..LoginSecrets::default()
            }),
        };
        let named = |name: &str, value: Option<&str>| SecretEntry {
            name: name.into(),
            since: 7,
            value: value.map(Secret::new),
        };
        CredentialContents {
            logins: vec![entry],
            secrets: vec![named("HERE", Some("s")), named("ELSEWHERE", None)],
            signed_out: vec![record(None, 0).key],
        }
    }

    #[test]
    fn written_file_reads_back_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let file = CredentialFile::new(folder.path().join("credentials.json"));
        assert_eq!(file.read().unwrap(), CredentialContents::default());
        let contents = contents();
        file.write(contents.clone()).unwrap();
        file.write(contents.clone()).unwrap();
        assert_eq!(file.read().unwrap(), contents);
        let mode = fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn file_readable_by_others_is_refused_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let file = CredentialFile::new(folder.path().join("credentials.json"));
        file.write(contents()).unwrap();
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
            let error = file.read().unwrap_err().to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn links_and_invalid_files_are_refused_without_quoting_them() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real.json");
        fs::write(&real, "{}").unwrap();
        let file = CredentialFile::new(folder.path().join("credentials.json"));
        symlink(&real, file.path()).unwrap();
        assert!(matches!(file.read(), Err(CredentialFileError::Read(_))));
        fs::remove_file(file.path()).unwrap();
        fs::write(file.path(), "{\"version\":\"tok-123\"").unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        let error = file.read().unwrap_err().to_string();
        assert!(
            error.contains("line 1") && !error.contains("tok-123"),
            "{error}"
        );
    }
}
