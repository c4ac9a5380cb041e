//! Requests of clients: recorded ones with changed values and damaged bytes.

use std::{fs, path::PathBuf};

use mux_chance::{
    broken,
    damage::{Damage, damage},
    holds, json,
};
use mux_tests::{
    TestEnv,
    frames::{Silence, Wire},
};
use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::Value;

/// Every recorded request except those that stop the daemon.
fn recorded() -> Vec<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/frames");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.ends_with(".request.json")
                && !name.starts_with("stop")
                && !name.starts_with("retire")
        })
        .collect();
    files.sort();
    let read = |path: &PathBuf| fs::read_to_string(path).unwrap();
    let requests: Vec<Value> = files
        .iter()
        .map(|path| serde_json::from_str(&read(path)).unwrap())
        .collect();
    assert!(requests.len() > 5, "{folder:?} holds no requests");
    requests
}

/// A place in a value, and its new content.
type Change = (Index, Value);

#[derive(Clone, Debug)]
struct Request {
    which: Index,
    changes: Vec<Change>,
    damages: Vec<Damage>,
    /// Sent instead of the frame's length.
    length: Option<u32>,
}

fn request() -> impl Strategy<Value = Request> {
    let changes = vec((any::<Index>(), json::strange()), 0..3);
    let damages = prop_oneof![4 => Just(Vec::new()), 1 => vec(damage(), 1..3)];
    let length = prop_oneof![
        12 => Just(None),
        1 => (0..2000_u32).prop_map(Some),
        1 => any::<u32>().prop_map(Some),
    ];
    (any::<Index>(), changes, damages, length).prop_map(|(which, changes, damages, length)| {
        Request {
            which,
            changes,
            damages,
            length,
        }
    })
}

/// Collects every leaf of a value.
fn places<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
    let is_leaf = match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    match value {
        leaf if is_leaf => found.push(leaf),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| places(member, found)),
        Value::Array(items) => items.iter_mut().for_each(|item| places(item, found)),
        _ => {}
    }
}

impl Request {
    fn bytes(&self, recorded: &[Value]) -> Vec<u8> {
        let mut value = recorded[self.which.index(recorded.len())].clone();
        for (place, new) in &self.changes {
            let mut found = Vec::new();
            places(&mut value, &mut found);
            let place = place.index(found.len());
            *found[place] = new.clone();
        }
        let mut bytes = value.to_string().into_bytes();
        self.damages
            .iter()
            .for_each(|damage| damage.apply(&mut bytes));
        bytes
    }
}

#[test]
fn fuzz_any_request_is_answered_or_disconnected() {
    let env = TestEnv::new();
    env.result("return 1");
    let daemon = env.daemon();
    let recorded = recorded();
    let values = (any::<bool>(), vec(request(), 1..8));
    holds("clients", 150, values, |(greeted, requests)| {
        let socket = env.dirs.socket();
        let mut wire = if greeted {
            Wire::greeted(&socket)
        } else {
            Wire::connect(&socket)
        };
        for request in &requests {
            let frame = request.bytes(&recorded);
            // The connection is closed if an earlier request was invalid.
            drop(match request.length {
                None => wire.send(&frame),
                Some(length) => wire.send_bytes(&[&length.to_be_bytes(), &*frame].concat()),
            });
        }
        wire.finish();
        loop {
            match wire.answer() {
                Ok(answer) if answer.is_object() => {}
                Ok(answer) => return Err(broken(format!("no answer but {answer}"))),
                Err(Silence::Closed) => break,
                Err(Silence::Torn) => return Err(broken("a torn frame")),
            }
        }
        if env.daemon() != daemon {
            return Err(broken("the daemon has ended"));
        }
        Ok(())
    });
    assert_eq!(env.result("return 6 * 7"), serde_json::json!(42));
    env.stop();
    let log = env.log();
    let panics: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("panicked"))
        .collect();
    assert!(panics.is_empty(), "{panics:#?}");
}
