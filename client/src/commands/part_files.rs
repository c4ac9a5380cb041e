//! Saves the parts of a run or a result as files.
//!
//! Invariant: no existing file is written to.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use mux_client::{Session, ValuePages};
use mux_proto::{Error, Held, Kind};
use serde_json::Value;

use super::UsageMistake;
use crate::{content_part::ContentPart, render::SavedParts};

/// Creates the directory before the program runs, because a wrong name should fail early.
pub(super) fn prepare_parts_dir(folder: &Path) -> Result<(), UsageMistake> {
    fs::create_dir_all(folder).map_err(|error| {
        let message = format!("cannot create the directory {}: {error}", folder.display());
        UsageMistake::new(message, "name a directory that you can write to")
    })
}

/// Writes each part to its own file, until the first failure.
pub(super) async fn save_parts(session: &Session, folder: &Path, parts: &[Held]) -> SavedParts {
    let mut saved = SavedParts::default();
    let mut number = 0;
    for part in parts {
        number += 1;
        match save_part(session, folder, &mut number, part).await {
            Ok(file) => saved.files.push(file),
            Err(error) => {
                saved.failure = Some(error);
                break;
            }
        }
    }
    saved
}

async fn save_part(
    session: &Session,
    folder: &Path,
    number: &mut usize,
    part: &Held,
) -> Result<PathBuf, Error> {
    let block = load_held_value(session, part).await?;
    let part = ContentPart::parse_block(&block);
    let extension = part.extension();
    write_part(folder, number, &extension, &part.into_bytes()).map_err(|error| {
        let message = format!("cannot write a part to {}: {error}", folder.display());
        Error::new(Kind::Internal, message)
    })
}

/// The value, which is read from the daemon if it is stored.
pub(super) async fn load_held_value(session: &Session, part: &Held) -> Result<Value, Error> {
    match part {
        Held::Value(block) => Ok(block.to_value()),
        Held::Stored(handle) => {
            let text = ValuePages::new(session, &handle.handle, 0, None)
                .read_to_end_of_value()
                .await?;
            serde_json::from_str(&text).map_err(|error| {
                let message = format!("`{}` is not JSON: {error}", handle.handle);
                Error::new(Kind::Internal, message)
            })
        }
    }
}

/// Writes to the first file `part-N.EXTENSION` that does not exist, from `number` on.
fn write_part(
    folder: &Path,
    number: &mut usize,
    extension: &str,
    bytes: &[u8],
) -> io::Result<PathBuf> {
    loop {
        let file = folder.join(format!("part-{number}.{extension}"));
        match OpenOptions::new().write(true).create_new(true).open(&file) {
            Ok(mut open) => {
                open.write_all(bytes)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => *number += 1,
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_files_are_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("part-1.png"), "mine").unwrap();
        fs::write(folder.path().join("part-2.png"), "mine").unwrap();
        let mut number = 1;
        let file = write_part(folder.path(), &mut number, "png", b"new").unwrap();
        assert_eq!((file, number), (folder.path().join("part-3.png"), 3));
        let file = write_part(folder.path(), &mut 1, "txt", b"new").unwrap();
        assert_eq!(fs::read(file).unwrap(), b"new");
        let mine = fs::read(folder.path().join("part-1.png")).unwrap();
        assert_eq!(mine, b"mine");
    }
}
