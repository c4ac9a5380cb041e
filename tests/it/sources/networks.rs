//! Where functions are called without credentials: at origins that the description named when it was first read, in its
//! own class of network, and at origins of the entry.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use axum::{Json, response::IntoResponse};
use mux_tests::{TestEnv, proxy::Proxy};
use serde_json::{Value, json};

use super::{description, info, site::Site};

/// A site that serves a description, and the description, which the test may change.
fn page() -> (Site, Arc<Mutex<Value>>) {
    let text = Arc::<Mutex<Value>>::default();
    let given = Arc::clone(&text);
    let page = Site::open(move |_| given.lock().unwrap().to_string().into_response());
    (page, text)
}

fn api(says: &'static str) -> Site {
    Site::open(move |_| Json(json!(says)).into_response())
}

fn call(function: &str) -> String {
    format!("return await mux.call('pub.shop.{function}', {{}})")
}

/// A description with a second function, `meta`, which has its own server.
fn with_meta(base: &str, server: &str) -> Value {
    let mut described = description(base, &[("get", "one", false), ("get", "meta", false)]);
    described["paths"]["/meta"]["servers"] = json!([{ "url": server }]);
    described
}

#[test]
fn function_added_on_another_origin_is_denied_until_the_entry_names_it() {
    let (page, text) = page();
    let own = api("here");
    let internal = api("internal");
    *text.lock().unwrap() = description(&own.url, &[("get", "one", false)]);
    let config = |more: &str| format!("[sources.pub]\nopenapi = \"{}/api.json\"\n{more}", page.url);
    let env = TestEnv::with_config(&config("refresh = \"1s\"\n"));
    assert_eq!(env.result(&call("one")), "here");

    // The next scheduled refresh logs the change.
    *text.lock().unwrap() = with_meta(&own.url, &internal.url);
    env.until_logged("description names a new origin for calls or tokens");
    let line = format!("origins = [\"{}\"]", internal.url);
    let refused = |env: &TestEnv| {
        let error = env.error(&call("meta"));
        assert_eq!(error["kind"], "denied", "{error}");
        let said = error["message"].as_str().unwrap();
        assert!(
            said.contains("did not name when it was first read"),
            "{error}"
        );
        assert!(error["hint"].as_str().unwrap().contains(&line), "{error}");
        assert_eq!(env.result(&call("one")), "here");
    };
    refused(&env);
    let listed = env.mux(["tools"]).ok();
    let meta = listed.stdout.lines().find(|line| line.contains("meta"));
    assert!(meta.unwrap().contains("not callable"), "{listed:?}");
    assert!(
        listed
            .stderr
            .contains("1 of its functions cannot be called"),
        "{listed:?}"
    );
    for command in ["sources", "doctor"] {
        let shown = env.mux([command]);
        let all = format!("{}{}", shown.stdout, shown.stderr);
        let words = all.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("1 of its functions cannot be called"),
            "{command}: {all}"
        );
        assert!(words.contains(&line), "{command}: {all}");
    }
    // Nor after a restart, when the description is read from the cache.
    env.mux(["restart"]).ok();
    refused(&env);
    assert_eq!(internal.asked().len(), 0);

    env.write_config(&config(&line));
    env.mux(["reload"]).ok();
    assert_eq!(env.result(&call("meta")), "internal");
    assert_eq!(internal.asked().len(), 1);
}

#[test]
fn description_in_a_file_may_name_loopback_but_no_link_local_addresses() {
    let own = api("here");
    let other = api("there");
    let file = |server: &str| with_meta(&own.url, server).to_string();
    let env = TestEnv::new();
    let path = env.path("api.json");
    fs::write(&path, file(&other.url)).unwrap();
    env.write_config(&format!("[sources.pub]\nopenapi = {path:?}\n"));
    assert_eq!(env.result(&call("one")), "here");
    assert_eq!(env.result(&call("meta")), "there");

    let env = TestEnv::new();
    let path = env.path("api.json");
    fs::write(&path, file("http://169.254.169.254")).unwrap();
    // `origins` does not allow it either.
    env.write_config(&format!(
        "[sources.pub]\nopenapi = {path:?}\norigins = [\"http://169.254.169.254\"]\n"
    ));
    assert_eq!(env.result(&call("one")), "here");
    let error = env.error(&call("meta"));
    assert_eq!(error["kind"], "denied", "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("link-local"),
        "{error}"
    );
}

#[test]
fn public_description_may_not_name_loopback_even_when_first_read() {
    let (page, text) = page();
    let own = api("here");
    let internal = api("internal");
    *text.lock().unwrap() = with_meta("http://api.example", &internal.url);
    // These hosts are reachable only through the proxy, which resolves their names.
    let pages = [page.url.clone(), own.url.clone()].map(|url| url.replace("http://", ""));
    let routes = pages.join("\n");
    let proxy = Proxy::routed(move |host| {
        let mut routes = routes.lines();
        let page = routes.next().unwrap();
        let own = routes.next().unwrap();
        match host {
            "docs.example" => page.to_owned(),
            "api.example" => own.to_owned(),
            other => other.to_owned(),
        }
    });
    let config =
        |more: &str| format!("[sources.pub]\nopenapi = \"http://docs.example/api.json\"\n{more}");
    let env = TestEnv::with_config(&config(""));
    env.dirs.prepare().unwrap();
    let lines = format!(
        "HTTP_PROXY=http://127.0.0.1:{}\nNO_PROXY=127.0.0.1\n",
        proxy.port
    );
    fs::write(env.dirs.env_file(), lines).unwrap();
    assert_eq!(env.result(&call("one")), "here");
    let error = env.error(&call("meta"));
    assert_eq!(error["kind"], "denied", "{error}");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("leads to this machine"),
        "{error}"
    );
    let notes = info(&env)["source"]["notes"].to_string();
    let line = format!("origins = [\\\"{}\\\"]", internal.url);
    assert!(notes.contains(&line), "{notes}");
    assert_eq!(internal.asked().len(), 0);
    env.write_config(&config(&format!("origins = [\"{}\"]\n", internal.url)));
    env.mux(["reload"]).ok();
    assert_eq!(env.result(&call("meta")), "internal");
}
