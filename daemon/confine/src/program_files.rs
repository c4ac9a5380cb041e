//! Which files a server's program consists of: its own, those of the interpreter that runs it, and of the package
//! manager that starts it.
//!
//! Invariant: the home directory itself, and what lies above it, is never part of a program.

use std::{
    ffi::OsString,
    fs,
    io::Read as _,
    path::{Component, Path, PathBuf},
};

use mux_settings::projects::lexical_path;

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
    ".rbenv",
    ".volta",
    "miniconda3",
    "anaconda3",
];

/// Folders whose programs belong to many packages: a program in them stands for itself.
const SHARED_BIN_PARENTS: &[&str] = &[".local", ".cargo", "go"];

/// What starts the server, as far as that decides about its sandbox.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ProgramKind {
    /// npx, npm, pnpm, bunx: they fetch packages of npm.
    Npm,
    /// uvx, uv: they fetch packages of PyPI.
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
        (home, cwd): (&Path, &Path),
        find: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Self {
        let mut files = Self {
            read: Vec::new(),
            kind: Some(kind_of(program)),
        };
        let mut next = Some(program.to_owned());
        for _ in 0..MAX_INTERPRETERS {
            let Some(program) = next.take() else { break };
            files.add_program(&program, home);
            next = interpreter(&program).and_then(|name| find(&name));
        }
        // `node server.js`, `python server.py`: the script is the program.
        let script = args.iter().map(Path::new).find(|arg| {
            let is_option = arg.as_os_str().as_encoded_bytes().starts_with(b"-");
            !is_option && arg.extension().is_some() && cwd.join(arg).is_file()
        });
        let runs_scripts = program.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            [
                "node", "python", "bun", "deno", "ruby", "sh", "bash", "tsx", "uv",
            ]
            .iter()
            .any(|known| name.starts_with(known))
        });
        if let Some(script) = script.filter(|_| runs_scripts) {
            files.add_project(&cwd.join(script), home);
        }
        if files.kind == Some(ProgramKind::Uv) {
            // The Pythons that it has installed.
            files.add_if_below(home, ".local/share/uv");
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

    fn add_program(&mut self, program: &Path, home: &Path) {
        self.add_one_program(program, home);
        // Each link on the way has files of its own beside it, such as a virtual environment.
        let mut link = program.to_owned();
        for _ in 0..MAX_INTERPRETERS {
            let Ok(target) = fs::read_link(&link) else {
                break;
            };
            link = link.parent().unwrap_or(Path::new("/")).join(target);
            self.add_one_program(&link, home);
        }
        if let Ok(real) = program.canonicalize() {
            self.add_one_program(&real, home);
        }
    }

    fn add_one_program(&mut self, program: &Path, home: &Path) {
        let program = lexical_path(program);
        if is_system(&program) {
            return;
        }
        for manager in VERSION_MANAGERS {
            let folder = home.join(manager);
            if program.starts_with(&folder) {
                self.read.push(folder);
                return;
            }
        }
        if let Some(modules) = above_and_including(&program, "node_modules") {
            self.read.push(modules);
            return;
        }
        let bin = program.parent();
        let prefix = bin.and_then(Path::parent);
        if let (Some(bin), Some(prefix)) = (bin, prefix)
            && bin.file_name().is_some_and(|name| name == "bin")
            && may_be_granted(prefix, home)
            && !SHARED_BIN_PARENTS
                .iter()
                .any(|shared| prefix == home.join(shared))
        {
            self.read.push(prefix.to_owned());
            if let Some(base) = base_of_venv(prefix)
                && !is_system(&base)
                && may_be_granted(&base, home)
            {
                self.read.push(base);
            }
            return;
        }
        self.read.push(program);
    }

    /// The package that a script belongs to, or the folder that it is in.
    fn add_project(&mut self, script: &Path, home: &Path) {
        let script = lexical_path(script);
        if is_system(&script) {
            return;
        }
        let marked = script.ancestors().skip(1).find(|folder| {
            may_be_granted(folder, home)
                && ["package.json", "pyproject.toml", "node_modules", ".venv"]
                    .iter()
                    .any(|name| folder.join(name).exists())
        });
        let folder = marked.or(script.parent());
        match folder.filter(|folder| may_be_granted(folder, home)) {
            Some(folder) => self.read.push(folder.to_owned()),
            None => self.read.push(script),
        }
    }
}

/// What every sandbox has: folders that no user's data is in.
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

/// Whether `folder` may be granted as a part of a program: it is neither the home nor above it, nor a top-level folder.
pub(super) fn may_be_granted(folder: &Path, home: &Path) -> bool {
    folder.components().count() > 2 && !home.starts_with(folder)
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
    let config = fs::read_to_string(prefix.join("pyvenv.cfg")).ok()?;
    let home = config
        .lines()
        .find_map(|line| line.strip_prefix("home")?.trim().strip_prefix('='))?;
    // `home` is the folder of the interpreter.
    Path::new(home.trim()).parent().map(Path::to_owned)
}

/// The interpreter in the first line of a script; for `env`, the program that it looks for.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let mut start = [0; 256];
    let count = fs::File::open(program).ok()?.read(&mut start).ok()?;
    let line = start[..count].strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let line = str::from_utf8(line).ok()?;
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let named = match Path::new(first).file_name() {
        Some(name) if name == "env" => {
            words.find(|word| !word.starts_with('-') && !word.contains('='))?
        }
        _ => first,
    };
    Some(named.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn granted(home: &Path, program: &Path, args: &[&str]) -> Vec<String> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let find = |name: &Path| Some(home.join(".nvm/v20/bin").join(name));
        let files = ProgramFiles::of(program, &args, (home, home), find);
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

        // A program in a folder of many stands for itself.
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
        // A script in the home itself brings nothing else of the home.
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
