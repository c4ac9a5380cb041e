//! Snapshots: the guest's realm as a blob from which the engine builds isolates several times faster than from our
//! scripts. A separate process makes it, and workers read it once, when they start.
//!
//! Invariant: a blob is used only by the program file that made it, and only undamaged. Otherwise isolates are built
//! from the scripts, which takes longer and gives the same realm.

mod hot_scripts;

use std::{
    env, fmt,
    fs::File,
    hash::{DefaultHasher, Hasher as _},
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
    time::UNIX_EPOCH,
};

use self::hot_scripts::HotScripts;
use crate::{
    lockdown::{self, Lockdown, LockdownSteps as _},
    memory::IsolateMemory,
    runtime,
};

/// The first bytes of a snapshot. Changes with the header below.
const SNAPSHOT_MAGIC: [u8; 8] = *b"muxsnap1";
/// The header length in bytes: magic, length and time of the program file, length and checksum of the blob;
/// little-endian.
const HEADER_BYTES: usize = 40;

/// Why a snapshot is not used.
#[derive(Debug)]
pub(crate) enum SnapshotLoadError {
    Io(io::Error),
    NotOne,
    OtherProgram,
    TooLong(u64),
    Damaged,
}

impl From<io::Error> for SnapshotLoadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for SnapshotLoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotOne => f.write_str("it is not a snapshot"),
            Self::OtherProgram => f.write_str("another mux-worker made it"),
            Self::TooLong(length) => {
                let most = mux_wire::MAX_SNAPSHOT_BYTES;
                write!(f, "its {length} bytes are over the limit of {most}")
            }
            Self::Damaged => f.write_str("its checksum differs"),
        }
    }
}

/// Identifies the program file of this process: two builds differ in length or time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ProgramFileId {
    length: u64,
    modified: u64,
}

impl ProgramFileId {
    /// Must be called while files can be opened.
    pub(crate) fn own() -> io::Result<Self> {
        let found = env::current_exe()?.metadata()?;
        let age = found.modified()?.duration_since(UNIX_EPOCH);
        let nanoseconds = age.map_err(io::Error::other)?.as_nanos();
        Ok(Self {
            length: found.len(),
            modified: u64::try_from(nanoseconds).map_err(io::Error::other)?,
        })
    }
}

/// Loads the blob from this file, for the rest of the process's life. Must be called while files can be opened.
pub(crate) fn load(path: &Path) -> Result<&'static [u8], SnapshotLoadError> {
    let blob = read_snapshot(File::open(path)?, ProgramFileId::own()?)?;
    Ok(Box::leak(blob.into_boxed_slice()))
}

/// Reads the file once and verifies the bytes in memory. The file may change or be removed meanwhile.
fn read_snapshot(
    mut file: impl io::Read,
    program: ProgramFileId,
) -> Result<Vec<u8>, SnapshotLoadError> {
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header)
        .map_err(|_| SnapshotLoadError::NotOne)?;
    let number = |place: usize| {
        let bytes = header[place..place + 8].try_into();
        u64::from_le_bytes(bytes.expect("eight bytes are eight"))
    };
    if header[..8] != SNAPSHOT_MAGIC {
        return Err(SnapshotLoadError::NotOne);
    }
    let maker = ProgramFileId {
        length: number(8),
        modified: number(16),
    };
    if maker != program {
        return Err(SnapshotLoadError::OtherProgram);
    }
    let length = number(24);
    let fits = usize::try_from(length).ok();
    let fits = fits.filter(|length| *length <= mux_wire::MAX_SNAPSHOT_BYTES - HEADER_BYTES);
    let mut blob = vec![0; fits.ok_or(SnapshotLoadError::TooLong(length))?];
    file.read_exact(&mut blob)
        .map_err(|_| SnapshotLoadError::Damaged)?;
    let rest = file.read(&mut [0])?;
    if rest != 0 || checksum(&blob) != number(32) {
        return Err(SnapshotLoadError::Damaged);
    }
    Ok(blob)
}

/// A checksum against accidental damage: an attacker who can write the file can also replace the program. The standard
/// library's hash may differ in another build, whose snapshots are refused anyway.
fn checksum(blob: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(blob);
    hasher.finish()
}

fn with_header(blob: &[u8], program: ProgramFileId) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + blob.len());
    bytes.extend(SNAPSHOT_MAGIC);
    for number in [
        program.length,
        program.modified,
        blob.len() as u64,
        checksum(blob),
    ] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(blob);
    bytes
}

/// Makes a snapshot and writes it to standard output. The process must do nothing else.
pub(crate) fn make() -> ExitCode {
    let program = match ProgramFileId::own() {
        Ok(program) => program,
        Err(e) => {
            lockdown::log_line(&format!("mux-worker cannot read its own program file: {e}"));
            return ExitCode::FAILURE;
        }
    };
    let lockdown = Lockdown::before_engine();
    let hot_scripts = HotScripts::prepare();
    runtime::init_platform();
    // The engine schedules its tasks on this runtime.
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a current-thread runtime needs no resources that can be missing");
    let _entered = tokio.enter();
    let world = runtime::runtime_for_snapshot(hot_scripts);
    // All files are open and the engine's threads are running.
    lockdown.before_programs(IsolateMemory::default());
    let bytes = with_header(&world.snapshot(), program);
    let mut output = io::stdout();
    match output.write_all(&bytes).and_then(|()| output.flush()) {
        Ok(()) => lockdown::exit_process(),
        Err(e) => {
            lockdown::log_line(&format!("mux-worker cannot write the snapshot: {e}"));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: ProgramFileId = ProgramFileId {
        length: 5,
        modified: 7,
    };

    #[test]
    fn snapshot_round_trips() {
        let bytes = with_header(b"the world", OURS);
        assert_eq!(read_snapshot(bytes.as_slice(), OURS).unwrap(), b"the world");
    }

    #[test]
    fn snapshot_with_a_flipped_bit_is_refused() {
        let bytes = with_header(b"the world", OURS);
        for bit in 0..bytes.len() * 8 {
            let mut harmed = bytes.clone();
            harmed[bit / 8] ^= 1 << (bit % 8);
            assert!(read_snapshot(harmed.as_slice(), OURS).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn truncated_or_extended_snapshot_is_refused() {
        let mut bytes = with_header(b"the world", OURS);
        for length in 0..bytes.len() {
            assert!(
                read_snapshot(&bytes[..length], OURS).is_err(),
                "{length} bytes"
            );
        }
        bytes.push(0);
        assert!(matches!(
            read_snapshot(bytes.as_slice(), OURS),
            Err(SnapshotLoadError::Damaged)
        ));
    }

    #[test]
    fn snapshot_of_another_build_is_refused() {
        let bytes = with_header(b"the world", OURS);
        let newer = ProgramFileId {
            modified: 8,
            ..OURS
        };
        assert!(matches!(
            read_snapshot(bytes.as_slice(), newer),
            Err(SnapshotLoadError::OtherProgram)
        ));
    }
}
