//! The sandbox in which an observed session would have worked. Pure, except that it checks which files exist now.
//!
//! Invariant: the home directory, its parents, top-level folders, muxd's own directories and paths that usually contain
//! secrets are never suggested. A remark names them instead.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::{Path, PathBuf},
};

use mux_messages::SandboxSuggestion;

use super::{
    observation::{FileAccess, ObservedAction},
    plan::SYSTEM_FILES,
    program_files::is_home_or_top_level,
};

/// If a sandbox has more paths of one kind, folders above them replace them where possible.
const MAX_SUGGESTED_PATHS: usize = 16;

/// Files and folders of the home that contain credentials or other programs' data.
const SECRET_PLACES: &[&str] = &[
    ".1password",
    ".aws",
    ".azure",
    ".bash_history",
    ".cargo/credentials.toml",
    ".claude",
    ".claude.json",
    ".codex",
    ".config/chromium",
    ".config/gcloud",
    ".config/gh",
    ".config/google-chrome",
    ".config/op",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".mozilla",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pypirc",
    ".ssh",
    ".terraform.d",
    ".vault-token",
    ".zsh_history",
];
/// The same, outside the home.
const SECRET_FILES: &[&str] = &["/etc/shadow", "/etc/gshadow", "/etc/sudoers"];
/// Folders of the home whose folders belong to one program each.
const SHARED_FOLDERS: &[&str] = &[
    ".cache",
    ".config",
    ".local",
    ".local/lib",
    ".local/share",
    ".local/state",
    "Library",
    "Library/Application Support",
    "Library/Caches",
];

/// The facts known about an observed server besides its observations.
#[derive(Clone, Debug, Default)]
pub struct ObservedServer {
    pub(super) home: PathBuf,
    /// Paths that its entry names: arguments, values of variables, and the working directory.
    pub(super) named: Vec<PathBuf>,
    /// The program's files, which every sandbox of the server has.
    pub(super) program: Vec<PathBuf>,
    /// The server's own folders in muxd's directories.
    pub(super) private: PathBuf,
    pub(super) protected: Vec<PathBuf>,
    /// Folders for temporary files, which each sandbox replaces with its own.
    pub(super) temporary: Vec<PathBuf>,
}

/// The suggestion for a server that did not start.
pub fn unobserved() -> SandboxSuggestion {
    suggest(&BTreeSet::new(), &[], &ObservedServer::default())
}

/// Derives a sandbox from what a server did, and from the hosts that it reached through the proxy. The caller adds the
/// server's name.
pub(super) fn suggest(
    observations: &BTreeSet<ObservedAction>,
    reached: &[String],
    server: &ObservedServer,
) -> SandboxSuggestion {
    let mut remarks = BTreeSet::new();
    let accessed = relevant_files(observations, server, &mut remarks);
    let mut read = Vec::new();
    let mut write = Vec::new();
    for (path, (access, is_folder)) in &accessed {
        // The folders on the way to a file are accessed, too.
        let is_on_the_way = *access == FileAccess::Look
            && accessed
                .range((
                    std::ops::Bound::Excluded(path.clone()),
                    std::ops::Bound::Unbounded,
                ))
                .next()
                .is_some_and(|(next, _)| next.starts_with(path));
        if is_on_the_way {
            continue;
        }
        match server.grant(path, *access, *is_folder) {
            Some(granted) if *access >= FileAccess::Write => write.push(granted),
            Some(granted) => read.push(granted),
            None if *access == FileAccess::Look => {}
            None => {
                remarks.insert(remark_of_ungrantable(path, *access, server));
            }
        }
    }
    let write = reduce(write, server);
    read.retain(|path| !write.iter().any(|above| path.starts_with(above)));
    let read = reduce(read, server);
    if observations.contains(&ObservedAction::Unreadable) {
        remarks.insert(
            "some system calls could not be decoded; the suggestion may be incomplete".into(),
        );
    }
    for observation in observations {
        if let ObservedAction::Socket(path) = observation {
            remarks.insert(format!(
                "it connects to the socket {}, which is not granted: a program that may use a socket has the rights of the process that serves it",
                path.display()
            ));
        }
    }
    let any_network = needs_any_network(observations, &mut remarks);
    let mut remarks: Vec<String> = remarks.into_iter().collect();
    if observations.is_empty() {
        remarks.push("nothing was observed: the server did not start".into());
    }
    SandboxSuggestion {
        server: String::new(),
        read,
        write,
        hosts: if any_network {
            Vec::new()
        } else {
            reached.to_vec()
        },
        any_network,
        remarks,
    }
}

type AccessedFiles = BTreeMap<PathBuf, (FileAccess, bool)>;

/// The files that need a grant in the entry, each with its strongest access.
fn relevant_files(
    observations: &BTreeSet<ObservedAction>,
    server: &ObservedServer,
    remarks: &mut BTreeSet<String>,
) -> AccessedFiles {
    let mut accessed = AccessedFiles::new();
    for observation in observations {
        let ObservedAction::File {
            access,
            path,
            is_folder,
        } = observation
        else {
            continue;
        };
        if server.has_anyway(path, *access) {
            continue;
        }
        if let Some(place) = server.secret_place(path) {
            if *access > FileAccess::Look {
                remarks.insert(format!(
                    "it {} {}, where secrets are stored, so it is not granted: add it only if the server needs it",
                    verb(*access),
                    place.display()
                ));
            }
            continue;
        }
        let known = accessed
            .entry(path.clone())
            .or_insert((*access, *is_folder));
        known.0 = known.0.max(*access);
        known.1 |= is_folder;
    }
    accessed
}

fn verb(access: FileAccess) -> &'static str {
    match access {
        FileAccess::Look => "looks at",
        FileAccess::Read => "reads",
        FileAccess::Write | FileAccess::Create => "writes",
    }
}

fn remark_of_ungrantable(path: &Path, access: FileAccess, server: &ObservedServer) -> String {
    let verb = verb(access);
    let shown = path.display();
    if path == server.home || server.home.starts_with(path) {
        return format!(
            "it {verb} {shown}, which contains the home directory and is not granted: the server sees an empty home"
        );
    }
    format!("it {verb} {shown}, which is not granted: granting its folder would be too much")
}

impl ObservedServer {
    /// True if no grant matters for this path: every sandbox has it, or none.
    fn has_anyway(&self, path: &Path, access: FileAccess) -> bool {
        let is_below = |folders: &[PathBuf]| is_any_above(folders, path);
        let is_named = self.folder_named(path).is_some();
        let is_system = SYSTEM_FILES.iter().any(|file| path.starts_with(file));
        let is_program = is_below(&self.program)
            && (access <= FileAccess::Read
                || path
                    .components()
                    .any(|part| part.as_os_str() == "__pycache__"));
        let is_temporary = is_below(&self.temporary)
            && !is_named
            && !(path.starts_with(&self.home) && is_any_above(&self.temporary, &self.home));
        let is_above_program = self.program.iter().any(|own| own.starts_with(path));
        // Node.js looks for this file in all folders above a module.
        let is_manifest_above = path.file_name().is_some_and(|name| name == "package.json")
            && path
                .parent()
                .is_some_and(|folder| self.program.iter().any(|own| own.starts_with(folder)));
        is_system
            || is_program
            || (is_above_program || is_manifest_above) && access <= FileAccess::Read
            || is_temporary
            || path.starts_with(&self.private)
            || is_below(&self.protected)
    }

    fn secret_place(&self, path: &Path) -> Option<PathBuf> {
        let own = SECRET_PLACES.iter().map(|place| self.home.join(place));
        let other = SECRET_FILES.iter().map(PathBuf::from);
        own.chain(other).find(|place| path.starts_with(place))
    }

    fn may_be_granted(&self, folder: &Path) -> bool {
        !is_home_or_top_level(folder, &self.home)
            && !SHARED_FOLDERS
                .iter()
                .any(|shared| folder == self.home.join(shared))
            && self.secret_place(folder).is_none()
            // A folder around them may be granted, and they are hidden in it. But that is the user's decision.
            && !self.protected.iter().any(|own| own.starts_with(folder))
    }

    /// The folder that the entry names around this path, or the path itself.
    fn folder_named(&self, path: &Path) -> Option<&Path> {
        let named = self.named.iter().map(PathBuf::as_path);
        named
            .filter(|named| path.starts_with(named) && self.may_be_granted(named))
            .max_by_key(|named| named.components().count())
    }

    /// The folder in the home that belongs to this path's program.
    fn folder_of_program(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.home).ok()?;
        let first = below.components().next()?;
        if !first.as_os_str().as_encoded_bytes().starts_with(b".") {
            return None;
        }
        let shared = SHARED_FOLDERS
            .iter()
            .filter(|shared| below.starts_with(shared))
            .map(|shared| Path::new(shared).components().count());
        let depth = shared.max().unwrap_or(0) + 1;
        let folder: PathBuf = below.components().take(depth).collect();
        let folder = self.home.join(folder);
        (folder != path && self.may_be_granted(&folder)).then_some(folder)
    }

    /// The path that a sandbox has to grant for an access to `path`.
    fn grant(&self, path: &Path, access: FileAccess, is_folder: bool) -> Option<PathBuf> {
        let is_write = access >= FileAccess::Write;
        if let Some(named) = self.folder_named(path)
            && (named != path || is_folder || !is_write)
        {
            return Some(named.to_owned());
        }
        if let Some(folder) = self.folder_of_program(path) {
            return Some(folder);
        }
        if is_folder && !is_write && self.may_be_granted(path) {
            return Some(path.to_owned());
        }
        // Creating or replacing a file changes its folder. A file that is read usually has others beside it.
        if let Some(folder) = path.parent().filter(|folder| self.may_be_granted(folder))
            && access != FileAccess::Look
        {
            return Some(folder.to_owned());
        }
        // A file directly in the home, or in a folder that is not granted.
        let is_granted_alone = match access {
            FileAccess::Create => path.is_dir(),
            FileAccess::Look | FileAccess::Read | FileAccess::Write => !is_folder || is_write,
        };
        let is_allowed = self.may_be_granted(path) || !is_folder && path.components().count() > 2;
        (is_granted_alone && is_allowed && path.exists()).then(|| path.to_owned())
    }
}

fn is_any_above(folders: &[PathBuf], path: &Path) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// Removes paths inside another path, and replaces many paths in one folder with the folder.
fn reduce(paths: Vec<PathBuf>, server: &ObservedServer) -> Vec<PathBuf> {
    let without_inner = |paths: BTreeSet<PathBuf>| {
        let mut kept: Vec<PathBuf> = Vec::new();
        for path in paths {
            // Sorted: parents come first.
            if !kept.iter().any(|above| path.starts_with(above)) {
                kept.push(path);
            }
        }
        kept
    };
    let mut kept = without_inner(paths.into_iter().filter(|path| path.exists()).collect());
    while kept.len() > MAX_SUGGESTED_PATHS {
        let mut parents: BTreeMap<&Path, usize> = BTreeMap::new();
        for path in &kept {
            if let Some(parent) = path.parent().filter(|it| server.may_be_granted(it)) {
                *parents.entry(parent).or_default() += 1;
            }
        }
        let Some((fullest, _)) = parents.into_iter().max_by_key(|(_, count)| *count) else {
            break;
        };
        let fullest = fullest.to_owned();
        kept = without_inner(kept.into_iter().chain([fullest]).collect());
    }
    kept
}

/// Returns true if the server connects without the proxy.
fn needs_any_network(
    observations: &BTreeSet<ObservedAction>,
    remarks: &mut BTreeSet<String>,
) -> bool {
    let listens_at = |address: &SocketAddr| {
        address.ip().is_loopback() && observations.contains(&ObservedAction::Listen(address.port()))
    };
    let direct: Vec<&SocketAddr> = observations
        .iter()
        .filter_map(|observation| match observation {
            ObservedAction::Connect(address) if !listens_at(address) => Some(address),
            _ => None,
        })
        .collect();
    let Some(first) = direct.first() else {
        return false;
    };
    let more = match direct.len() {
        1 => String::new(),
        count => format!(" and {} more addresses", count - 1),
    };
    remarks.insert(format!(
        "it connects to {first}{more} directly, not through a proxy, so a host list would block it"
    ));
    true
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file(access: FileAccess, path: &Path) -> ObservedAction {
        ObservedAction::File {
            access,
            path: path.to_owned(),
            is_folder: path.is_dir(),
        }
    }

    fn server(home: &Path) -> ObservedServer {
        ObservedServer {
            home: home.to_owned(),
            private: home.join(".local/state/mux/sandboxes/box"),
            temporary: vec!["/tmp".into()],
            ..ObservedServer::default()
        }
    }

    fn shown(home: &Path, paths: &[PathBuf]) -> Vec<String> {
        let below = paths
            .iter()
            .map(|path| path.strip_prefix(home).unwrap_or(path));
        below.map(|path| path.display().to_string()).collect()
    }

    fn home_with(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("me");
        for file in files {
            let path = home.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        (folder, home)
    }

    #[test]
    fn files_become_the_folders_that_the_entry_names_or_that_they_are_in() {
        use FileAccess::{Create, Look, Read, Write};

        let (_folder, home) = home_with(&[
            "notes/a/b.txt",
            "data/x.db",
            ".config/tool/c.toml",
            ".gitconfig",
            ".cache/models/m.bin",
        ]);
        let mut server = server(&home);
        server.named = vec![home.join("notes"), home.clone()];
        let done = [
            (Look, "notes"),
            (Read, "notes/a/b.txt"),
            (Look, "data"),
            (Write, "data/x.db"),
            (Create, "data/x.db-journal"),
            (Read, ".config/tool/c.toml"),
            (Read, ".gitconfig"),
            (Look, ""),
            (Create, ".cache/models/m.bin"),
        ];
        let observations = done.map(|(access, path)| file(access, &home.join(path)));
        let suggested = suggest(&observations.into(), &["a.example:443".into()], &server);
        assert_eq!(
            shown(&home, &suggested.read),
            [".config/tool", ".gitconfig", "notes"]
        );
        assert_eq!(shown(&home, &suggested.write), [".cache/models", "data"]);
        assert_eq!(suggested.hosts, ["a.example:443"]);
        assert_eq!(suggested.remarks, Vec::<String>::new());
    }

    #[test]
    fn the_home_and_secrets_are_named_and_never_suggested() {
        let (_folder, home) = home_with(&[".ssh/id", ".aws/credentials", ".config/gh/hosts.yml"]);
        let mut server = server(&home);
        server.named = vec![home.clone(), home.join(".ssh")];
        let paths = [
            "",
            ".ssh",
            ".ssh/id",
            ".aws/credentials",
            ".config/gh/hosts.yml",
            ".config",
        ];
        let mut observations: BTreeSet<ObservedAction> = paths
            .iter()
            .map(|path| {
                file(
                    FileAccess::Read,
                    &home.join(path).components().collect::<PathBuf>(),
                )
            })
            .collect();
        observations.insert(file(FileAccess::Create, &home.join("new.txt")));
        let suggested = suggest(&observations, &[], &server);
        assert_eq!(shown(&home, &suggested.read), Vec::<String>::new());
        assert_eq!(shown(&home, &suggested.write), Vec::<String>::new());
        let remarks = suggested.remarks.join("\n");
        for named in [
            ".ssh,",
            ".aws,",
            ".config/gh,",
            "/me,",
            ".config,",
            "new.txt,",
        ] {
            assert!(remarks.contains(named), "{named} is not in:\n{remarks}");
        }
    }

    #[test]
    fn direct_connections_need_the_network_unless_the_server_listens_there_itself() {
        let connect = |text: &str| ObservedAction::Connect(text.parse().unwrap());
        let own = BTreeSet::from([connect("127.0.0.1:81"), ObservedAction::Listen(81)]);
        let nowhere = server(Path::new("/home/me"));
        assert!(!suggest(&own, &[], &nowhere).any_network);
        let direct = BTreeSet::from([connect("192.0.2.1:443")]);
        let suggested = suggest(&direct, &["a.example:443".into()], &nowhere);
        assert!(suggested.any_network && suggested.hosts.is_empty());
        assert!(suggested.remarks[0].contains("192.0.2.1:443"));
    }

    #[test]
    fn many_files_of_one_folder_become_the_folder() {
        let names: Vec<String> = (0..40)
            .map(|number| format!("work/{number}/a.txt"))
            .collect();
        let (_folder, home) = home_with(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let observations = names
            .iter()
            .map(|name| file(FileAccess::Read, &home.join(name)))
            .collect();
        let suggested = suggest(&observations, &[], &server(&home));
        assert_eq!(shown(&home, &suggested.read), ["work"]);
    }
}
