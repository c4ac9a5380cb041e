//! The command line. Only `--version` is meant for users; `muxd` passes the rest.
//!
//! Invariant: an unknown argument is an error. Arguments are never guessed or ignored.

use std::{ffi::OsString, ops::RangeInclusive, path::PathBuf};

use crate::memory::IsolateMemory;

/// The task of the process.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum WorkerCommand {
    Serve {
        memory: IsolateMemory,
        /// The snapshot from which isolates are built, if it is usable.
        snapshot: Option<PathBuf>,
    },
    /// Writes a snapshot of the guest's realm to standard output.
    MakeSnapshot,
    /// Prints the build and the engine.
    Version { is_json: bool },
}

pub(crate) fn parse_arguments(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<WorkerCommand, String> {
    let mut memory = IsolateMemory::default();
    let mut snapshot = None;
    let mut make = false;
    let mut arguments = arguments.into_iter().peekable();
    if arguments.next_if(|first| first == "--version").is_some() {
        return match arguments.next() {
            None => Ok(WorkerCommand::Version { is_json: false }),
            Some(form) if form == "--json" => Ok(WorkerCommand::Version { is_json: true }),
            Some(_) => Err("--version takes no other argument than --json".into()),
        };
    }
    while let Some(argument) = arguments.next() {
        let mut value = |name: &str| {
            arguments
                .next()
                .ok_or_else(|| format!("{name} needs a value"))
        };
        match argument.to_str() {
            Some(name @ "--heap") => {
                memory.heap = parse_mebibytes(name, &value(name)?, IsolateMemory::HEAP_MIB_RANGE)?;
            }
            Some(name @ "--buffers") => {
                memory.buffers =
                    parse_mebibytes(name, &value(name)?, IsolateMemory::BUFFERS_MIB_RANGE)?;
            }
            Some("--snapshot") => snapshot = Some(PathBuf::from(value("--snapshot")?)),
            Some("--make-snapshot") => make = true,
            _ => return Err(format!("unknown argument {}", argument.display())),
        }
    }
    if !make {
        return Ok(WorkerCommand::Serve { memory, snapshot });
    }
    if snapshot.is_some() || memory != IsolateMemory::default() {
        return Err("--make-snapshot takes no other arguments".into());
    }
    Ok(WorkerCommand::MakeSnapshot)
}

fn parse_mebibytes(
    name: &str,
    value: &OsString,
    range: RangeInclusive<u32>,
) -> Result<u32, String> {
    let number = value.to_str().and_then(|text| text.parse().ok());
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let least = range.start();
            let most = range.end();
            format!(
                "{name} needs a number of MiB from {least} to {most}, not {}",
                value.display()
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<WorkerCommand, String> {
        parse_arguments(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn arguments_from_muxd_are_parsed() {
        let memory = IsolateMemory {
            heap: 128,
            buffers: 32,
        };
        let snapshot = Some(PathBuf::from("/cache/a.snapshot"));
        assert_eq!(
            parsed("--heap 128 --buffers 32 --snapshot /cache/a.snapshot"),
            Ok(WorkerCommand::Serve { memory, snapshot })
        );
        assert_eq!(parsed("--make-snapshot"), Ok(WorkerCommand::MakeSnapshot));
        assert_eq!(
            parsed("--version"),
            Ok(WorkerCommand::Version { is_json: false })
        );
        let json = WorkerCommand::Version { is_json: true };
        assert_eq!(parsed("--version --json"), Ok(json));
        let nothing = WorkerCommand::Serve {
            memory: IsolateMemory::default(),
            snapshot: None,
        };
        assert_eq!(parsed(""), Ok(nothing));
    }

    #[test]
    fn invalid_arguments_are_refused() {
        for line in [
            "--heap",
            "--heap 7",
            "--heap 64MiB",
            "--heap -1",
            "--buffers 0",
            "--buffers 65537",
            "--snapshot",
            "--heaps 64",
            "run.ts",
            "--make-snapshot --heap 128",
            "--make-snapshot --snapshot a",
            "--version --heap 64",
            "--heap 64 --version",
        ] {
            let refused = parsed(line);
            assert!(refused.is_err(), "{line}: {refused:?}");
        }
    }
}
