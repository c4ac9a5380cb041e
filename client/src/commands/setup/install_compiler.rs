//! Unpacks a package and moves it to its final path.
//!
//! Invariant: only regular files in `package/lib` of an archive are written, into a private folder. Then one rename
//! moves the folder to its final path, where a concurrent installation finds it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Component, Path},
    process::{Command, Stdio},
    thread,
    time::{Duration, SystemTime},
};

use flate2::read::GzDecoder;
use tar::{Archive, Entry, EntryType};
use tempfile::TempDir;

use super::{error::SetupError, package::CompilerPackage};
use crate::render::CompilerInfo;

const TSC_FILE_NAME: &str = if cfg!(windows) { "tsc.exe" } else { "tsc" };
/// Maximum size of an unpacked archive: the real ones have 28 MB in 110 files.
const MAX_UNPACKED_BYTES: u64 = 256 << 20;
const MAX_UNPACKED_FILES: usize = 2000;
/// Age from which on an unfinished draft is removed.
const STALE_DRAFT_AGE: Duration = Duration::from_hours(1);
const DRAFT_PREFIX: &str = ".draft-";
/// How often a program is tried that is still open for writing.
const MAX_BUSY_RETRIES: u32 = 1000;

/// The compiler at the path of a package, without a version if it is missing or incomplete.
pub(super) fn find_installed(package: &CompilerPackage, folder: &Path) -> CompilerInfo {
    let lib = folder.join(package.version).join("lib");
    let path = lib.join(TSC_FILE_NAME);
    let is_whole = path.is_file() && lib.join("lib.d.ts").is_file();
    let version = is_whole.then(|| compiler_version(&path)).flatten();
    CompilerInfo { path, version }
}

/// Installs an archive whose checksum was verified.
pub(super) fn install_compiler(
    package: &CompilerPackage,
    archive: &[u8],
    folder: &Path,
) -> Result<CompilerInfo, SetupError> {
    let unwritable = |source| SetupError::Unwritable {
        folder: folder.to_owned(),
        source,
    };
    fs::create_dir_all(folder).map_err(unwritable)?;
    remove_stale_drafts(folder);
    let draft = create_draft(folder).map_err(unwritable)?;
    unpack_package(archive, draft.path())?;
    move_into_place(draft.path(), package, folder).map_err(unwritable)?;
    let compiler = find_installed(package, folder);
    match compiler.version.as_deref() {
        Some(version) if version == package.version => Ok(compiler),
        _ => Err(SetupError::DoesNotRun(compiler.path)),
    }
}

/// A folder that is removed unless it is moved away.
fn create_draft(folder: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix(DRAFT_PREFIX)
        .tempdir_in(folder)
}

fn unpack_package(archive: &[u8], into: &Path) -> Result<(), SetupError> {
    let broken = |error: io::Error| SetupError::Archive(error.to_string());
    let refused = |what: &str, path: &Path| {
        SetupError::Archive(format!("{what}: {:?}", path.to_string_lossy()))
    };
    let plain = GzDecoder::new(archive).take(MAX_UNPACKED_BYTES);
    let mut archive = Archive::new(plain);
    let lib = into.join("lib");
    fs::create_dir(&lib).map_err(broken)?;
    for (number, entry) in archive.entries().map_err(broken)?.enumerate() {
        let mut entry = entry.map_err(broken)?;
        let path = entry.path().map_err(broken)?.into_owned();
        if number >= MAX_UNPACKED_FILES {
            return Err(refused("it contains too many files", &path));
        }
        if !path
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            return Err(refused("it contains an unsafe path", &path));
        }
        match entry.header().entry_type() {
            EntryType::Regular => {}
            EntryType::Directory => continue,
            _ => {
                return Err(refused(
                    "it contains an entry that is neither a file nor a folder",
                    &path,
                ));
            }
        }
        if let Ok(name) = path.strip_prefix("package/lib") {
            write_archive_entry(&mut entry, &lib, name).map_err(broken)?;
        }
    }
    for needed in [TSC_FILE_NAME, "lib.d.ts"] {
        if !lib.join(needed).is_file() {
            return Err(SetupError::Archive(format!("it contains no {needed}")));
        }
    }
    Ok(())
}

fn write_archive_entry(
    entry: &mut Entry<'_, impl Read>,
    lib: &Path,
    name: &Path,
) -> io::Result<()> {
    let path = lib.join(name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(if name == Path::new(TSC_FILE_NAME) {
            0o755
        } else {
            0o644
        });
    }
    let mut file: File = options.open(path)?;
    io::copy(entry, &mut file)?;
    file.flush()?;
    // The folder must be complete even after a power failure.
    file.sync_data()
}

/// Moves a draft to its final path. A working installation is kept; a broken one is replaced.
fn move_into_place(draft: &Path, package: &CompilerPackage, folder: &Path) -> io::Result<()> {
    let target = folder.join(package.version);
    for _ in 0..2 {
        match fs::rename(draft, &target) {
            Ok(()) => return Ok(()),
            Err(error) if !target.exists() => return Err(error),
            Err(_) => {}
        }
        // Another process may have installed it first.
        if find_installed(package, folder).version.as_deref() == Some(package.version) {
            return Ok(());
        }
        let broken = create_draft(folder)?;
        fs::rename(&target, broken.path().join("old"))?;
    }
    fs::rename(draft, &target)
}

/// Removes drafts of processes that were killed.
fn remove_stale_drafts(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_draft = entry
            .file_name()
            .to_string_lossy()
            .starts_with(DRAFT_PREFIX);
        let modified = entry.metadata().and_then(|found| found.modified());
        let age = modified.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        if is_draft && age.is_ok_and(|age| age > STALE_DRAFT_AGE) {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// The version that a compiler reports.
fn compiler_version(tsc: &Path) -> Option<String> {
    let mut command = Command::new(tsc);
    command.arg("--version").env_clear().stdin(Stdio::null());
    // A process that another thread forks keeps the file that we have just written open until it calls exec.
    let output = (0..MAX_BUSY_RETRIES).find_map(|_| match command.output() {
        Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
            thread::yield_now();
            None
        }
        output => Some(output),
    })?;
    let output = String::from_utf8(output.ok()?.stdout).ok()?;
    Some(output.trim().strip_prefix("Version ")?.to_owned())
}
