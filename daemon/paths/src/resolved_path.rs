//! Resolves a path, and reports the symbolic links that decide where it leads.

use std::{
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

/// The maximum number of links that are followed, as in the kernel.
const MAX_LINKS: usize = 40;

/// Where a path leads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ResolvedPath {
    /// The path without links, `.` and `..`.
    pub real: PathBuf,
    /// The links on the way, in the order in which they were followed.
    pub links: Vec<FollowedLink>,
}

/// A symbolic link that a path leads through.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FollowedLink {
    /// The real path of the link itself.
    pub at: PathBuf,
    /// The target as written in the link.
    pub target: PathBuf,
}

/// Resolves an absolute path. Fails if it does not exist, or leads through more than [`MAX_LINKS`] links.
pub fn resolve(path: &Path) -> io::Result<ResolvedPath> {
    if !path.is_absolute() {
        return Err(io::Error::other("it is not an absolute path"));
    }
    let mut links = Vec::new();
    let mut real = PathBuf::new();
    // In reverse order: the next component is the last element.
    let mut remaining = reversed_components(path);
    while let Some(component) = remaining.pop() {
        if component == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&component);
        let target = if fs::symlink_metadata(&next)?.is_symlink() {
            fs::read_link(&next)?
        } else {
            real = next;
            continue;
        };
        if links.len() == MAX_LINKS {
            return Err(io::Error::other("it leads through too many links"));
        }
        if target.is_absolute() {
            real = PathBuf::new();
        }
        remaining.extend(reversed_components(&target));
        links.push(FollowedLink { at: next, target });
    }
    // A path may be written in another case there.
    #[cfg(target_os = "macos")]
    let real = fs::canonicalize(&real)?;
    Ok(ResolvedPath { real, links })
}

/// Where `path`, or the part of it that exists, leads outside of `folder`. `None` if it stays inside. Fails if a link on
/// the way is dangling. Both are absolute.
pub fn leads_out_of(folder: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    let exists = |path: &&Path| fs::symlink_metadata(path).is_ok();
    let existing = path.ancestors().find(exists).unwrap_or(folder);
    let folder = resolve(folder)?.real;
    let reached = resolve(existing)?.real;
    Ok((!reached.starts_with(folder)).then_some(reached))
}

/// The components of a path without `.`, the last component first. Roots and prefixes are also components: joining one
/// to a path replaces that path.
fn reversed_components(path: &Path) -> Vec<OsString> {
    let components = path.components().rev();
    components
        .filter(|component| *component != Component::CurDir)
        .map(|component| component.as_os_str().to_owned())
        .collect()
}

// Links need a privilege on Windows.
#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_on_the_way_is_reported_with_its_real_path() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::create_dir_all(top.join("secret/deep")).unwrap();
        symlink("../secret", top.join("a/docs")).unwrap();
        symlink(top.join("a"), top.join("start")).unwrap();
        let resolved = resolve(&top.join("start/./b/../docs/deep")).unwrap();
        assert_eq!(resolved.real, top.join("secret/deep"));
        let at: Vec<&Path> = resolved.links.iter().map(|link| &*link.at).collect();
        assert_eq!(at, [top.join("start"), top.join("a/docs")]);
        assert_eq!(
            resolved.real,
            top.join("start/docs/deep").canonicalize().unwrap()
        );
        assert_eq!(resolve(&top).unwrap().links, []);
    }

    #[test]
    fn path_leads_out_through_a_folder_or_the_file_itself() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let project = top.join("project");
        fs::create_dir_all(project.join("config")).unwrap();
        fs::create_dir(top.join("home")).unwrap();
        symlink("config", project.join(".inside")).unwrap();
        symlink("../home", project.join(".outside")).unwrap();
        symlink("../home/file", project.join("dangling")).unwrap();
        let leads = |path: &str| leads_out_of(&project, &project.join(path));
        assert_eq!(leads(".inside/mcp.json").unwrap(), None);
        assert_eq!(leads("new/folder/mcp.json").unwrap(), None);
        assert_eq!(leads(".outside/mcp.json").unwrap(), Some(top.join("home")));
        leads("dangling").unwrap_err();
    }

    #[test]
    fn loops_and_missing_files_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        symlink("loop", dir.path().join("loop")).unwrap();
        resolve(&dir.path().join("loop")).unwrap_err();
        let missing = resolve(&dir.path().join("missing")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        resolve(Path::new("relative")).unwrap_err();
    }
}
