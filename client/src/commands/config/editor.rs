//! `mux config edit`: config.toml in the user's editor.
//!
//! Invariant: the editor opens a copy. The file gets its content only if the copy has no new errors and no other
//! program changed the file meanwhile. Otherwise the copy stays, and its path is shown.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::{
    fs,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    process::ExitStatus,
};

use mux_proto::{Error, Kind};
use tokio::{process::Command, task::spawn_blocking};

use super::{change::ConfigSource, read_config_text};
use crate::{
    agents::{MAX_KEPT_FILES, list_files, remove_older_files},
    commands::{
        CommandFailure, CommandResult,
        confirm::{DefaultAnswer, confirm},
        env_path,
        import::prepare_dirs,
        wait_for_ctrl_c,
    },
    exit, render,
};

const COPY_PREFIX: &str = "config-edit-";
const COPY_SUFFIX: &str = ".toml";
const EDITOR_VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];

pub(super) async fn edit_config(json: bool) -> CommandResult {
    check_editor_can_be_used()?;
    let source = ConfigSource::read()?;
    let old = source.text()?.to_owned();
    prepare_dirs(source.dirs())?;
    let path = source.dirs().config_file();
    let copy = create_copy(&path, &old)?;
    let edited = edit_copy(&source, &copy, &path).await;
    let edited = match edited {
        Ok(Some(text)) => source.write(&text, "the change is".into(), false).await,
        Ok(None) => source.write(&old, String::new(), false).await,
        Err(failure) => Err(failure),
    };
    let is_edited = read_config_text(&copy).is_ok_and(|text| text != old);
    match edited {
        Ok(edit) => {
            drop(fs::remove_file(&copy));
            Ok(render::show(&edit, json, render::config_edit))
        }
        Err(mut failure) if is_edited => {
            let copy = copy.display();
            failure.error.hint = Some(format!(
                "your edit is saved in {copy}; `mux config check {copy}` lists its errors"
            ));
            Err(failure)
        }
        Err(failure) => {
            drop(fs::remove_file(&copy));
            Err(failure)
        }
    }
}

/// Lets the user edit until the copy has no new errors. `None` if it is unchanged.
async fn edit_copy(
    source: &ConfigSource,
    copy: &Path,
    path: &Path,
) -> Result<Option<String>, CommandFailure> {
    loop {
        let status = run_editor(copy)
            .await
            .map_err(|error| editor_failure(&error))?;
        if !status.success() {
            return Err(editor_failure(&io::Error::other(format!(
                "it ended with {status}"
            ))));
        }
        let text = read_config_text(copy)?;
        if text == source.text()? {
            return Ok(None);
        }
        let problems = tokio::select! {
            problems = source.added_problems(&text) => problems?,
            () = wait_for_ctrl_c() => {
                return Err(Error::new(Kind::Cancelled, "interrupted; config.toml is unchanged").into());
            }
        };
        if !problems.is_empty() {
            render::config_mistakes(&problems, path);
        }
        if problems.iter().all(|problem| problem.advisory) {
            return Ok(Some(text));
        }
        if !edits_again().await {
            let message = "config.toml is unchanged, because your edit contains errors";
            return Err(Error::new(Kind::Validation, message).into());
        }
    }
}

/// An editor that the user has not chosen waits for a terminal for ever.
fn check_editor_can_be_used() -> Result<(), CommandFailure> {
    let is_chosen = EDITOR_VARIABLES.iter().any(|name| env_path(name).is_some());
    if is_chosen || (io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Ok(());
    }
    Err(
        Error::new(Kind::Validation, "an editor needs a terminal")
            .hint(
                "`mux config set KEY VALUE` changes one setting, `mux config path` prints the path of the file; \
                 $VISUAL or $EDITOR can name an editor that needs no terminal",
            )
            .into(),
    )
}

/// A private file beside config.toml, with the same text. Of the copies that earlier commands left, the latest stay.
fn create_copy(path: &Path, text: &str) -> Result<PathBuf, CommandFailure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    remove_older_files(
        list_files(folder, COPY_PREFIX, COPY_SUFFIX),
        MAX_KEPT_FILES - 1,
    );
    let create = || {
        let mut file = tempfile::Builder::new()
            .prefix(COPY_PREFIX)
            .suffix(COPY_SUFFIX)
            .tempfile_in(folder)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        Ok::<_, io::Error>(file.into_temp_path().keep()?)
    };
    create().map_err(|error| {
        exit::unavailable_error(format!(
            "cannot create a copy of {}: {error}",
            path.display()
        ))
        .into()
    })
}

/// Runs the editor as git does: `VISUAL` or `EDITOR` is a command of the shell, which gets the path as an argument.
async fn run_editor(file: &Path) -> io::Result<ExitStatus> {
    // Ctrl-C is for the editor.
    let _interrupts = system::catch_interrupts()?;
    if let Some(editor) = EDITOR_VARIABLES.into_iter().find_map(env_path) {
        return system::editor_command(&editor, file).status().await;
    }
    for editor in system::FALLBACK_EDITORS {
        match Command::new(editor).arg(file).status().await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            status => return status,
        }
    }
    let tried = system::FALLBACK_EDITORS.join(" nor ");
    Err(io::Error::other(format!("neither {tried} is installed")))
}

fn editor_failure(error: &io::Error) -> CommandFailure {
    Error::new(Kind::Runtime, format!("the editor failed: {error}"))
        .hint("set $VISUAL or $EDITOR to an editor that waits, such as `code --wait`")
        .into()
}

/// Asks whether to open the editor again.
async fn edits_again() -> bool {
    let answer = spawn_blocking(|| confirm("edit again?", DefaultAnswer::Yes));
    tokio::select! {
        again = answer => again.unwrap_or(false),
        () = wait_for_ctrl_c() => false,
    }
}
