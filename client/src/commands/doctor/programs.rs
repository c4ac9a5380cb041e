//! Checks the programs that `mux` starts: `muxd`, and `mux-worker` through it, and says how they were installed.

use std::path::{Path, PathBuf};

use mux_proto::variables;

use super::CheckGroup;
use crate::found_program::is_executable;

/// The file in which a package says how muxd was installed, from the parent of the directory of the programs.
const INSTALLED_BY_FILE: &str = "share/mux/installed-by";
/// The file in which `cargo install` and `cargo binstall` list the programs that they have installed, beside the same
/// directory.
const CARGO_INSTALLS_FILE: &str = ".crates.toml";

/// `muxd` and `worker` are the paths that the environment names, if any. Returns the path of a `muxd` that can be run.
pub(super) fn check_programs(
    group: &mut CheckGroup,
    muxd: Option<PathBuf>,
    worker: Option<PathBuf>,
) -> Option<PathBuf> {
    let muxd = check_program(group, "muxd", variables::DAEMON, muxd, None);
    check_program(
        group,
        "mux-worker",
        variables::WORKER,
        worker,
        muxd.as_deref(),
    );
    if let Some(how) = own_installation() {
        group.ok(how);
    }
    muxd
}

/// How this program can be updated.
pub(crate) fn update_advice() -> String {
    own_installation().unwrap_or_else(|| {
        "update mux the way it was installed, then run `mux restart --upgrade`".into()
    })
}

fn own_installation() -> Option<String> {
    let own = std::env::current_exe().and_then(|path| path.canonicalize());
    own.ok().and_then(|path| installation(&path))
}

/// How the program was installed, and how to update it. `None` for an unpacked archive and a local build.
fn installation(program: &Path) -> Option<String> {
    let prefix = program.parent()?.parent()?;
    let read = |file| std::fs::read_to_string(prefix.join(file)).unwrap_or_default();
    let marker = read(INSTALLED_BY_FILE);
    let by = match marker.trim() {
        "" if read(CARGO_INSTALLS_FILE).contains("\"mux-client ") => "cargo",
        by => by,
    };
    let update = match by {
        "npm" => "`npm install --global` with the newer packages",
        "pip" => {
            "`pip install --upgrade` with the newer wheel, or `uv tool` and `pipx` if they installed it"
        }
        "deb" => "`apt install` with the newer package",
        "brew" => "`brew upgrade muxd`",
        "install.sh" => "the newer install.sh",
        "cargo" => "`cargo install` in the newer checkout",
        _ => return None,
    };
    Some(format!(
        "mux was installed by {by}; to update it, use {update}, then run `mux restart --upgrade`"
    ))
}

/// Checks the program that the environment names, or the one beside `neighbour`, by default `mux` itself.
fn check_program(
    group: &mut CheckGroup,
    name: &str,
    variable: &str,
    named: Option<PathBuf>,
    neighbour: Option<&Path>,
) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = match (named, neighbour) {
        (Some(named), _) => named,
        (None, Some(neighbour)) => neighbour.with_file_name(file),
        (None, None) => std::env::current_exe().ok()?.with_file_name(file),
    };
    let shown = path.display();
    if is_executable(&path) {
        group.ok(format!("{name} is {shown}"));
        return Some(path);
    }
    let message = if path.exists() {
        format!("{shown} is not a program that you can run")
    } else {
        format!("there is no {shown}")
    };
    let fix = format!("install {name} next to mux, or set {variable} to its path");
    group.fail(message, fix);
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::{super::CheckVerdict, *};

    #[test]
    fn the_marker_of_a_package_says_how_to_update() {
        let prefix = tempfile::tempdir().unwrap();
        let program = prefix.path().join("bin/mux");
        assert_eq!(installation(&program), None);
        let marker = prefix.path().join(INSTALLED_BY_FILE);
        std::fs::create_dir_all(marker.parent().unwrap()).unwrap();
        for by in ["npm", "pip", "deb", "brew", "install.sh"] {
            std::fs::write(&marker, format!("{by}\n")).unwrap();
            let how = installation(&program).unwrap();
            assert!(how.contains(&format!("installed by {by};")), "{how}");
        }
        std::fs::write(&marker, "something else").unwrap();
        assert_eq!(installation(&program), None);
    }

    #[test]
    fn programs_that_cargo_lists_are_updated_by_cargo() {
        let prefix = tempfile::tempdir().unwrap();
        let program = prefix.path().join("bin/mux");
        let list = |crates: &str| {
            std::fs::write(prefix.path().join(CARGO_INSTALLS_FILE), crates).unwrap();
            installation(&program)
        };
        assert_eq!(
            list("[v1]\n\"other 1.0.0 (path+file:///src)\" = [\"mux\"]\n"),
            None
        );
        let listed = list("[v1]\n\"mux-client 0.1.0 (path+file:///src)\" = [\"mux\"]\n").unwrap();
        assert!(
            listed.contains("by cargo; to update it, use `cargo install`"),
            "{listed}"
        );
    }

    #[test]
    fn missing_program_is_a_failure_that_names_its_variable() {
        let checked = |muxd: &str, worker: Option<&str>| {
            CheckGroup::filled(|group| {
                check_programs(group, Some(muxd.into()), worker.map(PathBuf::from));
            })
        };
        let group = checked("/bin/sh", Some("/nowhere/mux-worker"));
        assert_eq!(group.checks[0].verdict, CheckVerdict::Ok);
        let worker = &group.checks[1];
        assert_eq!(worker.verdict, CheckVerdict::Failure);
        assert_eq!(worker.message, "there is no /nowhere/mux-worker");
        assert!(worker.fix.as_ref().unwrap().contains("MUX_WORKER"));
        // The worker is searched beside the daemon.
        let group = checked("/bin/sh", None);
        assert_eq!(group.checks[1].message, "there is no /bin/mux-worker");
        let group = checked("/etc/passwd", None);
        assert!(group.checks[0].message.contains("not a program"));
    }
}
