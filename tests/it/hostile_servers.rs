//! Servers that mean harm, as data: one row is what the server does, what its caller sees, and no Rust.
//!
//! Around every row the same is asked of everybody else: the daemon is the same process, another server
//! was called all along and was right, its process and its session are the same, and the daemon has not
//! grown. After it the server that did harm can be started again, and works.
//!
//! Cases 71 to 75 of the list of attacks; the rest of what can go wrong with servers is in `faults`.

mod arena;
mod rows;

use self::{arena::Arena, rows::Row};

#[test]
fn that_write_what_nobody_asked_for() {
    check_all(rows::OUTPUT);
}

#[test]
fn that_tell_a_million_times_what_nobody_asked_for() {
    check_all(rows::MILLION);
}

#[test]
fn that_change_all_the_time() {
    check_all(rows::CHANGES);
}

#[test]
fn that_answer_in_their_own_way() {
    check_all(rows::ANSWERS);
}

#[test]
fn that_list_without_measure() {
    check_all(rows::LISTS);
}

#[test]
fn that_make_work() {
    check_all(rows::WORK);
}

#[test]
fn that_do_not_read() {
    check_all(rows::INPUT);
}

/// Every row on one daemon.
fn check_all(rows: &[Row]) {
    let arena = Arena::new(rows);
    let mut failures = Vec::new();
    for row in rows {
        if let Err(problem) = arena.check(row) {
            failures.push(format!("{}: {problem}", row.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
