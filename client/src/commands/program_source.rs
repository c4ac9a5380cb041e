//! Reads a program from a file, standard input or the command line.

use std::{io, path::Path};

use mux_proto::{Error, Kind};

use super::{CommandFailure, UsageMistake, input::read_limited};
use crate::{args, render::ProgramListing};

/// The maximum bytes read of a program. The daemon accepts 1 MiB. A much longer program would not fit into a
/// message.
const MAX_SOURCE_BYTES: u64 = 2 << 20;
const SOURCE_HINT: &str =
    "pass a TypeScript or JavaScript file, the code with -e CODE, or - for standard input";

/// The source with its name.
pub(super) fn read_source(args: &args::SourceArgs) -> Result<ProgramListing, CommandFailure> {
    let (name, read) = match (&args.eval, args.file.as_deref()) {
        (Some(code), _) => {
            return Ok(ProgramListing {
                name: "program".into(),
                text: code.clone(),
            });
        }
        (None, Some(file)) if file != Path::new("-") => (
            file.display().to_string(),
            std::fs::File::open(file).and_then(|file| read_limited(file, MAX_SOURCE_BYTES)),
        ),
        (None, Some(_)) => (
            "program".into(),
            read_limited(io::stdin(), MAX_SOURCE_BYTES),
        ),
        (None, None) => return Err(UsageMistake::new("no program was given", SOURCE_HINT).into()),
    };
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Err(source_too_large(&name).into());
        }
        Err(error) => {
            let message = format!("cannot read {name}: {error}");
            return Err(UsageMistake::new(message, SOURCE_HINT).into());
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(ProgramListing { name, text }),
        _ => {
            let message = format!("{name} is not a UTF-8 text file");
            Err(UsageMistake::new(message, "a program is TypeScript or JavaScript").into())
        }
    }
}

/// The name of the program's file, or `None` if it is not in a file.
pub(super) fn file_name(args: &args::SourceArgs) -> Option<String> {
    let file = args
        .file
        .as_deref()
        .filter(|file| *file != Path::new("-"))?;
    Some(file.file_name()?.to_string_lossy().into_owned())
}

fn source_too_large(name: &str) -> Error {
    let message = format!("{name} is over {} MiB", MAX_SOURCE_BYTES >> 20);
    Error::new(Kind::Limit, message)
        .hint("a program can be at most 1 MiB; pass data with --input or read it with a tool")
}
