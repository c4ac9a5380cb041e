//! The files of which a server's program consists: its own, those of its interpreter, and those of the package manager
//! that starts it.
//!
//! Invariants:
//!
//! - The home directory itself and its parents are never part of a program, whichever path leads to them.
//! - A file that a server could have written, such as a link or the first line of a script, does not lead to files that
//!   it was not granted.

use std::{
    ffi::OsString,
    fs,
    io::Read as _,
    path::{Component, Path, PathBuf},
};

use mux_paths::regular_file;
use mux_settings::projects::lexical_path;

use super::{
    granted_paths::{GrantedPath, WriteGrant},
    plan::ConfineError,
};

/// The maximum size of a `pyvenv.cfg`, which has a few lines.
const MAX_VENV_CONFIG_BYTES: u64 = 64 << 10;
/// How many interpreters of interpreters are followed.
const MAX_INTERPRETERS: usize = 4;

/// Folders of the home in which version managers keep interpreters. A program in one of them may need all of it.
const VERSION_MANAGERS: &[&str] = &[
    ".asdf",
    ".bun",
    ".deno",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/uv",
    ".nvm",
    ".pyenv",
    ".pixi",
    ".rbenv",
    ".rye",
    ".volta",
    "mambaforge",
    "micromamba",
    "miniconda3",
    "miniforge3",
    "anaconda3",
];

/// Files that an installation has beside its `bin`. These mark the installation as part of the program in `bin`.
const INSTALLATION_MARKS: &[&str] = &["pyvenv.cfg", "conda-meta", "lib/node_modules"];

/// Programs whose first argument is a script. Pythons of a version have its number behind the name.
const SCRIPT_RUNNERS: &[&str] = &[
    "node", "python", "bun", "deno", "ruby", "sh", "bash", "tsx", "uv",
];

/// Options that take the program from the command line, or from a module.
const INLINE_OPTIONS: &[&str] = &["-c", "-e", "-m", "-p", "--eval", "--print"];

/// The kind of program that starts the server, as far as it affects the sandbox.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ProgramKind {
    /// npx, npm, pnpm, bunx: these fetch npm packages.
    Npm,
    /// uvx, uv: these fetch PyPI packages.
    Uv,
    /// docker, podman: the server runs elsewhere.
    Containers,
    Other,
}

/// The files of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct ProgramFiles {
    pub(super) read: Vec<PathBuf>,
    pub(super) kind: Option<ProgramKind>,
    pub(super) escape: Option<EscapingFile>,
}

/// A file that a server may change, and the path outside this server's grants to which it leads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct EscapingFile {
    from: PathBuf,
    to: PathBuf,
    /// The server that may change it.
    server: String,
}

impl EscapingFile {
    pub(super) fn refusal(self) -> ConfineError {
        let Self { from, to, server } = self;
        let from = from.display();
        let to = to.display();
        ConfineError::BadPath(format!(
            "{from} leads to {to}, and the server `{server}` may change where it leads; add {to} to sandbox.read, or keep the program out of sandbox.write of `{server}`"
        ))
    }
}

/// The access of servers, as far as it decides which files of a program can be trusted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProgramGrants<'a> {
    /// The paths that the entry grants.
    pub(super) read: &'a [GrantedPath],
    pub(super) write: &'a [GrantedPath],
    /// The paths that any server may change, this server included.
    pub(super) changeable: &'a [WriteGrant],
}

impl ProgramGrants<'_> {
    /// True if a file that a server may change can lead to `real`: the server was granted it, or no data is there.
    pub(super) fn may_hold_program(&self, real: &Path, home: &Path) -> bool {
        let mut granted = self.read.iter().chain(self.write);
        is_system(real)
            || version_manager(home, real).is_some()
            || granted.any(|granted| granted.contains(real))
    }

    /// The folder in which a server may change the file at `path`.
    fn folder_that_changes(&self, path: &Path) -> Option<&Path> {
        self.grant_that_changes(path).map(|grant| &*grant.folder)
    }

    /// The write access to the file at `path`, by the path as written or by the real path.
    fn grant_that_changes(&self, path: &Path) -> Option<&WriteGrant> {
        let real = path.parent().and_then(|parent| parent.canonicalize().ok());
        let real = real.map(|parent| parent.join(path.file_name().unwrap_or_default()));
        let paths = [Some(path.to_owned()), real, path.canonicalize().ok()];
        let mut changeable = self.changeable.iter();
        changeable.find(|grant| {
            let mut paths = paths.iter().flatten();
            paths.any(|path| path.starts_with(&grant.folder))
        })
    }
}

/// The facts that determine a program's files, besides its command.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProgramLocation<'a> {
    pub(super) home: &'a Path,
    pub(super) cwd: &'a Path,
    pub(super) grants: ProgramGrants<'a>,
}

impl ProgramLocation<'_> {
    /// True if `folder` may be granted as a part of a program: it is neither the home nor above it, nor a top-level
    /// folder.
    fn may_be_granted(&self, folder: &Path) -> bool {
        !is_home_or_top_level(folder, self.home) && folder != self.home.join(".local")
    }

    /// True if `mark` exists below `folder` and no server could have put it there: a server that may change the mark,
    /// but not the folder, would choose how much is granted.
    fn has_mark(&self, folder: &Path, mark: &str) -> bool {
        let path = folder.join(mark);
        let is_decision = self.grants.folder_that_changes(&path).is_some()
            && self.grants.folder_that_changes(folder).is_none();
        path.exists() && !is_decision
    }

    /// True if `prefix` is a separate installation, such as a virtual environment or an unpacked Node.js.
    fn is_installation(&self, prefix: &Path) -> bool {
        let has_library = |name: &str| {
            let libraries = fs::read_dir(prefix.join("lib"))
                .into_iter()
                .flatten()
                .flatten();
            let mut names = libraries.map(|entry| entry.file_name());
            names.any(|found| found.as_encoded_bytes().starts_with(name.as_bytes()))
        };
        INSTALLATION_MARKS
            .iter()
            .any(|mark| self.has_mark(prefix, mark))
            || (has_library("python") && self.has_mark(prefix, "bin/python3"))
    }
}

/// The version manager's folder in the home that holds `program`.
fn version_manager(home: &Path, program: &Path) -> Option<PathBuf> {
    let homes = [Some(home.to_owned()), home.canonicalize().ok()];
    let mut folders = VERSION_MANAGERS.iter().flat_map(|manager| {
        let homes = homes.iter().flatten();
        homes.map(move |home| home.join(manager))
    });
    folders.find(|folder| program.starts_with(folder))
}

pub(super) fn kind_of(program: &Path) -> ProgramKind {
    let name = program.file_stem().unwrap_or_default().to_string_lossy();
    match &*name {
        "npx" | "npm" | "pnpm" | "pnpx" | "bunx" => ProgramKind::Npm,
        "uvx" | "uv" => ProgramKind::Uv,
        "docker" | "podman" | "nerdctl" => ProgramKind::Containers,
        _ => ProgramKind::Other,
    }
}

impl ProgramFiles {
    /// `program` is absolute; `find` resolves a bare name as the server's `PATH` does.
    pub(super) fn of(
        program: &Path,
        args: &[OsString],
        location: ProgramLocation<'_>,
        find: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Self {
        let mut files = Self {
            kind: Some(kind_of(program)),
            ..Self::default()
        };
        let mut next = Some(program.to_owned());
        for _ in 0..MAX_INTERPRETERS {
            let Some(program) = next.take() else { break };
            files.add_program(&program, location);
            let Some(interpreter) = interpreter(&program) else {
                break;
            };
            // A bare name is searched for in the entry's `PATH`, which the server does not choose.
            if interpreter.is_absolute() && !files.may_lead(&program, &interpreter, location) {
                break;
            }
            next = find(&interpreter);
        }
        // `node server.js`, `python server.py`: the script is the program.
        if let Some(script) = script_of(program, args) {
            let script = location.cwd.join(script);
            if script.is_file() {
                files.add_project(&script, location);
            }
        }
        if files.kind == Some(ProgramKind::Uv) {
            // The Pythons that it has installed.
            files.add_if_below(location.home, ".local/share/uv");
        }
        files.read.sort();
        files.read.dedup();
        files
    }

    fn add_if_below(&mut self, home: &Path, name: &str) {
        let path = home.join(name);
        if path.exists() {
            self.read.push(path);
        }
    }

    fn add_program(&mut self, program: &Path, location: ProgramLocation<'_>) {
        self.add_one_program(program, location);
        // Each link on the way has its own files beside it, such as a virtual environment.
        let mut link = program.to_owned();
        for _ in 0..MAX_INTERPRETERS {
            let Ok(target) = fs::read_link(&link) else {
                break;
            };
            let target = link.parent().unwrap_or(Path::new("/")).join(target);
            if !self.may_lead(&link, &target, location) {
                return;
            }
            link = target;
            self.add_one_program(&link, location);
        }
        if let Ok(real) = program.canonicalize()
            && self.may_lead(program, &real, location)
        {
            self.add_one_program(&real, location);
        }
    }

    /// Returns true if `from` may decide that `to` is granted. A file that a server may change leads only to files that
    /// this server has anyway.
    fn may_lead(&mut self, from: &Path, to: &Path, location: ProgramLocation<'_>) -> bool {
        let ProgramLocation { home, grants, .. } = location;
        let from = lexical_path(from);
        let Some(WriteGrant { server, .. }) = grants.grant_that_changes(&from) else {
            return true;
        };
        let to_lexical = lexical_path(to);
        let to_real = to.canonicalize().unwrap_or_else(|_| to_lexical.clone());
        let leads_inside = [&to_lexical, &to_real]
            .into_iter()
            .all(|to| grants.may_hold_program(to, home));
        if !leads_inside {
            self.escape = Some(EscapingFile {
                server: server.clone(),
                from,
                to: to_real,
            });
        }
        leads_inside
    }

    fn add_one_program(&mut self, program: &Path, location: ProgramLocation<'_>) {
        let program = lexical_path(program);
        if is_system(&program) {
            return;
        }
        if let Some(folder) = version_manager(location.home, &program) {
            self.read.push(folder);
            return;
        }
        if let Some(modules) = above_and_including(&program, "node_modules") {
            self.read.push(modules);
            return;
        }
        let bin = program.parent();
        let prefix = bin.and_then(Path::parent);
        if let (Some(bin), Some(prefix)) = (bin, prefix)
            && bin.file_name().is_some_and(|name| name == "bin")
            && location.may_be_granted(prefix)
            && location.is_installation(prefix)
        {
            self.read.push(prefix.to_owned());
            if let Some(base) = base_of_venv(prefix)
                && !is_system(&base)
                && location.may_be_granted(&base)
                && self.may_lead(prefix, &base, location)
            {
                self.read.push(base);
            }
            return;
        }
        self.read.push(program);
    }

    /// Adds the package of a script, or the folder that it is in.
    fn add_project(&mut self, script: &Path, location: ProgramLocation<'_>) {
        let script = lexical_path(script);
        if is_system(&script) {
            return;
        }
        // A server that may change the script could remove the marks near it, and a mark farther away would count.
        let within = location.grants.folder_that_changes(&script);
        let marked = script.ancestors().skip(1).find(|folder| {
            location.may_be_granted(folder)
                && within.is_none_or(|within| folder.starts_with(within))
                && ["package.json", "pyproject.toml", "node_modules", ".venv"]
                    .iter()
                    .any(|name| location.has_mark(folder, name))
        });
        let folder = marked.or(script.parent());
        match folder.filter(|folder| location.may_be_granted(folder)) {
            Some(folder) => self.read.push(folder.to_owned()),
            None => self.read.push(script),
        }
    }
}

/// The script in `args`, if `program` runs one: the first argument that is not an option, behind `run`.
fn script_of<'a>(program: &Path, args: &'a [OsString]) -> Option<&'a Path> {
    let name = program.file_name()?.to_str()?;
    let name = match name.strip_prefix("python") {
        Some(version)
            if version
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.') =>
        {
            "python"
        }
        _ => name,
    };
    if !SCRIPT_RUNNERS.contains(&name) {
        return None;
    }
    let takes_run = ["uv", "bun", "deno"].contains(&name);
    for arg in args {
        let text = arg.to_str().unwrap_or_default();
        if INLINE_OPTIONS.contains(&text) {
            return None;
        }
        if text.starts_with('-') || (takes_run && text == "run") {
            continue;
        }
        let script = Path::new(arg);
        return script.extension().is_some().then_some(script);
    }
    None
}

/// Folders without users' data, which every sandbox has.
pub(super) const SYSTEM_FOLDERS: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
];

fn is_system(path: &Path) -> bool {
    SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// True if `folder` is the home or above it, or a top-level folder, whichever path leads to it.
pub(super) fn is_home_or_top_level(folder: &Path, home: &Path) -> bool {
    let homes = [Some(home.to_owned()), home.canonicalize().ok()];
    let folders = [Some(folder.to_owned()), folder.canonicalize().ok()];
    folders.iter().flatten().any(|folder| {
        let is_above = homes.iter().flatten().any(|home| home.starts_with(folder));
        folder.components().count() <= 2 || is_above
    })
}

/// The path up to the first component of this name.
fn above_and_including(path: &Path, name: &str) -> Option<PathBuf> {
    let position = path
        .components()
        .position(|part| part == Component::Normal(name.as_ref()))?;
    Some(path.components().take(position + 1).collect())
}

/// The installation that a virtual environment of Python was made from.
fn base_of_venv(prefix: &Path) -> Option<PathBuf> {
    let config = regular_file::read_text(&prefix.join("pyvenv.cfg"), MAX_VENV_CONFIG_BYTES).ok()?;
    let home = config
        .lines()
        .find_map(|line| line.strip_prefix("home")?.trim().strip_prefix('='))?;
    // `home` is the folder of the interpreter.
    Path::new(home.trim()).parent().map(Path::to_owned)
}

/// The interpreter in the first line of a script. For `env` it is the program that `env` looks for.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let mut start = [0; 256];
    let count = regular_file::open(program).ok()?.read(&mut start).ok()?;
    let line = start[..count].strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let line = str::from_utf8(line).ok()?;
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let named = match Path::new(first).file_name() {
        // A relative path would be relative to the directory of the server.
        Some(name) if name == "env" => words
            .find(|word| !word.starts_with('-') && !word.contains('='))
            .filter(|word| !word.contains('/'))?,
        _ => first,
    };
    Some(named.into())
}

// Unix programs, links and paths: there is no server sandbox on Windows.
#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn files_of(
        home: &Path,
        program: &Path,
        args: &[&str],
        granted: &[PathBuf],
        writable: &[PathBuf],
    ) -> ProgramFiles {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let find = |name: &Path| Some(home.join(".nvm/v20/bin").join(name));
        let resolve = |paths: &[PathBuf]| GrantedPath::resolve_all(paths).unwrap();
        let read = resolve(granted);
        let write = resolve(writable);
        let changeable: Vec<WriteGrant> = write
            .iter()
            .map(|granted| WriteGrant {
                server: "own".into(),
                folder: granted.real.clone(),
            })
            .collect();
        let location = ProgramLocation {
            home,
            cwd: home,
            grants: ProgramGrants {
                read: &read,
                write: &write,
                changeable: &changeable,
            },
        };
        ProgramFiles::of(program, &args, location, find)
    }

    fn granted(home: &Path, program: &Path, args: &[&str]) -> Vec<String> {
        let files = files_of(home, program, args, &[], &[]);
        assert_eq!(files.escape, None);
        let read = files.read.iter();
        read.map(|path| {
            path.strip_prefix(home)
                .unwrap_or(path)
                .display()
                .to_string()
        })
        .collect()
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn program_brings_its_package_and_its_interpreter() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        // A package of npm, started by the link that npm makes.
        write(
            &home.join("tools/node_modules/pkg/cli.js"),
            "#!/usr/bin/env node\n",
        );
        fs::create_dir_all(home.join("tools/node_modules/.bin")).unwrap();
        let link = home.join("tools/node_modules/.bin/pkg");
        symlink("../pkg/cli.js", &link).unwrap();
        write(&home.join(".nvm/v20/bin/node"), "");
        assert_eq!(granted(&home, &link, &[]), [".nvm", "tools/node_modules"]);

        // A virtual environment, and the Python below it.
        write(&home.join("env/bin/server"), "#!/usr/bin/python3\n");
        write(
            &home.join("env/pyvenv.cfg"),
            &format!("home = {}/py/3.12/bin\n", home.display()),
        );
        assert_eq!(
            granted(&home, &home.join("env/bin/server"), &[]),
            ["env", "py/3.12"]
        );

        // A program in a folder of many programs is granted alone.
        for shared in [".local/bin/tool", ".cargo/bin/tool", "bin/tool"] {
            write(&home.join(shared), "");
            assert_eq!(granted(&home, &home.join(shared), &[]), [shared]);
        }
        // A script in a project.
        write(&home.join("code/srv/package.json"), "{}");
        write(&home.join("code/srv/dist/index.js"), "");
        assert_eq!(
            granted(
                &home,
                Path::new("/usr/bin/node"),
                &["code/srv/dist/index.js"]
            ),
            ["code/srv"]
        );
        // A script directly in the home adds nothing else of the home.
        write(&home.join("alone.py"), "");
        assert_eq!(
            granted(&home, Path::new("/usr/bin/python3"), &["alone.py"]),
            ["alone.py"]
        );
        // Data is not part of a program.
        write(&home.join("notes/a.txt"), "");
        assert!(granted(&home, Path::new("/usr/bin/some-server"), &["notes/a.txt"]).is_empty());
    }

    #[test]
    fn only_scripts_and_installations_bring_their_folder() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        write(&home.join("private/test.db"), "");
        write(&home.join("private/run.py"), "");
        let of = |program: &str, args: &[&str]| granted(&home, Path::new(program), args);
        let database = "private/test.db";
        for (program, args) in [
            ("/usr/bin/uvx", ["--db", database]),
            ("/usr/bin/shopify-mcp", ["serve", database]),
            ("/usr/bin/python3", ["-m", database]),
            ("/usr/bin/python3", ["srv", database]),
        ] {
            assert!(of(program, &args).is_empty(), "{program} {args:?}");
        }
        for (program, args) in [
            ("/usr/bin/python3.12", ["-u", "private/run.py"]),
            ("/usr/bin/uv", ["run", "private/run.py"]),
        ] {
            assert_eq!(of(program, &args), ["private"], "{program} {args:?}");
        }
        // A `bin` alone does not make a folder an installation.
        write(&home.join("code/bin/server"), "");
        assert_eq!(
            granted(&home, &home.join("code/bin/server"), &[]),
            ["code/bin/server"]
        );
        write(&home.join("node-v22/bin/node"), "");
        fs::create_dir_all(home.join("node-v22/lib/node_modules")).unwrap();
        assert_eq!(
            granted(&home, &home.join("node-v22/bin/node"), &[]),
            ["node-v22"]
        );
    }

    #[test]
    fn home_behind_a_link_is_no_part_of_a_program() {
        let dir = tempfile::tempdir().unwrap();
        let real_home = dir.path().canonicalize().unwrap().join("data/me");
        write(&real_home.join("bin/server"), "");
        write(&real_home.join("pyvenv.cfg"), "");
        let home = dir.path().canonicalize().unwrap().join("me");
        symlink(&real_home, &home).unwrap();
        let files = files_of(&home, &home.join("bin/server"), &[], &[], &[]);
        assert!(
            files.read.iter().all(|path| path.ends_with("bin/server")),
            "{files:?}"
        );
    }

    #[test]
    fn what_a_server_may_write_does_not_lead_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        write(&home.join(".ssh/id"), "");
        let project = [home.join("code")];
        let escape = |program: &str, granted: &[PathBuf]| {
            let files = files_of(&home, &home.join(program), &[], granted, &project);
            let reaches = files
                .read
                .iter()
                .any(|path| path.starts_with(home.join(".ssh")));
            assert_eq!(reaches, granted.len() == 1 && files.escape.is_none());
            files.escape.map(|escape| escape.to)
        };
        // The base of a virtual environment, an interpreter, and a link.
        let secret = home.join(".ssh");
        write(&home.join("code/env/bin/server"), "");
        write(
            &home.join("code/env/pyvenv.cfg"),
            &format!("home = {}/bin\n", secret.display()),
        );
        assert_eq!(escape("code/env/bin/server", &[]), Some(secret.clone()));
        write(
            &home.join("code/run"),
            &format!("#!{}/id\n", secret.display()),
        );
        assert_eq!(escape("code/run", &[]), Some(secret.join("id")));
        symlink(secret.join("id"), home.join("code/link")).unwrap();
        assert_eq!(escape("code/link", &[]), Some(secret.join("id")));
        // Unless the entry grants it.
        assert_eq!(escape("code/link", std::slice::from_ref(&secret)), None);
        // A name is searched for in PATH, which the server does not choose.
        write(&home.join("code/named"), "#!/usr/bin/env ../.ssh/id\n");
        assert_eq!(escape("code/named", &[]), None);
    }

    #[test]
    fn package_managers_bring_no_cache_of_the_user() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        for folder in [".npm/_npx", ".cache/uv", ".local/share/uv"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        assert!(granted(&home, Path::new("/usr/none/npx"), &["-y", "x"]).is_empty());
        assert_eq!(
            granted(&home, Path::new("/usr/none/uvx"), &["x"]),
            [".local/share/uv"]
        );
        assert_eq!(
            kind_of(Path::new("/usr/bin/docker")),
            ProgramKind::Containers
        );
    }
}
