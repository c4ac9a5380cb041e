//! Clients that violate the protocol.

use mux_proto::transport::MAX_FRAME;
use mux_tests::{
    Canary, TestEnv,
    frames::{self, Silence, Wire},
};
use serde_json::{Value, json};

use super::unharmed;

/// A home with a running daemon, and the daemon's pid.
pub(super) fn serving() -> (TestEnv, Option<i32>) {
    let env = TestEnv::new();
    env.result("return 1");
    let daemon = env.daemon();
    (env, daemon)
}

#[test]
fn requests_before_hello_are_refused() {
    let (env, daemon) = serving();
    for message in [
        json!({ "Status": {} }),
        json!({ "Servers": {} }),
        json!({ "Retire": { "reason": "x" } }),
        json!({ "Stop": { "request": { "now": true } } }),
        json!({ "StartRun": { "request": { "source": "return 1" } } }),
        json!({ "Check": { "request": { "source": "return 1" } } }),
        json!({ "Call": { "request": { "path": "a.b" } } }),
        json!({ "Events": { "request": { "run": "x", "after": 0, "wait_ms": 0 } } }),
        json!({ "Runs": { "request": {} } }),
        json!({ "RunInfo": { "run": "x" } }),
        json!({ "Read": { "request": { "handle": "x" } } }),
    ] {
        let mut wire = Wire::connect(&env.dirs.socket());
        let answer = wire.call(&message);
        let (_, answer) = answer["message"]["Ok"]
            .as_object()
            .unwrap()
            .iter()
            .next()
            .unwrap();
        let said = answer["Err"]["message"].as_str().unwrap();
        assert!(said.contains("`hello` comes first"), "{message}: {answer}");
        // `hello` is still accepted.
        assert!(wire.call(&frames::hello(1))["message"]["Ok"]["Hello"]["Ok"].is_object());
    }
    unharmed(&env, daemon);
}

#[test]
fn malformed_frames_close_only_their_connection() {
    let (env, daemon) = serving();
    let huge = {
        let mut text = format!("{:?}", "x".repeat(MAX_FRAME - 3));
        text.truncate(MAX_FRAME - 1);
        text.into_bytes()
    };
    let nested = format!("{}{}", "[".repeat(5000), "]".repeat(5000)).into_bytes();
    let length = |length: u32| length.to_be_bytes().to_vec();
    let framed =
        |frame: &[u8]| [&u32::try_from(frame.len()).unwrap().to_be_bytes(), frame].concat();
    let unknown = frames::request(2, &json!({ "Frobnicate": {} })).to_string();
    let variant =
        frames::request(2, &json!({ "Stop": { "request": { "now": "perhaps" } } })).to_string();
    let method = frames::request(2, &json!("Status")).to_string();
    let array =
        json!({ "Request": [{ "deadline": { "secs": 1, "nanos": 0 } }, 2, {}] }).to_string();
    for (what, bytes) in [
        ("an empty frame", length(0)),
        ("2^32-1", length(u32::MAX)),
        (
            "the cap and one",
            length(u32::try_from(MAX_FRAME).unwrap() + 1),
        ),
        ("a long string", framed(&huge)),
        ("no JSON", framed(b"\0\x01\x02")),
        ("no UTF-8", framed(b"{\"Request\": \"\xff\xfe\"}")),
        ("half a JSON", framed(b"{\"Request\":{\"context\":{")),
        ("an empty object", framed(b"{}")),
        ("null", framed(b"null")),
        ("deep JSON", framed(&nested)),
        ("an unknown method", framed(unknown.as_bytes())),
        ("an unknown value", framed(variant.as_bytes())),
        ("a method without arguments", framed(method.as_bytes())),
        ("an envelope as a list", framed(array.as_bytes())),
        (
            "HTTP",
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        ),
    ] {
        for greeted in [false, true] {
            let mut wire = if greeted {
                Wire::greeted(&env.dirs.socket())
            } else {
                Wire::connect(&env.dirs.socket())
            };
            // The connection may be closed before all bytes are written.
            drop(wire.send_bytes(&bytes));
            assert_eq!(wire.answer(), Err(Silence::Closed), "{what}");
        }
    }
    unharmed(&env, daemon);
}

/// A request of the maximum length is decoded off the runtime, and takes about as much memory as its text.
#[test]
fn requests_of_maximum_length_do_not_block_others_and_take_little_memory() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]).watching_polls();
    env.result("return await mux.fix.echo({ text: 'x' })");
    let canary = Canary::of(env.daemon().unwrap());
    let metrics = || env.mux(["metrics"]).ok().stdout;
    let call = |arguments: Value| json!({ "Call": { "request": { "path": "fix.zzz", "arguments": arguments } } });
    let room = MAX_FRAME - 1000;
    let mut wire = Wire::greeted(&env.dirs.socket());
    for (case, message, refusal) in [
        (
            "values",
            call(vec![1; room / 2].into()),
            "more than 1000000 JSON values",
        ),
        (
            "objects",
            call(vec![json!({}); room / 3].into()),
            "more than 1000000 JSON values",
        ),
        ("text", call(json!({ "text": "x".repeat(room) })), "zzz"),
    ] {
        canary.begin(&metrics());
        let answer = wire.call(&message);
        assert!(
            answer["message"].to_string().contains(refusal),
            "{case}: {answer}"
        );
        canary
            .end(&format!("a request of {case}"), &metrics())
            .unwrap();
    }
    let daemon = env.daemon();
    unharmed(&env, daemon);
}

#[test]
fn deadlines_out_of_range_close_only_their_connection() {
    let (env, daemon) = serving();
    for (secs, nanos) in [
        (u64::MAX, 0),
        (1 << 62, 0),
        (1 << 40, 0),
        (86_401, 0),
        (u64::MAX, u32::MAX),
    ] {
        let mut wire = Wire::greeted(&env.dirs.socket());
        let mut request = frames::request(2, &json!({ "Status": {} }));
        request["Request"]["context"]["deadline"] = json!({ "secs": secs, "nanos": nanos });
        wire.send(request.to_string().as_bytes()).unwrap();
        assert_eq!(wire.answer(), Err(Silence::Closed), "{secs} s");
    }
    // The longest allowed deadline, no deadline, and a deadline that expires immediately.
    for (deadline, answered) in [
        (json!({ "secs": 86_400, "nanos": 0 }), true),
        (Value::Null, true),
        (json!({ "secs": 0, "nanos": 0 }), false),
    ] {
        let mut wire = Wire::greeted(&env.dirs.socket());
        let mut request = frames::request(2, &json!({ "Servers": {} }));
        let context = request["Request"]["context"].as_object_mut().unwrap();
        context.remove("deadline");
        if !deadline.is_null() {
            context.insert("deadline".into(), deadline.clone());
        }
        wire.send(request.to_string().as_bytes()).unwrap();
        if answered {
            assert!(
                wire.answer().unwrap()["message"]["Ok"]["Servers"]["Ok"].is_array(),
                "{deadline}"
            );
        }
        drop(wire);
    }
    unharmed(&env, daemon);
}

#[test]
fn truncated_frame_is_not_executed() {
    let (env, daemon) = serving();
    let stop = frames::request(2, &json!({ "Stop": { "request": { "now": true } } })).to_string();
    let whole = [
        &u32::try_from(stop.len()).unwrap().to_be_bytes(),
        stop.as_bytes(),
    ]
    .concat();
    for cut in 0..whole.len() {
        let mut wire = Wire::greeted(&env.dirs.socket());
        wire.send_bytes(&whole[..cut]).unwrap();
        wire.finish();
        assert_eq!(wire.answer(), Err(Silence::Closed), "cut at {cut}");
    }
    unharmed(&env, daemon);
}

#[test]
fn duplicate_ids_and_cancellations_of_unknown_requests_are_ignored() {
    let (env, daemon) = serving();
    let mut wire = Wire::greeted(&env.dirs.socket());
    let wait = json!({ "Events": { "request": { "run": "none", "after": 0, "wait_ms": 1000 } } });
    let cancel = |id: u64| json!({ "Cancel": { "request_id": id } }).to_string();
    for id in [7, 7, 7] {
        wire.send(frames::request(id, &wait).to_string().as_bytes())
            .unwrap();
        wire.send(cancel(id + 1000).as_bytes()).unwrap();
    }
    wire.send(cancel(u64::MAX).as_bytes()).unwrap();
    wire.send(
        frames::request(8, &json!({ "Servers": {} }))
            .to_string()
            .as_bytes(),
    )
    .unwrap();
    let mut ids = Vec::new();
    while ids.last() != Some(&json!(8)) {
        ids.push(wire.answer().unwrap()["request_id"].clone());
    }
    assert!(
        ids.iter().all(|id| [7, 8].contains(&id.as_u64().unwrap())),
        "{ids:?}"
    );
    unharmed(&env, daemon);
}
