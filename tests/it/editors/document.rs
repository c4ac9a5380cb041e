//! `proto/PROTOCOL.md` is complete, and a real daemon behaves as documented.
//!
//! Invariant: each of its examples is a recorded frame, and is sent here in the documented envelope. The signatures of
//! methods and the kinds of errors are those of the TypeScript types, which `mux-proto` generates. `UPDATE_GOLDEN=1`
//! regenerates all of them.

mod examples;
mod generated;
mod shape;

use std::{collections::BTreeSet, fs};

use mux_proto::{transport, version};
use mux_tests::{TestEnv, editors::source, frames::Wire, golden};
use serde_json::{Value, json};

use self::examples::{Example, document, examples};

/// The methods of the service, from its source.
fn methods() -> Vec<String> {
    let service = fs::read_to_string(source("proto/src/service.rs")).unwrap();
    let named = service.split("async fn ").skip(1);
    named
        .map(|rest| rest.split('(').next().unwrap().to_owned())
        .collect()
}

#[test]
fn all_methods_are_documented() {
    let text = document();
    let headings: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'))
        .collect();
    let methods = methods();
    assert!(methods.len() > 50, "{methods:?}");
    let missing: Vec<String> = methods
        .iter()
        .filter(|method| !headings.contains(&method.as_str()))
        .map(|method| examples::section(method))
        .collect();
    assert!(
        missing.is_empty(),
        "not documented:\n\n{}",
        missing.join("\n")
    );
    // Exactly these, in the order of the service.
    assert_eq!(headings, methods);
    assert!(text.contains("16,777,216") && transport::MAX_FRAME == 16_777_216);
    let number = format!("contract described here is number {}.", version::CONTRACT);
    assert!(text.contains(&number), "{number}");
}

#[test]
fn examples_signatures_and_error_kinds_are_current_and_cover_all_methods() {
    let examples = examples();
    let text = generated::with_types(&examples::with_recorded_frames());
    golden::compare(&source("proto/PROTOCOL.md"), &text).unwrap();
    for what in ["request", "response"] {
        let shown: BTreeSet<String> = examples
            .iter()
            .filter(|example| example.what == what)
            .map(Example::method)
            .collect();
        assert_eq!(shown, methods().into_iter().collect(), "{what}");
    }
}

/// Methods whose examples fail here, because there is no login, no source, no approval and no grant, and because the
/// `hello` of the examples is an agent's.
const NOTHING_THERE: &[&str] = &[
    "login",
    "login_wait",
    "login_finish",
    "logout",
    "refresh_source",
    "decide",
    "revoke_approval",
    "approve_project",
    "upgrade",
    "suggest_sandbox",
];

#[test]
fn daemon_answers_examples_as_documented() {
    let env = TestEnv::with_fixtures(&[("fix", &["--offers"])]);
    env.result("return 1");
    let mut wire = Wire::connect(&env.dirs.socket());
    let all = examples();
    let (ends, others): (Vec<&Example>, Vec<&Example>) = all
        .iter()
        .filter(|example| example.what == "request")
        .partition(|example| ["retire", "stop"].contains(&example.name.as_str()));
    let mut run = "r-1".to_owned();
    // The name of a value depends on the installation.
    let mut handle = None;
    for (id, example) in (1..).zip(others) {
        let method = example.method();
        let mut message = example.with_run(&run);
        if let (Some(request), Some(handle)) = (message.pointer_mut("/Read/request"), &handle) {
            request["handle"] = json!(handle);
        }
        let answer = ask(&mut wire, id, &message);
        handle = stored_handle(&answer).or(handle);
        if let Some(started) = answer["StartRun"]["Ok"]["run"].as_str() {
            run = started.to_owned();
        }
        fits(&all, &method, &answer);
    }
    // Each of these stops its daemon.
    for example in ends {
        env.result("return 1");
        let mut wire = Wire::connect(&env.dirs.socket());
        for example in [&all[0], example] {
            fits(
                &all,
                &example.method(),
                &ask(&mut wire, 1, &example.message),
            );
        }
        assert_eq!(wire.rest(), Vec::<Value>::new());
    }
}

#[test]
fn documented_cancel_frame_cancels_a_call() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.result("return await mux.fix.cancelled({})");
    let mut wire = Wire::connect(&env.dirs.socket());
    ask(&mut wire, 1, &examples()[0].message);
    let slow =
        json!({ "Call": { "request": { "path": "fix.sleep", "arguments": { "ms": 60_000 } } } });
    wire.send(envelope(2, &slow).to_string().as_bytes())
        .unwrap();
    let servers = json!({ "Servers": {} });
    while ask(&mut wire, 3, &servers)["Servers"]["Ok"][0]["in_flight"] != 1 {}
    let mut cancel = examples::envelope("cancel");
    cancel["Cancel"]["request_id"] = json!(2);
    wire.send(cancel.to_string().as_bytes()).unwrap();
    let asked = json!({ "Call": { "request": { "path": "fix.cancelled", "arguments": {} } } });
    while ask(&mut wire, 4, &asked)["Call"]["Ok"]["result"]["value"] == json!([]) {}
}

/// The first name of a stored value in an answer.
fn stored_handle(answer: &Value) -> Option<String> {
    match answer {
        Value::Object(members) => {
            let own = members
                .get("handle")
                .and_then(Value::as_str)
                .map(str::to_owned);
            own.or_else(|| members.values().find_map(stored_handle))
        }
        Value::Array(items) => items.iter().find_map(stored_handle),
        _ => None,
    }
}

/// The documented request envelope, with this id and message.
fn envelope(id: u64, message: &Value) -> Value {
    let mut request = examples::envelope("request");
    request["Request"]["id"] = json!(id);
    request["Request"]["message"] = message.clone();
    request
}

/// Sends a request, and returns the message of the response, whose envelope must be as documented.
#[track_caller]
fn ask(wire: &mut Wire, id: u64, message: &Value) -> Value {
    wire.send(envelope(id, message).to_string().as_bytes())
        .unwrap();
    let mut answer = wire.answer().unwrap();
    let documented = examples::envelope("response");
    let members = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(members(&answer), members(&documented));
    assert_eq!(answer["request_id"], id);
    answer["message"]["Ok"].take()
}

/// Fails unless a response is of that method and has the shape of one of its examples.
#[track_caller]
fn fits(all: &[Example], method: &str, answer: &Value) {
    let (name, answer) = answer.as_object().unwrap().iter().next().unwrap();
    assert_eq!(examples::method(name), method);
    if NOTHING_THERE.contains(&method) && answer.get("Err").is_some() {
        assert!(
            ["validation", "not_found", "unavailable", "denied"]
                .contains(&answer["Err"]["kind"].as_str().unwrap()),
            "{answer}"
        );
        return;
    }
    let answer = answer
        .get("Ok")
        .unwrap_or_else(|| panic!("{method}: {answer}"));
    let shown: Vec<&Value> = all
        .iter()
        .filter(|example| example.what == "response")
        .filter_map(|example| example.message.get(name)?.get("Ok"))
        .collect();
    let responses = all.iter().filter(|example| example.what == "response");
    let names = shape::names(responses.map(|example| &example.message));
    let misfits: Vec<String> = shown
        .iter()
        .filter_map(|ok| shape::misfit(ok, answer, &names).err())
        .collect();
    assert!(
        misfits.len() < shown.len(),
        "{method}: {misfits:?} in {answer}"
    );
}
