//! The complete output of a compromised worker.
//!
//! Invariant: the output is written to a file that the worker prints with `cat`. No shell interprets it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use mux_chance::damage::{Damage, damage};
use mux_wire::{EngineInfo, FRAME_VERSION, FromWorker, encode_frame};
use proptest::{collection::vec, prelude::*};

use crate::fuzz::frames::from_worker;

#[derive(Clone, Debug)]
pub(super) struct Speech {
    /// True if the worker sends the expected handshake and accepts the program.
    pub(super) polite: bool,
    pieces: Vec<Piece>,
    /// The exit code. Without one, the worker runs until it is killed.
    code: Option<u8>,
}

#[derive(Clone, Debug)]
enum Piece {
    Frame(FromWorker),
    Damaged(FromWorker, Damage),
    Noise(Vec<u8>),
    /// A length without a frame.
    Length(u32),
    /// One frame repeated this many times.
    Flood(FromWorker, u16),
}

impl Speech {
    pub(super) fn any() -> impl Strategy<Value = Self> {
        let piece = prop_oneof![
            12 => from_worker().prop_map(Piece::Frame),
            2 => (from_worker(), damage()).prop_map(|(frame, damage)| Piece::Damaged(frame, damage)),
            1 => vec(any::<u8>(), 0..200).prop_map(Piece::Noise),
            1 => any::<u32>().prop_map(Piece::Length),
            1 => (from_worker(), 0..300_u16).prop_map(|(frame, times)| Piece::Flood(frame, times)),
        ];
        let polite = prop::bool::weighted(0.85);
        let code = prop_oneof![5 => any::<u8>().prop_map(Some), 1 => Just(None)];
        (polite, vec(piece, 0..12), code).prop_map(|(polite, pieces, code)| Self {
            polite,
            pieces,
            // A worker without a handshake that stays would delay the test by seconds.
            code: if polite {
                code
            } else {
                Some(code.unwrap_or(1))
            },
        })
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.polite {
            let hello = FromWorker::Hello {
                version: FRAME_VERSION,
                engine: EngineInfo::default(),
            };
            for frame in [hello, FromWorker::Ready, FromWorker::Accepted] {
                bytes.extend(encode_frame(&frame).unwrap());
            }
        }
        for piece in &self.pieces {
            match piece {
                Piece::Frame(frame) => bytes.extend(encode_frame(frame).unwrap()),
                Piece::Damaged(frame, damage) => {
                    let mut frame = encode_frame(frame).unwrap();
                    damage.apply(&mut frame);
                    bytes.extend(frame);
                }
                Piece::Noise(noise) => bytes.extend(noise),
                Piece::Length(length) => bytes.extend(length.to_be_bytes()),
                Piece::Flood(frame, times) => {
                    let frame = encode_frame(frame).unwrap();
                    // At most a few megabytes.
                    let times = usize::from(*times).min((4 << 20) / frame.len());
                    bytes.extend(frame.repeat(times));
                }
            }
        }
        bytes
    }

    /// Writes a worker program that sends the output to its standard input, which is the socket.
    pub(super) fn worker(&self, folder: &Path) -> PathBuf {
        let words = folder.join("words");
        fs::write(&words, self.bytes()).unwrap();
        let end = match self.code {
            Some(code) => format!("exit {code}"),
            // Reads until the daemon disconnects or kills it.
            None => "exec cat <&0 >/dev/null".into(),
        };
        let path = folder.join("worker");
        let script = format!("#!/bin/sh\n/bin/cat {} >&0\n{end}\n", words.display());
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path
    }
}
