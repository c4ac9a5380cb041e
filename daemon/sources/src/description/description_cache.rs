//! The folder of cached remote descriptions. A file is a line of metadata, then the text.
//!
//! Invariant: a file is replaced atomically, a file whose digest does not match is ignored, and only the owner can read
//! it: an API's description may be private.

use std::{
    fs, io,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use tracing::warn;

use super::HttpValidators;
use mux_files::atomic_file;

#[derive(Debug)]
pub(crate) struct DescriptionCache {
    folder: PathBuf,
}

/// A cached description.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CachedDescription {
    pub(crate) text: String,
    pub(crate) version: HttpValidators,
    /// The time when the description was last known to be current.
    pub(crate) fetched: SystemTime,
    /// Whether the text counts as coming from a private network. `None` in files of versions that did not store this.
    pub(crate) private: Option<bool>,
}

#[derive(Deserialize, Serialize)]
struct CacheFileHeader {
    /// The hash of the text, in hexadecimal.
    digest: String,
    version: HttpValidators,
    /// In seconds since the Unix epoch.
    fetched: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    private: Option<bool>,
}

impl CacheFileHeader {
    /// `None` for a time that no clock shows.
    fn fetched(&self) -> Option<SystemTime> {
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(self.fetched))
    }
}

impl DescriptionCache {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(crate) fn read(&self, name: &str, address: &str) -> Option<CachedDescription> {
        let text = fs::read_to_string(self.path(name, address)).ok()?;
        let (head, text) = text.split_once('\n')?;
        let head: CacheFileHeader = serde_json::from_str(head).ok()?;
        if digest(text) != head.digest {
            return None;
        }
        Some(CachedDescription {
            text: text.to_owned(),
            fetched: head.fetched()?,
            version: head.version,
            private: head.private,
        })
    }

    /// The time when the description was last known to be current. Does not read the text.
    pub(crate) fn fetched(&self, name: &str, address: &str) -> Option<SystemTime> {
        let file = fs::File::open(self.path(name, address)).ok()?;
        let mut head = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(file), &mut head).ok()?;
        let head: CacheFileHeader = serde_json::from_str(&head).ok()?;
        head.fetched()
    }

    /// Returns once the description is on disk. If that fails, the next start has to fetch the description again.
    pub(crate) fn keep(&self, name: &str, address: &str, kept: &CachedDescription) {
        if let Err(error) = self.replace(name, address, kept) {
            let folder = self.folder.display();
            warn!(source = name, %error, %folder, "cannot cache the description");
        }
    }

    fn replace(&self, name: &str, address: &str, kept: &CachedDescription) -> io::Result<()> {
        let since = kept.fetched.duration_since(SystemTime::UNIX_EPOCH);
        let head = CacheFileHeader {
            digest: digest(&kept.text),
            version: kept.version.clone(),
            fetched: since.unwrap_or_default().as_secs(),
            private: kept.private,
        };
        let mut bytes = serde_json::to_vec(&head)?;
        bytes.push(b'\n');
        bytes.extend_from_slice(kept.text.as_bytes());
        atomic_file::write(&self.path(name, address), &bytes)
    }

    /// The name is a hash, because the address may contain a secret.
    fn path(&self, name: &str, address: &str) -> PathBuf {
        let mut hasher = blake3::Hasher::new();
        hasher
            .update(name.as_bytes())
            .update(b"\0")
            .update(address.as_bytes());
        let hash = hasher.finalize().to_hex();
        self.folder.join(format!("{}.description", &hash[..32]))
    }
}

fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_description_is_found_and_a_modified_file_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DescriptionCache::new(folder.path().join("new"));
        let kept = CachedDescription {
            private: Some(true),
            text: "openapi: 3.1.0\ninfo: {}\n".into(),
            version: HttpValidators {
                etag: Some("\"1\"".into()),
                modified: None,
            },
            fetched: SystemTime::UNIX_EPOCH + Duration::from_secs(1_000),
        };
        let address = "https://h/openapi.yaml?key=s3cret";
        assert_eq!(cache.read("a", address), None);
        cache.keep("a", address, &kept);
        cache.keep("a", address, &kept);
        assert_eq!(cache.read("a", address).as_ref(), Some(&kept));
        assert_eq!(cache.fetched("a", address), Some(kept.fetched));
        for (name, address) in [("b", address), ("a", "https://h/other")] {
            assert_eq!(cache.read(name, address), None);
        }
        let files: Vec<_> = fs::read_dir(folder.path().join("new"))
            .unwrap()
            .flatten()
            .collect();
        assert_eq!(files.len(), 1);
        assert!(!files[0].file_name().to_string_lossy().contains("s3cret"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = files[0].metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let path = files[0].path();
        let whole = fs::read_to_string(&path).unwrap();
        let far_off = whole.replace("\"fetched\":1000", "\"fetched\":18446744073709551615");
        assert_ne!(far_off, whole);
        fs::write(&path, far_off).unwrap();
        assert_eq!(cache.read("a", address), None);
        assert_eq!(cache.fetched("a", address), None);
        let text = whole.replace("3.1.0", "3.0.0");
        fs::write(&path, text).unwrap();
        assert_eq!(cache.read("a", address), None);
    }
}
