//! Calls of an API's functions: the requests that are sent, and the results.

use std::{fmt::Write as _, time::Duration};

use axum::{Json, http::StatusCode, response::IntoResponse};
use serde_json::json;

use super::{
    home, info,
    site::{Site, hangs_up, keeps_silent},
};

/// How long a test waits before it fails.
const HANGS: Duration = Duration::from_mins(1);

#[test]
fn call_whose_connection_breaks_is_sent_once_and_has_unknown_outcome() {
    for says in [
        &b""[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
    ] {
        let (base, count) = hangs_up(says);
        let (env, _) = home(&base, &[("post", "order", false)], "");
        let error = env.error("return await mux.call('api.shop.order', {})");
        assert_eq!(error["kind"], "unknown_outcome", "{error}");
        assert_eq!(*count.lock().unwrap(), 1);
        env.mux(["call", "api.shop.order"])
            .fails(6, &["no answer came"]);
        assert_eq!(*count.lock().unwrap(), 2);
    }
}

#[test]
fn read_only_call_is_sent_again_if_configured() {
    let (base, count) = hangs_up(b"");
    let more = "retry = \"read_only\"\n";
    let (env, _) = home(
        &base,
        &[("get", "list", false), ("post", "order", false)],
        more,
    );
    for (function, sent) in [("list", 2), ("order", 3)] {
        let error = env.error(&format!(
            "return await mux.call('api.shop.{function}', {{}})"
        ));
        assert_eq!(error["kind"], "unknown_outcome", "{error}");
        assert_eq!(*count.lock().unwrap(), sent);
    }
}

#[test]
fn cancelled_run_closes_the_connection_of_its_request() {
    let (base, output) = keeps_silent();
    let (env, _) = home(&base, &[("get", "wait", false)], "");
    let run = env.mux([
        "--json",
        "run",
        "--detach",
        "-e",
        "return await mux.call('api.shop.wait', {})",
    ]);
    let run = run.ok().json()["run"].as_str().unwrap().to_owned();
    assert_eq!(output.recv_timeout(HANGS).unwrap(), "asked");
    env.mux(["runs", "cancel", &run]).ok();
    assert_eq!(output.recv_timeout(HANGS).unwrap(), "closed");
}

#[test]
fn call_without_a_response_times_out() {
    let (base, output) = keeps_silent();
    let (env, _) = home(
        &base,
        &[("get", "wait", false)],
        "call_timeout = \"300ms\"\n",
    );
    let error = env.error("return await mux.call('api.shop.wait', {})");
    assert_eq!(error["kind"], "timeout", "{error}");
    assert_eq!(output.recv_timeout(HANGS).unwrap(), "asked");
    assert_eq!(output.recv_timeout(HANGS).unwrap(), "closed");
}

#[test]
fn errors_have_a_status_and_a_body_and_raw_results_have_headers() {
    let site = Site::open(|asked| match asked.target.as_str() {
        "/list" => ([("etag", "\"3\"")], Json(json!([1, 2]))).into_response(),
        _ => (StatusCode::CONFLICT, Json(json!({ "message": "sold out" }))).into_response(),
    });
    let (env, _) = home(
        &site.url,
        &[("get", "list", false), ("post", "order", false)],
        "",
    );
    let caught = env.result(
        "try { await mux.call('api.shop.order', {}) } catch (e) { return [e.kind, e.details.status, e.details.body.message, e.message] }",
    );
    assert_eq!(
        caught,
        json!([
            "tool",
            409,
            "sold out",
            "POST /order answered HTTP 409 Conflict: sold out"
        ])
    );
    let raw = env.result(
        "const raw = await mux.call.raw('api.shop.list', {}); return [raw._meta, raw.structuredContent]",
    );
    assert_eq!(raw[0]["status"], 200);
    assert_eq!(raw[0]["headers"]["etag"], "\"3\"");
    assert_eq!(raw[1], json!([1, 2]));
}

#[test]
fn request_refused_with_429_is_sent_again_within_the_call_timeout() {
    let tries = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let site = Site::open(move |asked| {
        let number = tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        match (asked.target.as_str(), number) {
            ("/order", 0) => {
                (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "0")]).into_response()
            }
            ("/order", _) => Json(json!("taken")).into_response(),
            _ => (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "3600")]).into_response(),
        }
    });
    let (env, _) = home(
        &site.url,
        &[("post", "order", false), ("get", "list", false)],
        "",
    );
    assert_eq!(
        env.result("return await mux.call('api.shop.order', {})"),
        "taken"
    );
    assert_eq!(site.asked().len(), 2);
    let error = env.error("return await mux.call('api.shop.list', {})");
    assert_eq!(error["details"]["status"], 429, "{error}");
    assert_eq!(site.asked().len(), 3);
}

#[test]
fn credentials_appear_only_in_requests() {
    const KEY: &str = "canary-k3y-51f0";
    let site = Site::open(|asked| {
        let key = asked.key.as_deref().unwrap_or("none");
        let tenant = asked.tenant.as_deref().unwrap_or("none");
        let said = json!({ "message": format!("your key is {key}, of tenant {tenant}") });
        match asked.target.as_str() {
            "/echo" => Json(said).into_response(),
            _ => (StatusCode::FORBIDDEN, Json(said)).into_response(),
        }
    });
    let more =
        format!("auth = {{ key = {KEY:?} }}\nheaders = {{ X-Tenant = \"canary-tenant-77\" }}\n");
    let operations = [("get", "echo", true), ("get", "refuse", true)];
    let (env, _) = home(&site.url, &operations, &more);
    let mut shown = String::new();
    for code in [
        "return await mux.call('api.shop.echo', {})",
        "return await mux.call.raw('api.shop.echo', {})",
        "return await mux.call('api.shop.refuse', {})",
        "return await mux.call.raw('api.shop.refuse', {})",
    ] {
        let output = env.mux(["--json", "run", "-e", code]);
        _ = write!(shown, "{output:?}");
    }
    for command in [
        &["--json", "sources"][..],
        &["--json", "status"],
        &["sources"],
        &["doctor"],
        &["--json", "runs"],
        &["call", "api.shop.refuse"],
        &["types", "api"],
    ] {
        _ = write!(shown, "{:?}", env.mux(command));
    }
    shown.push_str(&env.log());
    assert_eq!(site.asked()[0].key.as_deref(), Some(KEY));
    assert_eq!(site.asked()[0].tenant.as_deref(), Some("canary-tenant-77"));
    assert!(shown.contains("your key is ***, of tenant ***"), "{shown}");
    assert!(
        shown.contains("check auth.key") || shown.contains("see auth.key"),
        "{shown}"
    );
    for canary in [KEY, "canary-tenant-77"] {
        assert!(!shown.contains(canary), "{canary}");
    }
}

#[test]
fn call_without_its_credential_is_not_sent_and_the_hint_has_the_config_line() {
    let site = Site::open(|_| Json(json!(1)).into_response());
    let (env, _) = home(&site.url, &[("get", "echo", true)], "");
    let error = env.error("return await mux.call('api.shop.echo', {})");
    assert_eq!(error["kind"], "auth_required");
    assert!(
        error["hint"]
            .as_str()
            .unwrap()
            .contains("auth = { key = \"${API_KEY}\" }"),
        "{error}"
    );
    env.mux(["call", "api.shop.echo"])
        .fails(5, &["[sources.api]"]);
    assert!(site.asked().is_empty());
    assert_eq!(info(&env)["source"]["missing"], json!(["key"]));
    let doctor = env.mux(["doctor"]);
    assert!(
        doctor.stdout.contains("need a credential for `key`"),
        "{doctor:?}"
    );
}
