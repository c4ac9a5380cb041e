//! The issuers of clients that the user registered, and the issuers that refused to share a sign-in.
//!
//! An MCP server names its authorization server, and may name another later. A client ID and secret from the
//! configuration are for one issuer only: the issuer in the entry (`oauth.issuer`), or the issuer of the first login,
//! which is saved in `issuers.json` in the state directory and survives a logout.
//!
//! Invariant: an unreadable file does not count as empty: such clients cannot be used until it is fixed.

use std::path::PathBuf;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use url::Url;

use super::login_record::LoginKey;
use mux_files::atomic_file;

/// Far more than needed: an entry takes a few hundred bytes.
const MAX_ISSUER_FILE_BYTES: u64 = 4 << 20;
const ISSUER_FILE_VERSION: u32 = 1;

#[derive(Debug)]
pub(super) struct IssuerBindings {
    path: PathBuf,
    /// Held from reading to writing the file.
    writing: Mutex<()>,
}

#[derive(Default, Deserialize, Serialize)]
struct IssuerDocument {
    version: u32,
    #[serde(default)]
    issuers: Vec<IssuerBinding>,
    /// The issuers at which no refresh token is exchanged for a token of another server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unshareable: Vec<String>,
}

#[derive(Deserialize, Serialize)]
struct IssuerBinding {
    #[serde(flatten)]
    key: LoginKey,
    issuer: String,
}

impl IssuerBindings {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            writing: Mutex::default(),
        }
    }

    /// Finds the issuer of a client. Blocks on the disk. An error tells the user what to do.
    pub(super) fn find(&self, key: &LoginKey) -> Result<Option<String>, String> {
        let bound = self.read()?.issuers.into_iter();
        let mut bound = bound.filter(|bound| bound.key == *key);
        Ok(bound.next().map(|bound| bound.issuer))
    }

    /// Saves the issuer of a client, replacing any earlier issuer. The issuer is on disk when this returns.
    pub(super) fn remember(&self, key: &LoginKey, issuer: &str) -> Result<(), String> {
        let _writing = self.writing.lock();
        let mut document = self.read()?;
        let is_known = |bound: &IssuerBinding| bound.key == *key && bound.issuer == issuer;
        if document.issuers.iter().any(is_known) {
            return Ok(());
        }
        document.issuers.retain(|bound| bound.key != *key);
        document.issuers.push(IssuerBinding {
            key: key.clone(),
            issuer: issuer.to_owned(),
        });
        self.write(document)
    }

    /// Returns true if this issuer has refused to share a sign-in. Blocks on the disk.
    pub(super) fn is_unshareable(&self, issuer: &str) -> Result<bool, String> {
        let unshareable = self.read()?.unshareable;
        Ok(unshareable
            .iter()
            .any(|known| is_same_issuer(known, issuer)))
    }

    /// Saves that this issuer has refused to share a sign-in. The fact is on disk when this returns.
    pub(super) fn remember_unshareable(&self, issuer: &str) -> Result<(), String> {
        let _writing = self.writing.lock();
        let mut document = self.read()?;
        let is_known = |known: &String| is_same_issuer(known, issuer);
        if document.unshareable.iter().any(is_known) {
            return Ok(());
        }
        document.unshareable.push(issuer.to_owned());
        self.write(document)
    }

    fn write(&self, mut document: IssuerDocument) -> Result<(), String> {
        document.version = ISSUER_FILE_VERSION;
        let text = serde_json::to_vec_pretty(&document).map_err(|error| error.to_string())?;
        let written = atomic_file::write(&self.path, &text);
        written.map_err(|error| format!("cannot write {}: {error}", self.path.display()))
    }

    fn read(&self) -> Result<IssuerDocument, String> {
        let unreadable = |why: String| {
            format!(
                "the issuers of OAuth clients cannot be read from {} ({why}); remove that file, and write `issuer` into \
                 the `oauth` of entries that have a client_id",
                self.path.display()
            )
        };
        let text = atomic_file::read(&self.path, MAX_ISSUER_FILE_BYTES);
        let Some(text) = text.map_err(|error| unreadable(error.to_string()))? else {
            return Ok(IssuerDocument::default());
        };
        let document: IssuerDocument =
            serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        match document.version {
            0..=ISSUER_FILE_VERSION => Ok(document),
            newer => Err(unreadable(format!("version {newer} of a newer muxd"))),
        }
    }
}

/// True if both are the same issuer. Trailing slashes are ignored.
pub(super) fn is_same_issuer(one: &str, other: &str) -> bool {
    let spelled = |text: &str| {
        let url = Url::parse(text).map_or_else(|_| text.to_owned(), String::from);
        url.trim_end_matches('/').to_owned()
    };
    spelled(one) == spelled(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(proof: Option<&str>) -> LoginKey {
        LoginKey {
            resource: "https://server.test/mcp".into(),
            client: Some("mine".into()),
            proof: proof.map(str::to_owned),
            account: None,
        }
    }

    #[test]
    fn issuer_is_saved_by_client_and_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/issuers.json");
        let issuers = IssuerBindings::new(path.clone());
        assert_eq!(issuers.find(&key(Some("a"))), Ok(None));
        issuers
            .remember(&key(Some("a")), "https://one.test")
            .unwrap();
        issuers.remember(&key(None), "https://two.test").unwrap();
        issuers.remember(&key(None), "https://three.test").unwrap();
        let again = IssuerBindings::new(path);
        let found = |proof| again.find(&key(proof)).unwrap();
        assert_eq!(found(Some("a")).as_deref(), Some("https://one.test"));
        assert_eq!(found(Some("b")), None);
        assert_eq!(found(None).as_deref(), Some("https://three.test"));
        issuers.remember_unshareable("https://one.test").unwrap();
        issuers.remember_unshareable("https://one.test/").unwrap();
        assert_eq!(again.is_unshareable("https://one.test/"), Ok(true));
        assert_eq!(again.is_unshareable("https://two.test"), Ok(false));
        assert_eq!(found(Some("a")).as_deref(), Some("https://one.test"));
    }

    #[test]
    fn unreadable_file_is_an_error_and_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("issuers.json");
        for text in ["{ half", r#"{"version":9,"issuers":[]}"#] {
            atomic_file::write(&path, text.as_bytes()).unwrap();
            let issuers = IssuerBindings::new(path.clone());
            let error = issuers.find(&key(None)).unwrap_err();
            assert!(error.contains("issuers.json"), "{error}");
            assert!(issuers.remember(&key(None), "https://one.test").is_err());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn issuers_are_compared_as_urls() {
        for (one, other, same) in [
            ("https://a.test", "https://a.test/", true),
            ("https://A.test:443/t", "https://a.test/t/", true),
            ("https://a.test/t", "https://a.test/u", false),
            ("https://a.test", "http://a.test", false),
            ("https://a.test", "https://a.test.evil", false),
        ] {
            assert_eq!(is_same_issuer(one, other), same, "{one} {other}");
        }
    }
}
