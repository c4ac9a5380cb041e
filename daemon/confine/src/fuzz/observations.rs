//! Observations of a server in a damaged file: a damaged line loses only itself.

use std::{fs, net::IpAddr};

use mux_chance::{
    damage::{Damage, damage_of},
    holds,
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::observation::{FileAccess, ObservedAction, read_observations};

const TOKENS: &[&str] = &[
    "\n", "\"", "{", "}", "\\u0000", "\u{2028}", "null", ",", "65536",
];

fn action() -> impl Strategy<Value = ObservedAction> {
    let access = [
        FileAccess::Look,
        FileAccess::Read,
        FileAccess::Write,
        FileAccess::Create,
    ];
    prop_oneof![
        4 => (select(access.to_vec()), "/[ -~\u{e9}\n]{0,20}", any::<bool>()).prop_map(|(access, path, is_folder)| {
            ObservedAction::File { access, path: path.into(), is_folder }
        }),
        1 => "/[a-z]{1,9}".prop_map(|path| ObservedAction::Socket(path.into())),
        1 => (any::<IpAddr>(), any::<u16>()).prop_map(|at| ObservedAction::Connect(at.into())),
        1 => any::<u16>().prop_map(ObservedAction::Listen),
        1 => Just(ObservedAction::Unreadable),
    ]
}

#[test]
fn fuzz_damaged_line_of_a_record_costs_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("observed");
    let values = (
        vec(action(), 1..8),
        any::<prop::sample::Index>(),
        vec(damage_of(TOKENS), 0..4),
    );
    holds(
        "observations",
        600,
        values,
        |(actions, which, damages): (Vec<_>, _, Vec<Damage>)| {
            let which = which.index(actions.len());
            let lines = actions.iter().enumerate().map(|(index, action)| {
                let mut line = serde_json::to_vec(action).unwrap();
                if index == which {
                    for damage in &damages {
                        damage.apply(&mut line);
                    }
                }
                line.push(b'\n');
                line
            });
            fs::write(&path, lines.flatten().collect::<Vec<u8>>()).unwrap();
            let read =
                read_observations(&path).map_err(|error| TestCaseError::fail(error.to_string()))?;
            for (index, action) in actions.iter().enumerate() {
                if index != which || damages.is_empty() {
                    prop_assert!(read.contains(action), "{action:?} is lost");
                }
            }
            Ok(())
        },
    );
}
