//! Search of a process's memory from outside.
//!
//! Invariant: the search finds one-byte and two-byte strings in a program's memory. Finding none is therefore a proof.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
};

use mux_tests::{TestEnv, process};
use nix::libc;

/// A text as an engine stores strings: with one byte for each character, and with two.
pub(super) fn spellings(text: &str) -> [Vec<u8>; 2] {
    let wide = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    [text.as_bytes().to_vec(), wide]
}

#[expect(
    unsafe_code,
    reason = "hundreds of megabytes, in a build without optimisation"
)]
pub(super) fn holds(bytes: &[u8], text: &[u8]) -> bool {
    // SAFETY: both pointers are of slices with these lengths, and the call only reads.
    let found = unsafe {
        libc::memmem(
            bytes.as_ptr().cast(),
            bytes.len(),
            text.as_ptr().cast(),
            text.len(),
        )
    };
    !found.is_null()
}

/// The readable memory of a process, except mapped files that it cannot write to. `None` if it may not be read.
pub(super) fn memory(pid: i32) -> Option<Vec<u8>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let file = File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut all = Vec::new();
    let mut piece = vec![0; 1 << 20];
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let range = words.next()?;
        let rights = words.next()?;
        let (from, to) = range.split_once('-')?;
        let number = |hex| u64::from_str_radix(hex, 16).ok();
        let mut from = number(from)?;
        let to = number(to)?;
        // A file that is not mapped writable is the same as on disk.
        if !rights.starts_with('r') || (line.contains(" /") && !rights.contains('w')) {
            continue;
        }
        while from < to {
            let length = usize::try_from(to - from).unwrap_or(usize::MAX);
            let length = length.min(piece.len());
            // The process is running: it may have unmapped a range meanwhile.
            let Ok(count @ 1..) = file.read_at(&mut piece[..length], from) else {
                break;
            };
            all.extend_from_slice(&piece[..count]);
            from += count as u64;
        }
    }
    Some(all)
}

/// The environment, the command line and the memory map of a process.
pub(super) fn told_of(pid: i32) -> Vec<u8> {
    let of = ["environ", "cmdline", "maps"];
    let read = of.map(|what| fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default());
    read.concat()
}

pub(super) fn workers(env: &TestEnv) -> Vec<i32> {
    let mut children = process::descendants(env.daemon().unwrap());
    children.retain(|pid| {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm"));
        comm.is_ok_and(|comm| comm.trim() == "mux-worker")
    });
    children
}
