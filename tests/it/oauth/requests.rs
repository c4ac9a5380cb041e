//! Authorization requests: their parameters, and the outcome when the issuer does not accept them.
//!
//! muxd fetches the page before a browser does. An issuer's error message therefore reaches the user.

use mux_proto::Kind;
use mux_tests::{
    Authority,
    authority::{Oddity, Rejection, Rules},
};

use super::{begin, client, follow, home, notes, outcome, runtime, sign_in, values};

const ECHO: [&str; 3] = ["call", "docs.echo", "text=hello"];
const REJECTIONS: [Rejection; 5] = [
    Rejection::Redirect,
    Rejection::Page(400),
    Rejection::Page(404),
    Rejection::Page(422),
    Rejection::ErrorPage,
];

/// Signs in, and returns the URL for the browser.
async fn url_of_login(authority: &Authority, more: &str) -> String {
    let env = home(authority, more);
    let session = client(&env).await;
    let started = begin(&session).await.unwrap();
    let (_, page) = follow(&started.url).await;
    assert_eq!(page.status, 200, "{page:?}");
    let state = outcome(&session, &started.login).await.unwrap();
    assert_eq!(state.problem, None);
    authority.expire();
    env.mux(ECHO).ok();
    assert_eq!(authority.complaints(), Vec::<String>::new());
    started.url
}

#[tokio::test]
async fn oauth_prompt_that_the_issuer_rejects_is_dropped() {
    for rejection in REJECTIONS {
        let authority = Authority::start(Rules {
            prompts: Some(vec!["consent", "login"]),
            rejection,
            ..Rules::default()
        });
        let url = url_of_login(&authority, "account = \"work\"").await;
        assert_eq!(
            values(&url, "prompt"),
            Vec::<String>::new(),
            "{rejection:?}"
        );
        assert_eq!(authority.count("register"), 1, "{rejection:?}");
    }
}

#[tokio::test]
async fn oauth_dropped_prompt_is_said() {
    let authority = Authority::start(Rules {
        prompts: Some(vec![]),
        ..Rules::default()
    });
    let env = home(&authority, "account = \"work\"");
    let started = begin(&client(&env).await).await.unwrap();
    assert!(notes(&started).contains("which user"), "{started:?}");
}

#[tokio::test]
async fn oauth_prompt_has_only_values_that_the_metadata_lists() {
    for (listed, asked) in [
        (vec!["select_account", "consent"], vec!["select_account"]),
        (vec!["login", "consent"], vec![]),
        (vec!["none"], vec![]),
    ] {
        let authority = Authority::start(Rules {
            prompts: Some(listed.clone()),
            prompts_listed: true,
            ..Rules::default()
        });
        let url = url_of_login(&authority, "account = \"ada@example.com\"").await;
        assert_eq!(values(&url, "prompt"), asked, "{listed:?}");
        assert_eq!(values(&url, "login_hint"), ["ada@example.com"]);
        // Some issuers refuse a prompt that they list.
        assert_eq!(authority.count("look"), asked.len(), "{listed:?}");
    }
}

#[tokio::test]
async fn oauth_client_that_the_issuer_never_knew_ends_the_login_although_no_browser_returns() {
    let authority = Authority::default();
    let env = home(&authority, "oauth = { client_id = \"nobody\" }");
    let session = client(&env).await;
    let started = begin(&session).await.unwrap();
    assert_eq!(authority.count("look"), 0);
    let error = outcome(&session, &started.login).await.unwrap_err();
    assert_eq!(error.kind, Kind::Denied, "{error:?}");
    assert!(
        error.message.contains("Unrecognized client_id"),
        "{error:?}"
    );
    assert_eq!(authority.count("look"), 1);
}

#[tokio::test]
async fn oauth_offline_access_is_asked_for_with_consent() {
    for (entry, prompt) in [
        ("", "consent"),
        ("account = \"work\"", "select_account consent"),
    ] {
        let authority = Authority::start(Rules {
            offline_consent: true,
            ..Rules::default()
        });
        let url = url_of_login(&authority, entry).await;
        assert_eq!(values(&url, "scope"), ["read offline_access"]);
        assert_eq!(values(&url, "prompt"), [prompt]);
        assert_eq!(authority.count("refresh"), 1);
    }
}

#[tokio::test]
async fn oauth_resource_is_sent_as_the_metadata_writes_it() {
    for resource in ["{url}", "{url}/", "{origin}", "{origin}/"] {
        for points in [true, false] {
            let authority = Authority::start(Rules {
                resource,
                points,
                ..Rules::default()
            });
            let url = url_of_login(&authority, "").await;
            let origin = authority.url().trim_end_matches("/mcp");
            let named = resource
                .replace("{url}", authority.url())
                .replace("{origin}", origin);
            assert_eq!(values(&url, "resource"), [named], "{resource}");
        }
    }
}

#[tokio::test]
async fn oauth_metadata_of_another_resource_stops_the_login() {
    for resource in [
        "{url}/other",
        "{url}s",
        "{origin}/m",
        "https://elsewhere.test/mcp",
        "{origin}.elsewhere.test/mcp",
        "nonsense",
    ] {
        let authority = Authority::default();
        authority.change(|rules| rules.resource = resource);
        let env = home(&authority, "");
        let error = begin(&client(&env).await).await.unwrap_err();
        assert_eq!(error.kind, Kind::Unavailable, "{error:?}");
        assert!(error.message.contains("resource"), "{resource}: {error:?}");
        assert_eq!(authority.count("register"), 0, "{resource}");
    }
}

#[tokio::test]
async fn oauth_scope_of_the_challenge_is_asked_for() {
    let named = "{\"scopes_supported\": [\"read\", \"write\", \"admin\"]}";
    let at = "Bearer resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\"";
    for (challenge, scopes) in [
        (
            Some("Bearer scope=\"write\", error=\"invalid_token\""),
            "write",
        ),
        (Some("Bearer scope=\"read  write\""), "read write"),
        (Some(at), "read write admin"),
    ] {
        let authority = Authority::start(Rules {
            challenges: challenge.map(|challenge| vec![challenge]),
            oddities: vec![Oddity::members("resource", named)],
            ..Rules::default()
        });
        let url = url_of_login(&authority, "").await;
        assert_eq!(values(&url, "scope"), [scopes], "{challenge:?}");
    }
}

#[tokio::test]
async fn oauth_request_that_the_issuer_rejects_is_an_error_at_once() {
    for rejection in REJECTIONS {
        for error in ["invalid_request", "unauthorized_client", "invalid_scope"] {
            let authority = Authority::default();
            let env = home(&authority, "");
            let session = client(&env).await;
            sign_in(&session).await;
            authority.change(|rules| {
                rules.rejection = rejection;
                rules.rejects = Some((error, "this application is not welcome"));
            });
            let failed = begin(&session).await.unwrap_err();
            let case = format!("{rejection:?} {error}: {failed:?}");
            assert!(failed.message.contains("not welcome"), "{case}");
            // A registration that was reused may have been the reason.
            assert_eq!(authority.count("register"), 2, "{case}");
            // The former login is untouched.
            env.mux(ECHO).ok();
            authority.expire();
            env.mux(ECHO).ok();
            authority.change(|rules| rules.rejects = None);
            sign_in(&session).await;
            assert_eq!(authority.complaints(), Vec::<String>::new(), "{case}");
        }
    }
}

#[tokio::test]
async fn oauth_page_that_does_not_serve_programs_is_left_to_the_browser() {
    for status in [403, 405, 429, 500, 503] {
        let authority = Authority::default();
        authority.change(|rules| rules.programs_get = Some(status));
        url_of_login(&authority, "account = \"work\"").await;
        assert_eq!(authority.count("register"), 1, "{status}");
        assert_eq!(authority.count("look"), 1, "{status}");
    }
}

#[tokio::test]
async fn oauth_redirect_to_another_origin_is_followed_by_the_browser_alone() {
    for host in ["localhost", "127.0.0.1"] {
        let authority = Authority::default();
        let page = authority.issuer().replace("127.0.0.1", host);
        authority.change(|rules| rules.login_page = Some(page));
        url_of_login(&authority, "").await;
        assert_eq!(authority.count("login"), 1, "{host}");
        if host == "localhost" {
            assert_eq!(authority.count("login looked at"), 0);
        }
    }
}

#[test]
fn oauth_denial_of_the_look_is_no_denial_of_the_user() {
    // An issuer that redirects immediately with an error of the user's decision is shown to the
    // browser.
    let authority = Authority::default();
    authority.change(|rules| rules.denies = true);
    let env = home(&authority, "");
    runtime().block_on(async {
        let session = client(&env).await;
        let started = begin(&session).await.unwrap();
        let (_, page) = follow(&started.url).await;
        assert!(page.text.contains("access_denied"), "{page:?}");
        let error = outcome(&session, &started.login).await.unwrap_err();
        assert_eq!(error.kind, Kind::Denied);
    });
}
