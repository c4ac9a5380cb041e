//! Hostile servers, as data: a row is the behavior of a server and the result of its caller, without more Rust.
//!
//! The checks around every row are the same: the daemon is the same process, another server answered all calls
//! correctly and its process and session are the same, and the daemon has not grown. Afterwards the hostile server can
//! be restarted, and works.
//!
//! These are the attacks 71 to 75. Other faults of servers are in `faults`.

mod arena;
mod rows;

use self::{arena::Arena, rows::Row};

#[test]
fn servers_with_unrequested_output() {
    check_all(rows::OUTPUT);
}

#[test]
fn servers_with_very_many_unknown_notifications() {
    check_all(rows::NOTIFICATIONS);
}

#[test]
fn servers_whose_lists_change_all_the_time() {
    check_all(rows::CHANGES);
}

#[test]
fn servers_with_invalid_answers() {
    check_all(rows::ANSWERS);
}

#[test]
fn servers_with_endless_lists() {
    check_all(rows::LISTS);
}

#[test]
fn servers_that_cause_expensive_work() {
    check_all(rows::WORK);
}

#[test]
fn servers_that_do_not_read_their_input() {
    check_all(rows::INPUT);
}

/// Checks every row on one daemon.
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
