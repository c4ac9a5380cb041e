//! Journals of waiting runs that were cut or damaged. A journal is a single record of the calls that were sent: of a
//! cut journal the complete lines are read, and a damaged journal is an error, never a shorter list, because its calls
//! would be sent again.

use std::fs;

use mux_chance::{
    damage::{Damage, damage_of},
    holds,
};
use mux_wire::{CallTarget, Fault, FaultKind};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};

use crate::{
    call_journal::{CallJournal, JournalProgram, read_journal},
    call_log::{BegunCall, CallLog, LoggedCall},
};

const TOKENS: &[&str] = &[
    "\n",
    "\0",
    "\"",
    "{",
    "}",
    ",",
    "\"place\":0",
    "\"full\"\n",
    "{\"step\":",
    "open",
    "null",
    "\u{feff}",
];

/// An event of a run.
#[derive(Clone, Debug)]
enum Event {
    Begin(String, String),
    Asked(Index, bool),
    End(Index, Result<String, String>),
}

fn event() -> impl Strategy<Value = Event> {
    let text = || prop_oneof![3 => "[a-z\n\"\u{e9}]{0,12}", 1 => any::<String>()];
    let tools = select(&["a", "b", "delete"][..]);
    prop_oneof![
        2 => (tools, text()).prop_map(|(tool, text)| Event::Begin(format!("s.{tool}"), text)),
        1 => (any::<Index>(), any::<bool>()).prop_map(|(which, asked)| Event::Asked(which, asked)),
        2 => (any::<Index>(), text()).prop_map(|(which, text)| Event::End(which, Ok(text))),
        1 => (any::<Index>(), text()).prop_map(|(which, text)| Event::End(which, Err(text))),
    ]
}

/// Writes the journal of a run, and returns its bytes.
fn written(path: &std::path::Path, events: &[Event]) -> Vec<u8> {
    let program = JournalProgram::new(&"return 1".into(), false, &"null".into(), 30_000);
    let mut log = CallLog::new(1 << 20, Vec::new());
    let mut journal = CallJournal::create(path, program, &log.all_lines()).unwrap();
    let mut places = Vec::new();
    for event in events {
        match event {
            Event::Begin(tool, arguments) => {
                let target = CallTarget::Path {
                    path: tool.clone(),
                    raw: false,
                };
                if let BegunCall::New(Some(place)) = log.begin(&target, &arguments.as_str().into())
                {
                    places.push(place);
                }
            }
            _ if places.is_empty() => {}
            Event::Asked(which, asked) => log.set_asked(*which.get(&places), *asked),
            Event::End(which, outcome) => {
                let outcome = outcome.clone();
                let outcome = outcome.map_err(|text| Fault::new(FaultKind::Tool, text));
                log.end(*which.get(&places), &outcome);
            }
        }
        journal.append(&log.unwritten_lines()).unwrap();
    }
    fs::read(path).unwrap()
}

/// The calls in these bytes. `None` if they are not a journal.
fn calls(path: &std::path::Path, bytes: &[u8]) -> Option<Vec<LoggedCall>> {
    fs::write(path, bytes).unwrap();
    let (_, calls) = read_journal(path).ok()??;
    calls
}

fn shown(calls: &[LoggedCall]) -> Vec<String> {
    calls
        .iter()
        .map(|call| serde_json::to_string(call).unwrap())
        .collect()
}

#[test]
fn fuzz_cut_journal_has_its_whole_lines_and_a_damaged_one_loses_no_call_silently() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.calls");
    let values = (
        vec(event(), 0..12),
        any::<Index>(),
        vec(damage_of(TOKENS), 0..3),
    );
    holds(
        "journals",
        200,
        values,
        |(events, cut, damages): (Vec<_>, Index, Vec<Damage>)| {
            fs::remove_file(&path).ok();
            let bytes = written(&path, &events);
            let whole =
                calls(&path, &bytes).ok_or_else(|| TestCaseError::fail("it is not read"))?;
            // A crash in the middle of a write, which may leave a block of zeros.
            let cut = cut.index(bytes.len() + 1);
            let lines = bytes[..cut]
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |end| end + 1);
            let expected = calls(&path, &bytes[..lines]).map(|calls| shown(&calls));
            for tail in [&bytes[lines..cut], &[0; 64][..]] {
                let torn = [&bytes[..lines], tail].concat();
                prop_assert_eq!(
                    calls(&path, &torn).map(|calls| shown(&calls)),
                    expected.clone()
                );
            }
            // Any other damage. Complete lines before it stay.
            let mut damaged = bytes.clone();
            damages.iter().for_each(|damage| damage.apply(&mut damaged));
            let same = bytes
                .iter()
                .zip(&damaged)
                .take_while(|(one, other)| one == other)
                .count();
            let lines = bytes[..same]
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |end| end + 1);
            let before = calls(&path, &bytes[..lines]).unwrap_or_default().len();
            if let Some(read) = calls(&path, &damaged) {
                prop_assert!(read.len() >= before, "{} of {before} calls", read.len());
            }
            drop(whole);
            Ok(())
        },
    );
}
