//! `mux sources add`, `list`, `remove`.

use std::fs;

use axum::{Json, response::IntoResponse};
use mux_tests::TestEnv;
use serde_json::json;

use super::{description, site::Site};

const BEFORE: &str = "# mine\n[servers.files]\ncommand = \"x\"  # stays\n\n[limits]\nstarts = 2\n";

fn with_api(operations: &[(&str, &str, bool)]) -> (TestEnv, Site) {
    let site = Site::open(|_| Json(json!("here")).into_response());
    let env = TestEnv::with_config(BEFORE);
    fs::write(
        env.path("api.json"),
        description(&site.url, operations).to_string(),
    )
    .unwrap();
    (env, site)
}

#[test]
fn source_is_added_with_secrets_outside_the_config_and_removed_again() {
    let (env, site) = with_api(&[("get", "one", true), ("get", "two", true)]);
    let added = env.mux([
        "sources",
        "add",
        "shop",
        "--openapi",
        "api.json",
        "--auth",
        "key=canary-s3cret-key",
        "--header",
        "X-Client=mux",
        "--rate",
        "10/s",
    ]);
    let added = added.ok();
    assert!(
        added
            .stdout
            .contains("2 functions: shop.shop.one, shop.shop.two"),
        "{added:?}"
    );
    assert!(!format!("{added:?}").contains("canary"), "{added:?}");
    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    assert!(config.starts_with(BEFORE), "{config}");
    for part in [
        "[sources.shop]",
        "/api.json\"",
        "rate = \"10/s\"",
        "${MUX_SHOP_KEY}",
    ] {
        assert!(config.contains(part), "{part}: {config}");
    }
    assert!(!config.contains("canary"), "{config}");
    assert_eq!(
        env.result("return await mux.call('shop.shop.one', {})"),
        "here"
    );
    assert_eq!(site.asked()[0].key.as_deref(), Some("canary-s3cret-key"));
    let listed = env.mux(["sources"]).ok().stdout;
    for part in ["shop", "openapi", "ready", "a file"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    assert!(!listed.contains("files"), "{listed}");
    env.mux(["sources", "remove", "shop"]).ok();
    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    assert_eq!(config.trim_end(), BEFORE.trim_end());
    assert_eq!(env.mux(["--json", "sources"]).ok().json(), json!([]));
}

#[test]
fn missing_credentials_are_reported_after_a_source_is_added() {
    let (env, _site) = with_api(&[("get", "one", true)]);
    let added = env
        .mux(["sources", "add", "shop", "--openapi", "api.json"])
        .ok();
    assert!(
        format!("{added:?}").contains("no credential for `key`"),
        "{added:?}"
    );
    let replaced = env.mux([
        "--json",
        "sources",
        "add",
        "shop",
        "--openapi",
        "api.json",
        "--auth",
        "key=${KEY}",
        "--replace",
    ]);
    let replaced = replaced.ok().json();
    assert_eq!(
        (&replaced["server"], &replaced["change"]),
        (&json!("shop"), &json!("replaced"))
    );
    assert_eq!(replaced["secrets"], json!([]));
}

#[test]
fn invalid_arguments_are_refused_with_a_remedy() {
    let (env, _site) = with_api(&[]);
    for (words, parts) in [
        (&["--openapi", "none.json"][..], &["there is no file"][..]),
        (
            &["--graphql", "https://h/g", "--base-url", "https://h"],
            &["--base-url"],
        ),
        (&[], &["--openapi"]),
        (
            &["--openapi", "api.json", "--auth", "canary"],
            &["NAME=VALUE"],
        ),
        (
            &["--openapi", "api.json", "--login", "basic=canary"],
            &["SCHEME=USER:PASSWORD"],
        ),
    ] {
        let mut all = vec!["sources", "add", "shop"];
        all.extend(words);
        let output = env.mux(&all);
        assert_ne!(output.code, 0, "{words:?}");
        let said = format!("{}{}", output.stdout, output.stderr);
        for part in parts {
            assert!(said.contains(part), "{words:?}: {said}");
        }
    }
    for (name, part) in [
        ("files", "a server named `files` already exists"),
        ("a.b", "is not a valid source name"),
    ] {
        env.mux(["sources", "add", name, "--openapi", "api.json"])
            .fails(1, &[part]);
    }
    env.mux(["sources", "remove", "shop"])
        .fails(1, &["no [sources.shop]"]);
    let dry = env
        .mux([
            "sources",
            "add",
            "shop",
            "--openapi",
            "api.json",
            "--dry-run",
        ])
        .ok();
    assert!(dry.stdout.contains("+[sources.shop]"), "{dry:?}");
    assert_eq!(fs::read_to_string(env.dirs.config_file()).unwrap(), BEFORE);
    env.mux(["sources", "refresh", "files"])
        .fails(1, &["is a server, not a source"]);
}
