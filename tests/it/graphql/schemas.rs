//! Sources of a schema: introspection of a new or old endpoint, or a file.

use std::fs;

use mux_tests::{GraphqlServer, TestEnv, graphql};

use super::home;

#[test]
fn endpoint_without_introspection_works_with_a_schema_file() {
    let (env, server) = home(&["closed"], "");
    let refused = env.mux(["call", "blog.query.version"]);
    refused.fails(
        3,
        &["not disclose its schema", "schema = \"schema.graphql\""],
    );
    let asked = server.heard("__schema");
    let entry = server.source(&format!("schema = {:?}\n", graphql::schema()));
    env.write_config(&entry);
    env.mux(["reload"]).ok();
    let version = env.mux(["--json", "call", "blog.query.version"]).ok();
    assert_eq!(version.json()["result"], "1.0");
    assert_eq!(server.heard("__schema"), asked);
}

#[test]
fn old_endpoint_is_introspected_with_fallback_and_gives_the_same_functions() {
    let types = |options: &[&str], more: &str| {
        let (env, server) = home(options, more);
        env.mux(["call", "blog.query.version"]).ok();
        (
            env.mux(["types", "blog"]).ok().stdout,
            server.heard("__schema"),
        )
    };
    let (young, one) = types(&[], "");
    let (old, three) = types(&["old"], "");
    assert_eq!((one, three), (1, 3));
    assert_eq!(young, old);
    let (written, none) = types(&[], &format!("schema = {:?}\n", graphql::schema()));
    assert_eq!(none, 0);
    assert_eq!(young, written);
    for part in [
        "One user, if there is one.",
        "'ADMIN'",
        "Deprecated: use version",
        "Selects `{ id name role joined best { id title role } }`",
    ] {
        assert!(
            young.replace('"', "'").contains(part),
            "no {part} in {young}"
        );
    }
}

#[test]
fn schema_file_error_has_a_position() {
    let env = TestEnv::new();
    let file = env.path("s.graphql");
    fs::write(&file, "type Query {\n  a: Nope\n}\n").unwrap();
    env.write_config("[sources.api]\ngraphql = \"http://127.0.0.1:9/\"\nschema = \"s.graphql\"\n");
    let entry = format!("[sources.api]\ngraphql = \"http://127.0.0.1:9/\"\nschema = {file:?}\n");
    env.write_config(&entry);
    env.mux(["call", "api.query.a"])
        .fails(3, &["s.graphql:2:6: ", "Nope"]);
}

#[test]
fn introspection_result_is_cached_across_restarts() {
    let (env, server) = home(&[], "");
    env.mux(["call", "blog.query.version"]).ok();
    env.stop();
    env.mux(["call", "blog.query.version"]).ok();
    assert_eq!(server.heard("__schema"), 1);
    assert_eq!(server.heard("version { version }"), 2);
}

#[test]
fn source_is_added_listed_and_refreshed_by_commands() {
    const TOKEN: &str = "a-token-of-some-length";
    let env = TestEnv::new();
    let server = GraphqlServer::start(&env, &[TOKEN]);
    let auth = format!("bearer={TOKEN}");
    let added = [
        "sources",
        "add",
        "blog",
        "--graphql",
        &server.url,
        "--auth",
        &auth,
    ];
    env.mux(added).ok();
    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    assert!(
        config.contains("bearer") && !config.contains(TOKEN),
        "{config}"
    );
    let listed = env.mux(["sources"]).ok().stdout;
    for part in ["blog", "subscriptions are not offered (1)"] {
        assert!(listed.contains(part), "no {part:?} in {listed}");
    }
    let asked = server.heard("__schema");
    env.mux(["sources", "refresh", "blog"]).ok();
    assert_eq!(server.heard("__schema"), asked + 1);
}
