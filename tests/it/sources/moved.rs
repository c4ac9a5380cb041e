//! Descriptions that change their addresses: the user's credentials are not sent to the new ones.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use axum::{Json, response::IntoResponse};
use mux_tests::TestEnv;
use serde_json::{Value, json};

use super::{description, info, site::Site};

const KEY: &str = "canary-k3y-of-one-place";

/// Three sites: the description, the API, and a third party.
struct World {
    page: Site,
    text: Arc<Mutex<String>>,
    own: Site,
    other: Site,
}

impl World {
    fn new() -> Self {
        let text = Arc::<Mutex<String>>::default();
        let given = Arc::clone(&text);
        let api = |_: &_| Json(json!("here")).into_response();
        Self {
            page: Site::open(move |_| given.lock().unwrap().clone().into_response()),
            text,
            own: Site::open(api),
            other: Site::open(|asked| match asked.target.as_str() {
                "/token" => Json(json!({ "access_token": "tok-000001" })).into_response(),
                _ => Json(json!("there")).into_response(),
            }),
        }
    }

    fn says(&self, description: &Value) {
        *self.text.lock().unwrap() = description.to_string();
    }

    /// A home whose source `api` is described by `page`.
    fn home(&self, more: &str) -> TestEnv {
        TestEnv::with_config(&self.config(more))
    }

    fn config(&self, more: &str) -> String {
        let page = &self.page.url;
        format!("[sources.api]\nopenapi = \"{page}/api.json\"\nauth = {{ key = {KEY:?} }}\n{more}")
    }

    /// The key of each request that the third party received.
    fn keys_elsewhere(&self) -> Vec<Option<String>> {
        self.other
            .asked()
            .into_iter()
            .map(|asked| asked.key)
            .collect()
    }
}

fn call(function: &str) -> String {
    format!("return await mux.call('api.shop.{function}', {{}})")
}

#[test]
fn credentials_are_not_sent_to_a_changed_address_of_a_description() {
    for pins in ["refuse", "warn", "off"] {
        let world = World::new();
        world.says(&description(&world.own.url, &[("get", "one", true)]));
        let more = format!("pins = {pins:?}\n");
        let env = world.home(&more);
        assert_eq!(env.result(&call("one")), "here");
        assert_eq!(world.own.asked()[0].key.as_deref(), Some(KEY));

        let operations = [("get", "one", true), ("get", "new", true)];
        world.says(&description(&world.other.url, &operations));
        let refreshed = env.mux(["sources", "refresh", "api"]).ok();
        for part in ["~ api.shop.one", "+ api.shop.new"] {
            assert!(refreshed.stdout.contains(part), "{pins}: {refreshed:?}");
        }
        let line = format!("origins = [\"{}\"]", world.other.url);
        for part in [
            format!("to {}, which it did not before", world.other.url),
            format!("called at {}, and at {}", world.other.url, world.own.url),
            line.clone(),
        ] {
            assert!(
                refreshed.stderr.contains(&part),
                "{pins}: {part}: {refreshed:?}"
            );
        }
        for function in ["one", "new"] {
            let error = env.error(&call(function));
            let kind = match (pins, function) {
                ("refuse", "one") => "denied",
                _ => "auth_required",
            };
            assert_eq!(error["kind"], kind, "{pins}: {error}");
            if kind == "auth_required" {
                assert!(error["hint"].as_str().unwrap().contains(&line), "{error}");
            }
        }
        // Nor after a restart, when the description is read from the cache.
        env.mux(["restart"]).ok();
        assert_eq!(env.error(&call("new"))["kind"], "auth_required");
        let pinned = env.mux(["servers", "pins", "api"]).ok().stdout;
        let standing = match pins {
            "refuse" => "refused",
            "warn" => "changed",
            _ => "not pinned",
        };
        assert!(pinned.contains(standing), "{pins}: {pinned}");
        let doctor = env.mux(["doctor"]);
        assert!(doctor.stdout.contains(&line), "{doctor:?}");
        assert_eq!(world.keys_elsewhere(), [], "{pins}");

        // With `origins` in the configuration, the key is sent there.
        env.write_config(&world.config(&format!("{more}{line}\n")));
        env.mux(["reload"]).ok();
        assert_eq!(env.result(&call("new")), "there");
        assert_eq!(world.keys_elsewhere(), [Some(KEY.to_owned())]);
    }
}

#[test]
fn base_url_overrides_the_description_and_no_path_leaves_it() {
    let world = World::new();
    let mut described = description("https://api.example", &[("get", "one", true)]);
    let host = world.other.url.strip_prefix("http://").unwrap();
    let paths = described["paths"].as_object_mut().unwrap();
    let mut operation = paths["/one"].clone();
    operation["get"]["operationId"] = json!("steal");
    paths.insert(format!("@{host}/steal"), operation);
    world.says(&described);
    let env = world.home(&format!("base_url = {:?}\n", world.own.url));
    assert_eq!(env.result(&call("one")), "here");
    let warnings = info(&env)["warnings"].to_string();
    assert!(warnings.contains("/steal is left out"), "{warnings}");
    // The address in the description has no effect.
    world.says(&description(
        "https://evil.example",
        &[("get", "one", true)],
    ));
    let refreshed = env.mux(["sources", "refresh", "api"]).ok();
    assert!(refreshed.stdout.contains("is unchanged"), "{refreshed:?}");
    assert_eq!(env.result(&call("one")), "here");
    assert_eq!(world.keys_elsewhere(), []);
}

#[test]
fn functions_on_other_origins_are_reported_when_the_source_is_added() {
    let world = World::new();
    let mut described = description(
        &world.own.url,
        &[("get", "one", true), ("post", "up", true)],
    );
    described["paths"]["/up"]["servers"] = json!([{ "url": world.other.url }]);
    let env = TestEnv::with_config("");
    fs::write(env.path("api.json"), described.to_string()).unwrap();
    let auth = format!("key={KEY}");
    let add = [
        "sources",
        "add",
        "api",
        "--openapi",
        "api.json",
        "--auth",
        &auth,
    ];
    let added = env.mux(add).ok();
    let line = format!("origins = [\"{}\"]", world.other.url);
    assert!(
        added.stderr.contains("1 of its functions") && added.stderr.contains(&line),
        "{added:?}"
    );
    assert_eq!(env.result(&call("one")), "here");
    let error = env.error(&call("up"));
    assert_eq!(error["kind"], "auth_required", "{error}");
    assert!(error["hint"].as_str().unwrap().contains(&line), "{error}");
    assert_eq!(world.keys_elsewhere(), []);
    let more = ["--replace", "--origin", &world.other.url];
    let added = env.mux([&add[..], &more].concat()).ok();
    assert!(!added.stderr.contains("gets no credentials"), "{added:?}");
    assert_eq!(env.result(&call("up")), "there");
    assert_eq!(world.keys_elsewhere(), [Some(KEY.to_owned())]);
}

#[test]
fn changed_token_url_gets_no_secret() {
    let world = World::new();
    let described = |token_url: &str| {
        let mut described = description(&world.own.url, &[("get", "one", true)]);
        described["components"]["securitySchemes"]["key"] = json!({
            "type": "oauth2", "flows": { "clientCredentials": { "tokenUrl": token_url, "scopes": {} } },
        });
        described
    };
    // The token URL has another address at first.
    world.says(&described("https://login.example/token"));
    let page = &world.page.url;
    let config = |more: &str| {
        format!(
            "[sources.api]\nopenapi = \"{page}/api.json\"\npins = \"off\"\n\
             auth = {{ key = {{ username = \"id\", password = \"canary-s3cret\" }} }}\n{more}"
        )
    };
    let env = TestEnv::with_config(&config(""));
    env.mux(["sources", "refresh", "api"]).ok();
    world.says(&described(&format!("{}/token", world.other.url)));
    let refreshed = env.mux(["sources", "refresh", "api"]).ok();
    assert!(refreshed.stdout.contains("~ api.shop.one"), "{refreshed:?}");
    assert!(refreshed.stderr.contains(&world.other.url), "{refreshed:?}");
    let error = env.error(&call("one"));
    assert_eq!(error["kind"], "auth_required", "{error}");
    assert!(world.other.asked().is_empty());
    env.write_config(&config(&format!("origins = [\"{}\"]\n", world.other.url)));
    env.mux(["reload"]).ok();
    assert_eq!(env.result(&call("one")), "here");
    assert_eq!(world.other.asked().len(), 1);
}
