//! Length-prefixed frames over any blocking or buffered stream.
//!
//! Invariant: a length is checked before a byte is allocated for it.

use std::io::{self, Read, Write};

use serde::{Serialize, de::DeserializeOwned};

/// The maximum length of a frame in bytes, in either direction.
pub const MAX_FRAME_BYTES: usize = 16 * 1024 * 1024;

/// Why a frame could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("frame of {length} bytes is over the limit of {MAX_FRAME_BYTES}")]
    TooLong { length: usize },
    #[error("frame cannot be decoded: {0}")]
    Malformed(postcard::Error),
    #[error("frame cannot be encoded: {0}")]
    Unencodable(postcard::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Encodes a frame with its length prefix (u32, big-endian).
pub fn encode_frame<T: Serialize>(frame: &T) -> Result<Vec<u8>, FrameError> {
    let mut bytes = postcard::to_extend(frame, vec![0; 4]).map_err(FrameError::Unencodable)?;
    let length = bytes.len() - 4;
    if length > MAX_FRAME_BYTES {
        return Err(FrameError::TooLong { length });
    }
    let prefix = u32::try_from(length).expect("MAX_FRAME_BYTES fits in 32 bits");
    bytes[..4].copy_from_slice(&prefix.to_be_bytes());
    Ok(bytes)
}

/// Decodes a frame from its bytes without the length prefix. Trailing bytes are an error.
pub fn decode_frame<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FrameError> {
    let (frame, rest) = postcard::take_from_bytes(bytes).map_err(FrameError::Malformed)?;
    if rest.is_empty() {
        Ok(frame)
    } else {
        Err(FrameError::Malformed(
            postcard::Error::DeserializeBadEncoding,
        ))
    }
}

/// Reads the next frame, or `None` at the end of the stream if that is between two frames.
pub fn read_frame<T: DeserializeOwned>(stream: &mut impl Read) -> Result<Option<T>, FrameError> {
    let mut prefix = [0; 4];
    let mut filled = 0;
    while filled < prefix.len() {
        match stream.read(&mut prefix[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
    let length = u32::from_be_bytes(prefix) as usize;
    if length > MAX_FRAME_BYTES {
        return Err(FrameError::TooLong { length });
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    decode_frame(&bytes).map(Some)
}

/// Writes one frame in a single `write_all`.
pub fn write_frame<T: Serialize>(stream: &mut impl Write, frame: &T) -> Result<(), FrameError> {
    stream.write_all(&encode_frame(frame)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ConsoleLevel, EngineInfo, Fault, FaultKind, FromWorker, MAX_FAULTS, MAX_LAYERS,
        ProgramFindings, ToWorker,
    };

    #[test]
    fn frame_round_trips() {
        let frame = FromWorker::Console {
            level: ConsoleLevel::Warn,
            text: "héllo\n\u{2028}".into(),
        };
        let bytes = encode_frame(&frame).unwrap();
        let back: Option<FromWorker> = read_frame(&mut bytes.as_slice()).unwrap();
        assert_eq!(back, Some(frame));
    }

    #[test]
    fn end_of_stream_is_an_error_only_inside_a_frame() {
        let bytes = encode_frame(&ToWorker::Check {
            source: "return 1".into(),
        })
        .unwrap();
        assert!(
            read_frame::<ToWorker>(&mut [].as_slice())
                .unwrap()
                .is_none()
        );
        for cut in 1..bytes.len() {
            let got = read_frame::<ToWorker>(&mut &bytes[..cut]);
            assert!(
                matches!(got, Err(FrameError::Io(_))),
                "cut at {cut}: {got:?}"
            );
        }
    }

    #[test]
    fn length_over_the_limit_is_refused_without_reading_the_frame() {
        for length in [u32::try_from(MAX_FRAME_BYTES + 1).unwrap(), u32::MAX] {
            let got = read_frame::<ToWorker>(&mut length.to_be_bytes().as_slice());
            assert!(matches!(got, Err(FrameError::TooLong { .. })), "{got:?}");
        }
    }

    #[test]
    fn random_short_frames_never_panic() {
        // A linear congruential generator with a fixed seed: the same bytes on every run.
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..100_000 {
            let mut bytes = [0u8; 24];
            for byte in &mut bytes {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                *byte = state.to_be_bytes()[3];
            }
            let length = (bytes[0] % 24) as usize;
            drop(decode_frame::<FromWorker>(&bytes[1..=length.min(23)]));
        }
    }

    #[test]
    fn list_over_its_limit_is_refused() {
        let blames = |errors: usize, warnings: usize| {
            FromWorker::Checked(ProgramFindings {
                errors: vec![Fault::new(FaultKind::Runtime, ""); errors],
                warnings: vec![Fault::new(FaultKind::Runtime, ""); warnings],
                tree: Vec::new(),
            })
        };
        let greets = |layers: usize| FromWorker::Hello {
            version: 1,
            engine: EngineInfo {
                layers: vec![String::new(); layers],
                ..EngineInfo::default()
            },
        };
        for (frame, fits) in [
            (blames(MAX_FAULTS, MAX_FAULTS), true),
            (blames(MAX_FAULTS + 1, 0), false),
            (blames(0, 100_000), false),
            (greets(MAX_LAYERS), true),
            (greets(MAX_LAYERS + 1), false),
        ] {
            let bytes = encode_frame(&frame).unwrap();
            let read = decode_frame::<FromWorker>(&bytes[4..]);
            assert_eq!(read.ok(), fits.then_some(frame));
        }
    }

    #[test]
    fn trailing_bytes_are_an_error() {
        let mut bytes = encode_frame(&FromWorker::Ready).unwrap().split_off(4);
        bytes.push(0);
        assert!(decode_frame::<FromWorker>(&bytes).is_err());
    }
}
