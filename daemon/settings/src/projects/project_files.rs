//! Finds and reads the files of a project that may define servers.
//!
//! Invariants:
//!
//! - Approval and parsing use the same content, which is read once here. Files are not read again in between.
//! - A file that a stranger could have placed or written is ignored, as if it did not exist.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use mux_paths::regular_file::{self, Owner};

/// The project files of muxd and of Claude Code. If both define a name, the first one wins.
pub(crate) const PROJECT_FILE_NAMES: [&str; 2] = [".mux.toml", ".mcp.json"];
/// The maximum size of a project file: a user must be able to review it.
const MAX_PROJECT_FILE_BYTES: u64 = 256 << 10;

/// The files of one directory.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ProjectFiles {
    /// The existing files: name, and content or why it cannot be read.
    pub files: Vec<(&'static str, Result<String, String>)>,
}

impl ProjectFiles {
    /// Reads the files of a directory, or `None` if it has none.
    pub fn read(root: &Path) -> Option<Self> {
        let files: Vec<_> = PROJECT_FILE_NAMES
            .into_iter()
            .filter_map(|name| Some((name, read(&root.join(name))?)))
            .collect();
        (!files.is_empty()).then_some(Self { files })
    }

    /// The digest that identifies the files in an approval. `None` if one cannot be read, and so not be reviewed.
    pub fn digest(&self) -> Option<String> {
        let texts = self.texts()?;
        Some(digest(texts.iter().map(|(name, text)| (*name, *text))))
    }

    /// The names and contents of the files. `None` if one cannot be read.
    pub fn texts(&self) -> Option<Vec<(&'static str, &str)>> {
        let texts = self.files.iter();
        texts
            .map(|(name, text)| Some((*name, text.as_deref().ok()?)))
            .collect()
    }
}

/// The digest of names and contents. Each is hashed with its length, because different sets of files must not collide.
pub(crate) fn digest<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("muxd 2026 project files");
    for (name, text) in files {
        for part in [name, text] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    hasher.finalize().to_hex().to_string()
}

/// The project of a workspace, and every directory whose files could change that.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ProjectLocation {
    /// The canonical path of the workspace, if it exists.
    pub workspace: Option<PathBuf>,
    pub root: Option<PathBuf>,
    pub looked_in: Vec<PathBuf>,
    /// Project files, or their directories, that a stranger could have written, each with the reason.
    pub ignored: Vec<(PathBuf, &'static str)>,
}

/// Finds the nearest directory with a project file, from the workspace up to the root of its git repository, the home
/// directory, or the file system root.
pub fn find(workspace: &Path, home: &Path) -> ProjectLocation {
    let mut place = ProjectLocation::default();
    let Ok(workspace) = fs::canonicalize(workspace) else {
        return place;
    };
    place.workspace = Some(workspace.clone());
    let home = fs::canonicalize(home).ok();
    let chosen = Owner::of(&workspace);
    for dir in workspace.ancestors() {
        place.looked_in.push(dir.to_owned());
        let files = PROJECT_FILE_NAMES.map(|name| dir.join(name));
        let existing = files.iter().filter(|file| exists(file));
        let mut is_root = false;
        for file in existing {
            match ignored_path(dir, file, chosen) {
                None => is_root = true,
                ignored => place.ignored.extend(ignored),
            }
        }
        if is_root {
            place.root = Some(dir.to_owned());
            break;
        }
        if home.as_deref() == Some(dir) || exists(&dir.join(".git")) {
            break;
        }
    }
    place
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// The file, or its directory, if a stranger could have written it, and the reason. `chosen` owns the directory in which
/// the client works. Whoever works in another user's directory trusts that user.
fn ignored_path(dir: &Path, file: &Path, chosen: Owner) -> Option<(PathBuf, &'static str)> {
    let reason = |path: &Path| {
        let found = fs::metadata(path).ok()?;
        let reason = regular_file::writable_by_strangers(&found, chosen)?;
        Some((path.to_owned(), reason))
    };
    // Whoever may write to the directory decides about a link to the file.
    reason(dir).or_else(|| reason(file))
}

fn read(path: &Path) -> Option<Result<String, String>> {
    let dir = path.parent()?;
    // The directory was chosen when the project was found.
    if !exists(path) || ignored_path(dir, path, Owner::of(dir)).is_some() {
        return None;
    }
    match regular_file::read_text(path, MAX_PROJECT_FILE_BYTES) {
        // A dangling link.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.map_err(|error| error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_directory_is_found_but_not_above_repository_or_home() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        let home = top.join("home");
        let deep = home.join("repo/sub/deep");
        fs::create_dir_all(&deep).unwrap();
        let put = |at: &Path, name| fs::write(at.join(name), "{}").unwrap();
        let root = |from: &Path| find(from, &home).root;
        put(&top, ".mcp.json");
        assert_eq!(root(&deep), None, "not above the home");
        assert_eq!(root(&top.join("home/..")), Some(top.clone()));
        put(&home, ".mux.toml");
        assert_eq!(root(&deep), Some(home.clone()));
        fs::create_dir(home.join("repo/.git")).unwrap();
        assert_eq!(root(&deep), None, "not above a repository");
        assert_eq!(find(&deep, &home).looked_in.len(), 3);
        put(&home.join("repo"), ".mcp.json");
        assert_eq!(root(&deep), Some(home.join("repo")));
        assert_eq!(root(Path::new("/no/such/place")), None);
    }

    #[test]
    fn digest_covers_every_byte_and_file_name() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(ProjectFiles::read(dir.path()), None);
        let write = |name: &str, text: &[u8]| fs::write(dir.path().join(name), text).unwrap();
        let digest = || ProjectFiles::read(dir.path()).unwrap().digest();
        let mut seen = Vec::new();
        for (name, text) in [
            (".mcp.json", "{}"),
            (".mcp.json", "{} "),
            (".mux.toml", ""),
            (".mux.toml", "{} "),
        ] {
            write(name, text.as_bytes());
            let digest = digest().unwrap();
            assert!(!seen.contains(&digest), "{name} {text:?}");
            seen.push(digest);
        }
        write(".mux.toml", b"\xff");
        assert_eq!(digest(), None);
        write(".mux.toml", &vec![b' '; 300 << 10]);
        assert_eq!(digest(), None);
    }
}
