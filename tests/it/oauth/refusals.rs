//! Cases that must not end in a login, each with the reason that the user gets.

use std::{fs, os::unix::fs::PermissionsExt};

use mux_proto::Kind;
use mux_tests::{
    Authority, TestEnv,
    authority::{Oddity, Rules},
};

use super::{begin, client, follow, home, outcome, signed_in};

type Change = Box<dyn Fn(&mut Rules)>;

#[tokio::test]
async fn oauth_untrusted_metadata_stops_the_login() {
    let cases: Vec<(&str, Change)> = vec![
        (
            "issuer mismatch",
            Box::new(|rules| rules.issuer = Some("https://issuer.test".into())),
        ),
        (
            "PKCE with S256",
            Box::new(|rules| rules.challenge_methods = Some(vec!["plain"])),
        ),
        (
            "PKCE with S256",
            Box::new(|rules| rules.challenge_methods = None),
        ),
        (
            "does not support dynamic client registration",
            Box::new(|rules| rules.registration = false),
        ),
        (
            "10.1.2.3",
            Box::new(|rules| rules.authority_at = Some("http://10.1.2.3:9".into())),
        ),
        (
            "link-local",
            Box::new(|rules| rules.token_endpoint = Some("http://169.254.169.254/token".into())),
        ),
        (
            "private network",
            Box::new(|rules| rules.token_endpoint = Some("http://10.1.2.3/token".into())),
        ),
        (
            "is not https",
            Box::new(|rules| rules.token_endpoint = Some("ftp://127.0.0.1/token".into())),
        ),
    ];
    for (part, change) in cases {
        let authority = Authority::default();
        authority.change(|rules| change(rules));
        let env = home(&authority, "");
        let error = begin(&client(&env).await).await.unwrap_err();
        assert!(error.message.contains(part), "{part}: {error:?}");
        assert!(error.hint.is_some(), "{error:?}");
        assert_eq!(authority.count("register"), 0, "{part}");
        assert!(!env.dirs.credentials().exists(), "{part}");
    }
}

#[tokio::test]
async fn oauth_response_of_another_issuer_or_denial_gives_no_token() {
    let cases: Vec<(&str, Kind, Change)> = vec![
        (
            "issuer mismatch",
            Kind::Unavailable,
            Box::new(|rules| rules.iss = Some("https://issuer.test".into())),
        ),
        (
            "access_denied",
            Kind::Denied,
            Box::new(|rules| rules.denies = true),
        ),
    ];
    for (part, kind, change) in cases {
        let authority = Authority::default();
        authority.change(|rules| change(rules));
        let env = home(&authority, "");
        let session = client(&env).await;
        let started = begin(&session).await.unwrap();
        let (_, page) = follow(&started.url).await;
        assert!(page.status == 400 && page.text.contains(part), "{page:?}");
        let error = outcome(&session, &started.login).await.unwrap_err();
        assert!(error.message.contains(part), "{part}: {error:?}");
        if part == "issuer mismatch" {
            // The rule that the issuer breaks, for its operator.
            assert!(format!("{error:?}").contains("9207"), "{error:?}");
        }
        assert_eq!(error.kind, kind);
        assert_eq!(authority.count("code"), 0, "{part}");
        assert!(!env.dirs.credentials().exists(), "{part}");
    }
}

#[test]
fn oauth_login_fails_for_servers_without_oauth() {
    let authority = Authority::default();
    let env = TestEnv::new();
    let mut config = env.fixture("fix", &[]);
    config += &authority.server("off", "oauth = false");
    config += &authority.server("own", "headers = { Authorization = \"Bearer mine\" }");
    env.write_config(&config);
    let login = |name: &str| env.mux(["servers", "login", name, "--no-browser"]);
    login("fix").fails(1, &["needs no login"]);
    login("off").fails(1, &["oauth = false"]);
    login("own").fails(1, &["Authorization header"]);
    login("none").fails(1, &["there is no server `none`"]);
    env.mux(["call", "off.echo", "text=x"]).fails(5, &["off"]);
    assert_eq!(authority.count("register"), 0);
}

#[test]
fn oauth_credentials_readable_by_others_are_not_used() {
    let authority = Authority::default();
    let env = home(&authority, "");
    signed_in(&env);
    env.stop();
    fs::set_permissions(env.dirs.credentials(), fs::Permissions::from_mode(0o644)).unwrap();
    env.mux(["call", "docs.echo", "text=x"])
        .fails(5, &["auth_required", "chmod 600"]);
    env.mux(["doctor"])
        .fails(1, &["credentials.json", "chmod 600"]);
    env.mux(["servers", "login", "docs", "--no-browser"])
        .fails(3, &["chmod 600"]);
    fs::set_permissions(env.dirs.credentials(), fs::Permissions::from_mode(0o600)).unwrap();
    env.mux(["call", "docs.echo", "text=x"]).ok();
}

/// Parts of messages of JSON parsers and of Rust's types.
pub(super) const PARSER_WORDS: &[&str] = &[
    "at line",
    "expected",
    "invalid type",
    "missing field",
    "Some(",
    "parse server response",
    "decoding",
];

#[tokio::test]
async fn oauth_answers_of_other_services_are_named_in_words() {
    for endpoint in ["metadata", "register", "token"] {
        for odd in [
            "<!doctype html><p>Sign in</p>",
            "{}",
            "{\"client_id\": 7}",
            "",
        ] {
            let authority = Authority::default();
            authority.change(|rules| rules.oddities = vec![Oddity::page(endpoint, 200, odd)]);
            let env = home(&authority, "");
            let session = client(&env).await;
            let error = match begin(&session).await {
                Err(error) => error,
                Ok(started) => {
                    let (_, page) = follow(&started.url).await;
                    for word in PARSER_WORDS {
                        assert!(!page.text.contains(word), "{endpoint} {odd}: {page:?}");
                    }
                    outcome(&session, &started.login).await.unwrap_err()
                }
            };
            let shown = format!("{} {:?}", error.message, error.hint);
            for word in PARSER_WORDS {
                assert!(!error.message.contains(word), "{endpoint} {odd}: {shown}");
            }
            assert_ne!(error.kind, Kind::Denied, "{endpoint} {odd}: {shown}");
        }
    }
}
