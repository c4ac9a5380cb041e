//! The frames of each method, recorded in `tests/data/frames`. Clients in other languages and older
//! builds rely on these bytes: a test that fails here requires a new contract, not a new recording.

use std::{fs, path::PathBuf};

use mux_proto::{
    AnyKind, MuxClient,
    service::{MuxRequest, MuxResponse},
    transport,
};
use mux_tests::{TestEnv, frames::Wire, golden};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tarpc::{ClientMessage, Request, Response, client::Config};
use tokio::io::{AsyncReadExt, duplex};

use super::{requests, responses};

fn record(name: &str, what: &str) -> PathBuf {
    let file = format!("tests/data/frames/{name}.{what}.json");
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join(file)
}

fn recorded(name: &str, what: &str) -> String {
    fs::read_to_string(record(name, what)).unwrap()
}

/// The envelope of a request, with a deadline that does not depend on the clock.
fn envelope(message: MuxRequest) -> String {
    let context = transport::within(std::time::Duration::from_secs(30));
    let request = ClientMessage::Request(Request {
        context,
        id: 1,
        message,
    });
    let mut request = serde_json::to_value(&request).unwrap();
    request["Request"]["context"]["deadline"] = json!({ "secs": 30, "nanos": 0 });
    request.to_string()
}

fn reencoded<T: Serialize + DeserializeOwned>(text: &str) -> String {
    serde_json::to_string(&serde_json::from_str::<T>(text).unwrap()).unwrap()
}

#[test]
fn requests_are_encoded_as_they_were_recorded() {
    let mut differences = Vec::new();
    for (name, message) in requests::all() {
        let actual = envelope(message);
        differences.extend(golden::compare(&record(name, "request"), &actual).err());
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn responses_are_encoded_and_decoded_as_they_were_recorded() {
    let mut differences = Vec::new();
    for (name, message) in responses::all() {
        let response = Response {
            request_id: 1,
            message: Ok(message),
        };
        let actual = serde_json::to_string(&response).unwrap();
        differences.extend(golden::compare(&record(name, "response"), &actual).err());
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    for (name, _) in responses::all() {
        let text = recorded(name, "response");
        assert_eq!(reencoded::<Response<MuxResponse>>(&text), text);
    }
}

#[tokio::test]
async fn client_library_sends_the_recorded_bytes_with_a_length_prefix() {
    let (ours, mut theirs) = duplex(1 << 16);
    let client = MuxClient::new(Config::default(), transport::frames(ours)).spawn();
    let Some((_, MuxRequest::Hello { hello })) = requests::all().into_iter().next() else {
        panic!("hello comes first");
    };
    let context = transport::within(std::time::Duration::from_secs(30));
    let read = async {
        let length = theirs.read_u32().await.unwrap();
        let mut frame = vec![0; length as usize];
        theirs.read_exact(&mut frame).await.unwrap();
        frame
    };
    let frame = tokio::select! {
        answer = client.hello(context, hello) => panic!("nobody answers: {answer:?}"),
        frame = read => frame,
    };
    let mut sent: Value = serde_json::from_slice(&frame).unwrap();
    let envelope = &mut sent["Request"];
    // Only the time and the random ids differ from the recording.
    envelope["context"]["deadline"] = json!({ "secs": 30, "nanos": 0 });
    envelope["context"]["trace_context"]["trace_id"] = json!([0_u8; 16].as_slice());
    envelope["context"]["trace_context"]["span_id"] = json!(0);
    envelope["id"] = json!(1);
    assert_eq!(sent.to_string(), recorded("hello", "request"));
}

/// Methods with an empty answer, and `approve_project`, for which there is no project.
const NOTHING: &[&str] = &[
    "cancel_run",
    "subscribe",
    "answer",
    "approve_project",
    "retire",
    "stop",
    "end_observation",
];

/// Sends the recorded bytes and returns the answer, which a client must be able to decode.
fn replay(wire: &mut Wire, name: &str, change: impl Fn(String) -> String) -> Value {
    wire.send(change(recorded(name, "request")).as_bytes())
        .unwrap();
    let answer = String::from_utf8(wire.answer_bytes().unwrap()).unwrap();
    // This build knows all fields of the answer, and none gets lost.
    assert_eq!(
        reencoded::<Response<MuxResponse>>(&answer),
        answer,
        "{name}"
    );
    serde_json::from_str::<Value>(&answer).unwrap()["message"]["Ok"].take()
}

#[test]
fn daemon_answers_recorded_requests_in_the_recorded_format() {
    let env = TestEnv::with_fixtures(&[("fix", &["--offers"])]);
    env.result("return 1");
    let mut wire = Wire::connect(&env.dirs.socket());
    let same = |text: String| text;
    let mut run = Value::Null;
    let mut handle = requests::HANDLE.to_owned();
    for (name, _) in requests::all() {
        let answer = replay(&mut wire, name, |text| {
            // Another home has another key of names.
            let text = text.replace(requests::HANDLE, &handle);
            match run.as_str() {
                Some(run) => text.replace("\"r-1\"", &json!(run).to_string()),
                None => text,
            }
        });
        let (method, answer) = answer.as_object().unwrap().iter().next().unwrap();
        let of_record: Value =
            serde_json::from_str(&recorded(name.trim_end_matches("_typed"), "response")).unwrap();
        assert!(
            of_record["message"]["Ok"][method].is_object(),
            "{name}: {method}"
        );
        if name.starts_with("log") || name == "refresh_source" {
            // A stdio server has no login, no login is in progress, and there is no source.
            let kind = &answer["Err"]["kind"];
            assert!(
                kind == "validation" || kind == "not_found",
                "{name}: {answer}"
            );
            continue;
        }
        if ["decide", "revoke_approval"].contains(&name) {
            // There are no approvals and no grants.
            assert_eq!(answer["Err"]["kind"], "not_found", "{name}: {answer}");
            continue;
        }
        if name == "suggest_sandbox" {
            // The recorded `hello` is an agent's.
            assert_eq!(answer["Err"]["kind"], "denied", "{answer}");
            continue;
        }
        if name == "upgrade" {
            // There is no such program, and this daemon continues.
            assert_eq!(answer["Err"]["kind"], "unavailable", "{answer}");
            continue;
        }
        let answer = &answer["Ok"];
        assert!(!answer.is_null() || NOTHING.contains(&name), "{name}");
        match name {
            "start_run" => run = answer["run"].clone(),
            "events" => assert!(answer["events"][0]["event"]["started"].is_object()),
            "check" => assert_eq!(answer["errors"][0]["kind"], "syntax"),
            "runs" => assert_eq!(answer["runs"][0]["run"], run),
            "run_info" => assert_eq!(answer["detached"], true),
            "call" => assert_eq!(answer["result"]["value"]["sum"], 3.5),
            "keep" => assert_eq!(answer["preview"], "[\"kept\"]"),
            "call_typed" => assert_eq!(answer["result"]["value"]["structuredContent"]["sum"], 3),
            "call_stored" => {
                let stored = answer["result"]["stored"]["handle"].as_str().unwrap();
                assert!(stored != handle && stored.starts_with("h_"), "{stored}");
                stored.clone_into(&mut handle);
            }
            "read" => assert_eq!(answer["text"], "zabcdefghijklmnopqrstuvwxyz"),
            "search" => assert_eq!(answer["results"][0]["path"], "fix.add"),
            "describe" => assert_eq!(answer["tools"][0]["tool"]["name"], "add"),
            "inventory" => assert!(answer["total"].as_u64() > Some(20)),
            "offers" => assert_eq!(
                answer["offers"][0]["offer"]["uriTemplate"],
                "fix://text/{name}"
            ),
            "read_resource" => assert_eq!(answer["value"]["contents"][0]["uri"], "fix://text/a"),
            "get_prompt" => assert!(answer["value"]["messages"][0]["content"].is_object()),
            "complete" => assert!(answer["completion"]["values"].is_array()),
            "call_token" | "call_traced" => assert_eq!(answer["result"]["value"]["sum"], 3.5),
            "tools" => assert_eq!(answer["tools"][0]["path"], "fix.add"),
            "types" => assert!(answer.as_str().unwrap().contains("add(")),
            "servers" => assert_eq!(answer[0]["name"], "fix"),
            "explain_program" => {
                assert!(answer["source"].as_str().unwrap().contains("mux.fix.add("));
            }
            "approvals" => assert_eq!(answer["granted"], json!([])),
            "resume_run" => assert_eq!(answer["run"], run),
            "pins" => assert_eq!(answer["tools"][0]["standing"], "trusted"),
            "accept_pins" => assert_eq!(answer["tools"], 1),
            "sandbox" => assert_eq!(answer["sandbox"]["state"], "bare"),
            "suggest_sandbox" => assert_eq!(answer["server"], "fix"),
            "restart_server" => assert_eq!(answer["starts"], 2),
            "reload" => assert_eq!(answer["unchanged"], json!(["fix"])),
            "refresh" => assert_eq!(answer["unchanged"], json!(["fix"])),
            "projects" => assert_eq!(answer["projects"], json!([])),
            "policy" => assert_eq!(answer["rules"], json!([])),
            "explain_policy" => assert_eq!(answer["action"], "ask"),
            "settings" => assert_eq!(answer["settings"][0]["name"], "limits.wall"),
            "check_config" => assert_eq!(answer["problems"][0]["line"], 2),
            "revoke_project" => assert_eq!(answer["was_approved"], false),
            "set_secret" => assert_eq!(answer["place"], "file"),
            "list_secrets" => assert_eq!(answer["secrets"][0]["name"], "DOCS_TOKEN"),
            "metrics" => assert_eq!(answer["clients"], 1),
            "remove_secret" => assert_eq!(answer["was_set"], true),
            // The daemon stops reading from this connection, so the last request is not sent.
            "retire" => break,
            _ => {}
        }
    }
    assert_eq!(wire.rest(), Vec::<Value>::new());
    env.result("return 2");
    let mut wire = Wire::connect(&env.dirs.socket());
    replay(&mut wire, "hello", same);
    assert_eq!(
        replay(&mut wire, "stop", same)["Stop"],
        json!({ "Ok": null })
    );
    assert_eq!(wire.rest(), Vec::<Value>::new());
}

#[test]
fn unknown_fields_and_kinds_of_newer_builds_are_tolerated() {
    // Unknown kinds and unknown fields.
    let newer = r#"{"request_id":1,"message":{"Ok":{"Call":{"Err":{"kind":"quota","message":"no","retry_after":3}}}},"more":1}"#;
    let response: Response<MuxResponse> = serde_json::from_str(newer).unwrap();
    let Ok(MuxResponse::Call(Err(error))) = response.message else {
        panic!("{response:?}");
    };
    assert_eq!(error.kind, AnyKind::Other("quota".into()));

    let env = TestEnv::new();
    env.result("return 1");
    let mut wire = Wire::connect(&env.dirs.socket());
    let newer = json!({ "Hello": { "hello": {
        "contract": 1, "build": "9", "client": { "name": "x", "version": "9", "os": "plan9" },
        "colour": "blue",
    }, "extra": true } });
    assert!(wire.call(&newer)["message"]["Ok"]["Hello"]["Ok"].is_object());
    let run = json!({ "StartRun": { "request": { "source": "return 1", "priority": 9 } } });
    assert!(wire.call(&run)["message"]["Ok"]["StartRun"]["Ok"].is_object());
}
