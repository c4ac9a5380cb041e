//! Logs whose writers die in the middle of a line.

use std::fs;

use mux_chance::{
    damage::{Damage, damage, damaged},
    holds,
};
use proptest::{collection::vec, prelude::*, sample::Index};

use crate::{gzip_text::GzipText, rotating_log::RotatingLog};

/// An event of a log.
#[derive(Clone, Debug)]
enum Event {
    Append(String),
    /// The writer dies, and the last bytes are lost or zeros.
    Crash(Index, bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => "[ -~\u{e9}]{0,12}".prop_map(Event::Append),
        1 => (any::<Index>(), any::<bool>()).prop_map(|(cut, zeros)| Event::Crash(cut, zeros)),
    ]
}

#[test]
fn fuzz_line_after_a_crash_is_whole_and_on_its_own() {
    holds("logs", 300, vec(event(), 1..12), |events: Vec<Event>| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let mut log = RotatingLog::new(path.clone());
        // The lines that no crash has reached.
        let mut safe: Vec<String> = Vec::new();
        for (number, event) in events.iter().enumerate() {
            match event {
                Event::Append(text) => {
                    let line = format!("{number} {text}");
                    log.append(format!("{line}\n").as_bytes());
                    safe.push(line);
                }
                Event::Crash(cut, zeros) => {
                    let mut bytes = fs::read(&path).unwrap_or_default();
                    let last = bytes.len().saturating_sub(8);
                    let cut = last + cut.index(bytes.len() - last + 1);
                    bytes.truncate(cut);
                    let whole = bytes.split(|byte| *byte == b'\n').count() - 1;
                    if *zeros {
                        bytes.extend([0; 16]);
                    }
                    fs::write(&path, &bytes).unwrap();
                    log = RotatingLog::new(path.clone());
                    // Torn lines of earlier crashes also count.
                    let text = String::from_utf8_lossy(&bytes[..cut]).into_owned();
                    let kept: Vec<&str> = text.split_inclusive('\n').take(whole).collect();
                    safe.retain(|line| kept.contains(&format!("{line}\n").as_str()));
                }
            }
        }
        let bytes = fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        for line in &safe {
            prop_assert!(
                lines.contains(&line.as_str()),
                "{line:?} is not in {lines:?}"
            );
        }
        Ok(())
    });
}

#[test]
fn fuzz_damaged_compressed_text_is_the_text_or_nothing() {
    let values = (any::<String>(), 1..50_usize, vec(damage(), 0..4));
    holds(
        "logs_compressed",
        500,
        values,
        |(text, times, damages): (String, _, Vec<Damage>)| {
            let text = text.repeat(times);
            let packed = GzipText::of(&text);
            let bytes = damaged(packed.bytes(), &damages);
            let read = GzipText::from_bytes(bytes).and_then(|packed| packed.read(text.len()));
            prop_assert!(read.is_none_or(|read| read == text));
            prop_assert_eq!(packed.read(text.len()), Some(text));
            Ok(())
        },
    );
}
