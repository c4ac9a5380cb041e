//! Descriptions that change, go away and come back.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use axum::{Json, http::StatusCode, response::IntoResponse};
use mux_tests::TestEnv;
use serde_json::{Value, json};

use super::{description, home, info, site::Site};

/// The names of the source's functions as they are now.
fn functions(env: &TestEnv) -> Vec<String> {
    let listed = env.mux(["--json", "tools", "--server", "api"]).ok().json();
    let mut names: Vec<String> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort_unstable();
    names
}

/// Polls until the condition is true. Each poll is a request to the daemon, so there is no sleep.
#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
    }
    panic!("{what}: never");
}

#[test]
fn changed_file_updates_the_functions_and_an_invalid_one_does_not() {
    let site = Site::open(|_| Json(json!("here")).into_response());
    let (env, file) = home(&site.url, &[("get", "one", false)], "");
    assert_eq!(functions(&env), ["shop.one"]);
    let changed = description(&site.url, &[("get", "one", false), ("get", "two", false)]);
    fs::write(&file, changed.to_string()).unwrap();
    until("the new function is there", || functions(&env).len() == 2);
    assert_eq!(
        env.result("return await mux.call('api.shop.two', {})"),
        "here"
    );
    fs::write(&file, "{ not json").unwrap();
    until("the trouble is told", || {
        info(&env)["source"]["problem"].is_string()
    });
    assert_eq!(functions(&env).len(), 2);
    let doctor = env.mux(["doctor"]);
    assert!(
        doctor.stdout.contains("mux sources refresh api"),
        "{doctor:?}"
    );
    fs::write(
        &file,
        description(&site.url, &[("get", "three", false)]).to_string(),
    )
    .unwrap();
    until("it is good again", || functions(&env) == ["shop.three"]);
    assert_eq!(info(&env)["source"].get("problem"), None);
}

/// Serves a description, and counts the requests for it.
struct Page {
    site: Site,
    text: Arc<Mutex<String>>,
}

impl Page {
    fn open() -> Self {
        let text = Arc::<Mutex<String>>::default();
        let page = Arc::clone(&text);
        let site = Site::open(move |asked| {
            let text = page.lock().unwrap().clone();
            let etag = format!("\"{}\"", text.len());
            match asked.target.split('?').next().unwrap() {
                "/api.json" if text.is_empty() => StatusCode::BAD_GATEWAY.into_response(),
                "/api.json" if asked.known.as_ref() == Some(&etag) => {
                    StatusCode::NOT_MODIFIED.into_response()
                }
                "/api.json" => ([("etag", etag)], text).into_response(),
                _ => Json(json!("here")).into_response(),
            }
        });
        Self { site, text }
    }

    fn set(&self, operations: &[(&str, &str, bool)]) {
        *self.text.lock().unwrap() = description(&self.site.url, operations).to_string();
    }

    fn fails(&self) {
        self.text.lock().unwrap().clear();
    }

    /// The number of requests for the description, and how many of them were conditional.
    fn asked(&self) -> (usize, usize) {
        let asked = self.site.asked();
        let of_it: Vec<_> = asked
            .iter()
            .filter(|it| it.target.starts_with("/api.json"))
            .collect();
        (
            of_it.len(),
            of_it.iter().filter(|it| it.known.is_some()).count(),
        )
    }

    fn home(&self) -> TestEnv {
        let url = format!("{}/api.json?token=canary-in-query", self.site.url);
        TestEnv::with_config(&format!("[sources.api]\nopenapi = {url:?}\n"))
    }
}

#[test]
fn fetched_description_is_cached_across_restarts_and_revalidated() {
    let page = Page::open();
    page.set(&[("get", "one", false)]);
    let env = page.home();
    let call = || env.result("return await mux.call('api.shop.one', {})");
    assert_eq!(call(), "here");
    assert_eq!(page.asked(), (1, 0));
    env.mux(["restart"]).ok();
    assert_eq!(call(), "here");
    // The cached description is recent enough: there was no request.
    assert_eq!(page.asked(), (1, 0));
    let same = env.mux(["sources", "refresh", "api"]).ok().stdout;
    assert!(same.contains("is unchanged"), "{same}");
    assert_eq!(page.asked(), (2, 1));
    page.set(&[("post", "one", false), ("get", "two", false)]);
    let found = env.mux(["--json", "sources", "refresh", "api"]).ok().json();
    assert_eq!(found["added"], json!(["shop.two"]));
    assert_eq!(found["changed"], json!(["shop.one"]));
    assert_eq!(found["functions"], 2);
    assert_eq!(functions(&env), ["shop.one", "shop.two"]);
    assert!(info(&env)["source"]["fetched_ms"].is_u64());
}

#[test]
fn failed_fetch_falls_back_to_the_cached_description_or_reports_why() {
    let page = Page::open();
    let env = page.home();
    let error = env.error("return await mux.call('api.shop.one', {})");
    assert_eq!(error["kind"], "unavailable", "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("HTTP 502"),
        "{error}"
    );
    page.set(&[("get", "one", false)]);
    env.mux(["servers", "restart", "api"]).ok();
    page.fails();
    env.mux(["restart"]).ok();
    assert_eq!(
        env.result("return await mux.call('api.shop.one', {})"),
        "here"
    );
    env.mux(["sources", "refresh", "api"])
        .fails(3, &["stays as it was", "HTTP 502"]);
    let shown = info(&env);
    let warnings = Value::to_string(&shown["warnings"]);
    assert!(
        warnings.contains("ago is used") && warnings.contains("502"),
        "{shown}"
    );
    let output = format!("{shown}{}{:?}", env.log(), env.mux(["doctor"]));
    assert!(!output.contains("canary-in-query"), "{output}");
}

#[test]
fn descriptions_that_are_something_else_are_named_in_words() {
    let odd = [
        "<!doctype html><p>Sign in</p>",
        "{}",
        "[1]",
        "\"yes\"",
        "{ \"openapi\": 3 ",
        "a: [b",
        "{\"data\": {\"__schema\": {\"types\": 7}}}",
        "",
    ];
    for answer in odd {
        let site = Site::open(move |_| answer.into_response());
        for key in ["openapi", "graphql"] {
            let env = TestEnv::new();
            env.write_config(&format!("[sources.api]\n{key} = \"{}/api\"\n", site.url));
            let called = env.mux(["tools", "--server", "api"]);
            let shown = [
                format!("{}{}", called.stdout, called.stderr),
                info(&env).to_string(),
            ];
            for text in &shown {
                for word in ["expected", "invalid type", "missing field", "Some("] {
                    assert!(!text.contains(word), "{key} {answer}: {text}");
                }
            }
        }
    }
}
