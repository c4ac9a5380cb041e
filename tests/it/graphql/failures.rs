//! Errors in responses, in transit, and before a request is sent.

use serde_json::json;

use super::home;

#[test]
fn response_errors_fail_the_call_and_keep_partial_data() {
    let (env, _server) = home(&[], "");
    let error = env.error("return await mux.blog.query.broken();");
    assert_eq!(error["kind"], "tool", "{error}");
    assert_eq!(error["message"], "this part is broken (at broken.part)");
    assert_eq!(
        error["details"]["data"],
        json!({ "broken": { "whole": 1, "part": null } })
    );
    assert_eq!(
        error["details"]["errors"][0]["path"],
        json!(["broken", "part"])
    );
    let caught = env.result(
        "try { await mux.blog.mutation.rename({ input: { id: 'x' } }) }
         catch (e) { return [e.kind, e.message, e.details.data, e.details.errors.length] }",
    );
    assert_eq!(caught, json!(["tool", "there is no user x", null, 1]));
}

#[test]
fn invalid_selection_fails_before_a_request_is_sent() {
    let (env, server) = home(&[], "");
    let slip = env.mux(["call", "blog.query.user", "id=1", "$select={ nmae }"]);
    slip.fails(1, &["User has no field `nmae`; did you mean `name`?"]);
    let attack = "return await mux.blog.query.user({ id: 1, $select: '{ id } version' });";
    assert_eq!(env.error(attack)["kind"], "validation");
    let events = env.mux([
        "call",
        "blog.graphql",
        "query=subscription { renamed { id } }",
    ]);
    events.fails(1, &["subscriptions are not supported"]);
    assert_eq!(server.heard("user(id"), 0);
    assert_eq!(server.heard("subscription {"), 0);
}

#[test]
fn mutation_without_a_response_is_sent_once() {
    let (env, server) = home(&[], "retry = \"idempotent\"\n");
    let lost = env.mux(["call", "blog.mutation.vanish"]);
    lost.fails(6, &["blog.mutation.vanish"]);
    assert_eq!(server.heard("mutation vanish"), 1);
}

#[test]
fn credential_is_sent_with_every_request_and_shown_nowhere() {
    const CANARY: &str = "canary-7c1e-graphql";
    let auth = format!("auth = {{ bearer = \"{CANARY}\" }}\n");
    let (env, server) = home(&[CANARY], &auth);
    let version = env.mux(["--json", "call", "blog.query.version"]).ok();
    assert_eq!(version.json()["result"], "1.0");
    for request in server.requests() {
        assert_eq!(
            request["headers"]["authorization"],
            format!("Bearer {CANARY}")
        );
    }
    let shown = [
        env.mux(["servers"]).ok(),
        env.mux(["status"]).ok(),
        env.mux(["types", "blog"]).ok(),
        env.mux(["call", "blog.graphql", "query={ nope }"]).ok(),
    ];
    for output in shown {
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(!all.contains(CANARY), "{all}");
    }
    env.stop();
    assert!(!env.log().contains(CANARY));
}

#[test]
fn http_401_hints_at_the_auth_setting() {
    let (env, _server) = home(&["some-token-that-is-long"], "");
    let refused = env.mux(["call", "blog.query.version"]);
    refused.fails(3, &["HTTP 401", "auth = { bearer = "]);
    let (env, _server) = home(
        &[],
        "auth = { bearer = { username = \"u\", password = \"p\" } }\n",
    );
    env.mux(["call", "blog.query.version"])
        .fails(3, &["auth.bearer must be a string"]);
}
