//! The messages of a worker before it has a program, selected by the name of its program file.

use std::{io, process::ExitCode};

use mux_wire::{EngineInfo, FRAME_VERSION, FromWorker};

use super::link::{DaemonLink, stay};

fn hello(version: u32, engine: &str) -> FromWorker {
    FromWorker::Hello {
        version,
        engine: EngineInfo {
            name: engine.into(),
            layers: vec!["none".into()],
            ..EngineInfo::default()
        },
    }
}

/// The process's exit code if it ends now.
pub(super) fn greet(name: &str, link: &mut DaemonLink) -> io::Result<Option<ExitCode>> {
    let name = name.rsplit('/').next().unwrap_or_default();
    match name {
        "silent" => stay(),
        "gone" => return Ok(Some(ExitCode::from(3))),
        "garbage" => link.write(&[0x5a; 4096])?,
        "too-long" => link.promise(u32::MAX)?,
        "other-build" => link.say(&hello(FRAME_VERSION + 1, "rogue"))?,
        "ready-first" => link.say(&FromWorker::Ready)?,
        "done-first" => link.done("1")?,
        "hello-twice" => link.say(&hello(FRAME_VERSION, "rogue"))?,
        _ => {}
    }
    link.say(&hello(FRAME_VERSION, "rogue"))?;
    link.say(&FromWorker::Ready)?;
    match name {
        "ready-twice" => link.say(&FromWorker::Ready)?,
        "accepts-unasked" => link.say(&FromWorker::Accepted)?,
        "leaves-at-a-program" => {
            link.next()?;
            return Ok(Some(ExitCode::from(4)));
        }
        _ => {}
    }
    Ok(None)
}
