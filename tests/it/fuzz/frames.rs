//! Random frames between the daemon and a worker, and decoding of damaged ones.

use std::io::Read;

use mux_chance::{damage::damage, holds};
use mux_wire::{
    CallTarget, ConsoleLevel, EngineInfo, FRAME_VERSION, Fault, FaultKind, FromWorker, Program,
    ProgramFindings, SyntaxNode, ToWorker, decode_frame, encode_frame, read_frame,
};
use proptest::{collection::vec, option, prelude::*, sample::select};

/// Short, unusual, or long texts.
pub(super) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ -~]{0,20}",
        2 => any::<String>(),
        1 => (select(vec!["x", "\u{1f980}", "\0", "\"", "["]), 0..20_000_usize)
            .prop_map(|(piece, times)| piece.repeat(times)),
    ]
}

fn fault() -> impl Strategy<Value = Fault> {
    let kinds = [
        "syntax", "runtime", "tool", "timeout", "memory", "limit", "denied", "internal",
    ];
    let kind = select(kinds.to_vec()).prop_map(|name| name.parse::<FaultKind>().unwrap());
    let place = (any::<Option<u32>>(), any::<Option<u32>>(), any::<bool>());
    let texts = (
        text(),
        option::of(text()),
        option::of(text()),
        option::of(text()),
    );
    (kind, place, texts).prop_map(
        |(kind, (line, column, recoverable), (message, hint, path, details))| Fault {
            kind,
            message,
            agent_hint: hint.clone().filter(|_| recoverable),
            hint,
            line,
            column,
            path,
            recoverable,
            details,
        },
    )
}

fn target() -> impl Strategy<Value = CallTarget> {
    prop_oneof![
        (text(), text()).prop_map(|(server, tool)| CallTarget::Named { server, tool }),
        (text(), any::<bool>()).prop_map(|(path, raw)| CallTarget::Path { path, raw }),
        text().prop_map(|name| CallTarget::Own { name }),
    ]
}

/// Mostly small numbers, as a real worker would send.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0..4_u32, 1 => any::<u32>()]
}

pub(super) fn from_worker() -> impl Strategy<Value = FromWorker> {
    let levels = vec![
        ConsoleLevel::Debug,
        ConsoleLevel::Log,
        ConsoleLevel::Info,
        ConsoleLevel::Warn,
        ConsoleLevel::Error,
    ];
    prop_oneof![
        1 => (number(), text(), option::of(text()), vec(text(), 0..3), any::<bool>()).prop_map(
            |(number, name, version, layers, snapshot)| FromWorker::Hello {
                version: FRAME_VERSION.wrapping_add(number),
                engine: EngineInfo { name, version, layers, snapshot },
            }
        ),
        1 => Just(FromWorker::Ready),
        1 => Just(FromWorker::Accepted),
        6 => (number(), target(), text())
            .prop_map(|(call, target, arguments)| FromWorker::Call { call, target, arguments }),
        3 => (select(levels), text()).prop_map(|(level, text)| FromWorker::Console { level, text }),
        3 => text().prop_map(|part| FromWorker::Emit { part }),
        1 => text().prop_map(|text| FromWorker::Done { outcome: Ok(text) }),
        1 => fault().prop_map(|fault| FromWorker::Done { outcome: Err(fault) }),
        1 => (vec(fault(), 0..3), vec(fault(), 0..3), vec(syntax_node(), 0..3))
            .prop_map(|(errors, warnings, tree)| {
                FromWorker::Checked(ProgramFindings { errors, warnings, tree })
            }),
    ]
}

fn syntax_node() -> impl Strategy<Value = SyntaxNode> {
    let position = (any::<u32>(), any::<u32>(), any::<Option<u32>>());
    (text(), text(), text(), position).prop_map(|(kind, slot, text, (start, end, parent))| {
        SyntaxNode {
            kind,
            slot,
            text,
            start,
            end,
            parent,
        }
    })
}

fn to_worker() -> impl Strategy<Value = ToWorker> {
    let program = (text(), text(), text(), any::<[u32; 5]>()).prop_map(
        |(source, input, names, [console, argument, result, timers, emitted])| Program {
            source,
            input,
            names,
            max_console: console,
            max_argument: argument,
            max_result: result,
            max_timers: timers,
            max_emitted: emitted,
        },
    );
    prop_oneof![
        text().prop_map(|source| ToWorker::Check { source }),
        program.prop_map(ToWorker::Run),
        (number(), text()).prop_map(|(call, text)| ToWorker::CallDone {
            call,
            outcome: Ok(text)
        }),
        (number(), fault()).prop_map(|(call, fault)| ToWorker::CallDone {
            call,
            outcome: Err(fault)
        }),
    ]
}

/// A stream that returns at most a few bytes at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = self.1.min(buffer.len());
        self.0.read(&mut buffer[..most])
    }
}

#[test]
fn fuzz_frames_are_read_from_a_stream_in_pieces() {
    let values = (vec(from_worker(), 0..6), 1..50_usize);
    holds("frames_stream", 200, values, |(frames, piece)| {
        let bytes: Vec<u8> = frames
            .iter()
            .flat_map(|f| encode_frame(f).unwrap())
            .collect();
        let mut stream = Trickle(&bytes, piece);
        for frame in &frames {
            let back: Option<FromWorker> = read_frame(&mut stream).unwrap();
            prop_assert_eq!(back.as_ref(), Some(frame));
        }
        prop_assert!(read_frame::<FromWorker>(&mut stream).unwrap().is_none());
        Ok(())
    });
}

/// The frames that are read from a stream, up to its end or the first error.
fn read_all(bytes: &[u8], piece: usize) -> (Vec<FromWorker>, Option<String>) {
    let mut stream = Trickle(bytes, piece);
    let mut frames = Vec::new();
    loop {
        match read_frame(&mut stream) {
            Ok(Some(frame)) => frames.push(frame),
            Ok(None) => return (frames, None),
            Err(error) => return (frames, Some(error.to_string())),
        }
    }
}

#[test]
fn fuzz_damaged_stream_is_read_alike_in_any_pieces_up_to_the_damage() {
    let values = (
        vec(from_worker(), 1..5),
        vec(damage(), 0..3),
        proptest::option::of((any::<prop::sample::Index>(), any::<u32>())),
        1..50_usize,
    );
    holds(
        "frames_damaged_stream",
        300,
        values,
        |(frames, damages, length, piece)| {
            let encoded: Vec<Vec<u8>> = frames.iter().map(|f| encode_frame(f).unwrap()).collect();
            let whole = encoded.concat();
            let mut bytes = whole.clone();
            if let Some((which, length)) = length {
                // Another length at the start of a frame.
                let start: usize = encoded[..which.index(encoded.len())]
                    .iter()
                    .map(Vec::len)
                    .sum();
                bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
            }
            for damage in damages {
                damage.apply(&mut bytes);
            }
            let read = read_all(&bytes, usize::MAX);
            prop_assert_eq!(&read_all(&bytes, piece), &read);
            // The frames that end before the first damaged byte.
            let same = whole
                .iter()
                .zip(&bytes)
                .take_while(|(one, other)| one == other)
                .count();
            let mut end = 0;
            for (index, frame) in encoded.iter().enumerate() {
                end += frame.len();
                if end <= same {
                    prop_assert_eq!(read.0.get(index), Some(&frames[index]));
                }
            }
            Ok(())
        },
    );
}

#[test]
fn fuzz_damaged_frames_of_a_worker_are_errors_or_frames() {
    let values = (from_worker(), vec(damage(), 1..4));
    holds("frames_from_worker", 2000, values, |(frame, damages)| {
        let mut bytes = encode_frame(&frame).unwrap().split_off(4);
        for damage in damages {
            damage.apply(&mut bytes);
        }
        // A decoded frame can be encoded and decoded again.
        if let Ok(frame) = decode_frame::<FromWorker>(&bytes) {
            let again = encode_frame(&frame).unwrap().split_off(4);
            prop_assert_eq!(decode_frame::<FromWorker>(&again).unwrap(), frame);
            prop_assert!(again.len() <= bytes.len(), "it has grown");
        }
        Ok(())
    });
}

#[test]
fn fuzz_damaged_frames_to_a_worker_are_errors_or_frames() {
    let values = (to_worker(), vec(damage(), 0..4));
    holds("frames_to_worker", 2000, values, |(frame, damages)| {
        let mut bytes = encode_frame(&frame).unwrap().split_off(4);
        prop_assert_eq!(&decode_frame::<ToWorker>(&bytes).unwrap(), &frame);
        for damage in damages {
            damage.apply(&mut bytes);
        }
        if let Ok(frame) = decode_frame::<ToWorker>(&bytes) {
            let again = encode_frame(&frame).unwrap().split_off(4);
            prop_assert_eq!(decode_frame::<ToWorker>(&again).unwrap(), frame);
        }
        Ok(())
    });
}
