//! The behavior of a worker with a program, which is the name of a trick and its arguments.
//!
//! Invariant: an unknown trick is not a program either, and is reported as such.

use std::{
    io::{self, Write as _},
    process::ExitCode,
    thread,
    time::Duration,
};

use mux_wire::{
    CallTarget, EngineInfo, Fault, FaultKind, FromWorker, MAX_FRAME_BYTES, ProgramFindings,
};
use nix::sys::signal::{Signal, raise};

use super::{
    floods,
    link::{DaemonLink, stay},
};

/// The answer about a program to check.
pub(super) fn checked(program: &str) -> FromWorker {
    let (many, length) = match program {
        "blames" => (100, 20 << 10),
        // Eight bytes each, in a frame of almost 16 MiB.
        "blames-without-end" => (900_000, 0),
        _ => (0, 0),
    };
    let mut fault = Fault::new(FaultKind::Runtime, "x".repeat(length));
    if program == "names-itself" {
        fault.message = std::process::id().to_string();
        return FromWorker::Checked(ProgramFindings {
            errors: vec![fault],
            ..ProgramFindings::default()
        });
    }
    FromWorker::Checked(ProgramFindings {
        errors: vec![fault.clone(); many],
        warnings: vec![fault; many],
        tree: Vec::new(),
    })
}

/// The process's exit code if it ends now.
pub(super) fn play(program: &str, link: &mut DaemonLink) -> io::Result<Option<ExitCode>> {
    let program = program.trim();
    let (name, rest) = program.split_once(' ').unwrap_or((program, ""));
    link.say(&FromWorker::Accepted)?;
    match name {
        "honest" => {
            link.done("\"honest\"")?;
            link.say(&FromWorker::Ready)?;
        }
        "exits" => return Ok(Some(ExitCode::from(rest.parse::<u8>().unwrap_or_default()))),
        "raises" => {
            let signal = rest.parse::<Signal>()?;
            // Rust's own handler takes the first signal of some kinds for an accident.
            raise(signal)?;
            raise(signal)?;
        }
        "says-and-exits" => {
            writeln!(io::stderr(), "{rest}")?;
            return Ok(Some(ExitCode::FAILURE));
        }
        "bequeaths" => {
            link.bequeath()?;
            return Ok(Some(ExitCode::SUCCESS));
        }
        "bequeaths-and-goes-on" => {
            link.bequeath()?;
            link.done("1")?;
            link.say(&FromWorker::Ready)?;
        }
        "hangs-up" => {
            link.hang_up()?;
            stay();
        }
        "stays" => stay(),
        _ => {
            frames(name, rest, link)?;
            floods::pour(name, link)?;
        }
    }
    Ok(None)
}

/// Frames that are none, or come at the wrong moment.
fn frames(name: &str, rest: &str, link: &mut DaemonLink) -> io::Result<()> {
    match name {
        "garbage" => link.write(&vec![0xa5; 1 << 16])?,
        "noise" => link.write_frame(&noise(rest.parse().unwrap_or(1)))?,
        "truncated" => {
            link.promise(100)?;
            link.write(&[1; 10])?;
            link.hang_up()?;
        }
        "too-long" => link.promise(u32::try_from(MAX_FRAME_BYTES).unwrap_or(u32::MAX) + 1)?,
        "longest" => link.promise(u32::MAX)?,
        "empty" => link.write_frame(&[])?,
        "unknown" => link.write_frame(&[99, 1, 2, 3])?,
        "left-over" => {
            let done = FromWorker::Done {
                outcome: Ok("1".into()),
            };
            let mut bytes = mux_wire::encode_frame(&done)
                .map_err(io::Error::other)?
                .split_off(4);
            bytes.push(0);
            link.write_frame(&bytes)?;
        }
        "promises-a-string" => {
            // A result of 2^60 bytes, in a frame of twelve.
            link.write_frame(&[
                6, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, b'1',
            ])?;
        }
        "slowly" => {
            for byte in 100_u32.to_be_bytes().into_iter().chain([1; 99]) {
                link.write(&[byte])?;
                thread::sleep(Duration::from_millis(50));
            }
        }
        "says-hello" => link.say(&FromWorker::Hello {
            version: mux_wire::FRAME_VERSION,
            engine: EngineInfo {
                name: "better".into(),
                snapshot: true,
                ..EngineInfo::default()
            },
        })?,
        "says-ready" => link.say(&FromWorker::Ready)?,
        "accepts-twice" => link.say(&FromWorker::Accepted)?,
        "says-checked" => link.say(&FromWorker::Checked(ProgramFindings::default()))?,
        "skips-a-call" => link.call(5, named("late"), "{}".into())?,
        "calls-twice" => {
            link.call(0, named("hang"), "{}".into())?;
            link.call(0, named("hang"), "{}".into())?;
        }
        "calls-the-last" => link.call(u32::MAX, named("late"), "{}".into())?,
        "ends-twice" => {
            link.done("1")?;
            link.done("2")?;
        }
        "ends-and-calls" => {
            link.done("1")?;
            link.call(0, named("late"), "{}".into())?;
        }
        "ends-and-raves" => {
            link.done("1")?;
            link.write(&vec![0xa5; 1 << 16])?;
        }
        "ends-in-a-call" => {
            for call in 0..3 {
                link.call(call, named("hang"), "{}".into())?;
            }
            link.done("1")?;
            link.say(&FromWorker::Ready)?;
        }
        "gives" => {
            link.done(rest)?;
            link.say(&FromWorker::Ready)?;
        }
        "emits" => {
            link.say(&FromWorker::Emit { part: rest.into() })?;
            link.done("1")?;
            link.say(&FromWorker::Ready)?;
        }
        "asks" => asks(rest, link)?,
        "blames" => blames(link)?,
        _ => {}
    }
    Ok(())
}

pub(super) fn named(tool: &str) -> CallTarget {
    CallTarget::Named {
        server: "fix".into(),
        tool: tool.into(),
    }
}

/// Calls a function of the daemon itself, and returns its answer.
fn asks(rest: &str, link: &mut DaemonLink) -> io::Result<()> {
    let (name, arguments) = rest.split_once(' ').unwrap_or((rest, "{}"));
    let own = CallTarget::Own { name: name.into() };
    link.call(0, own, arguments.into())?;
    if let Some(mux_wire::ToWorker::CallDone { outcome, .. }) = link.next()? {
        link.say(&FromWorker::Done { outcome })?;
        link.say(&FromWorker::Ready)?;
    }
    Ok(())
}

/// Fails with all parts of a fault, each of them large.
fn blames(link: &mut DaemonLink) -> io::Result<()> {
    let long = "x".repeat(3 << 20);
    let mut fault = Fault::new(FaultKind::Runtime, long.clone())
        .hint(long.clone())
        .path(long.clone());
    fault.details = Some(format!("{long:?}"));
    (fault.line, fault.column) = (Some(u32::MAX), Some(0));
    link.say(&FromWorker::Done {
        outcome: Err(fault),
    })?;
    link.say(&FromWorker::Ready)
}

/// Bytes by chance, the same for one seed.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let length = 1 + next() % 64;
    // Most begin like a frame. Otherwise all would be refused at their first byte.
    let first = (next() % 9) as u8;
    std::iter::once(first)
        .chain((0..length).map(|_| next().to_le_bytes()[0]))
        .collect()
}
