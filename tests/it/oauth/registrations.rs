//! Registrations: muxd's request, the effect of the answer, and when muxd registers again.

use mux_tests::{
    Authority, TestEnv,
    authority::{Oddity, Rejection, Rules},
};

use super::{begin, client, follow, home, notes, outcome, runtime, sign_in, signed_in, values};

const ECHO: [&str; 3] = ["call", "docs.echo", "text=hello"];

/// A login, a refresh and a revocation, of which the authorization server accepts all.
fn works_throughout(rules: Rules, case: &str) -> Authority {
    let authority = Authority::start(rules);
    let env = home(&authority, "");
    runtime().block_on(async {
        let session = client(&env).await;
        let started = begin(&session).await;
        let started = started.unwrap_or_else(|error| panic!("{case}: {error:?}"));
        let (_, page) = follow(&started.url).await;
        assert_eq!(page.status, 200, "{case}: {page:?}");
        let state = outcome(&session, &started.login).await.unwrap();
        assert_eq!(state.tools, Some(3), "{case}: {state:?}");
    });
    authority.expire();
    assert_eq!(env.mux(ECHO).ok().stdout, "hello\n", "{case}");
    let out = env.mux(["servers", "logout", "docs"]).ok();
    assert!(out.stdout.contains("revoked"), "{case}: {out:#?}");
    assert_eq!(authority.complaints(), Vec::<String>::new(), "{case}");
    assert_eq!(
        (authority.count("refresh"), authority.count("revoke")),
        (1, 1),
        "{case}"
    );
    authority
}

#[test]
fn oauth_method_of_the_registration_is_used_for_code_refresh_and_revocation() {
    const ALL: [&str; 3] = ["none", "client_secret_basic", "client_secret_post"];
    for given in ALL {
        for listed in [&ALL[..], &ALL[1..], &[given]] {
            let rules = Rules {
                client_secrets: true,
                method_bound: true,
                method_given: Some(given),
                auth_methods: if listed.contains(&given) {
                    listed.to_vec()
                } else {
                    ALL.to_vec()
                },
                ..Rules::default()
            };
            works_throughout(rules, &format!("{given} of {listed:?}"));
        }
    }
}

#[test]
fn oauth_registration_without_a_method_uses_basic_unless_only_post_is_listed() {
    for (listed, used) in [
        (
            vec!["none", "client_secret_basic", "client_secret_post"],
            "client_secret_basic",
        ),
        (vec!["client_secret_post"], "client_secret_post"),
    ] {
        for members in [
            "{\"-token_endpoint_auth_method\": 0}",
            "{\"token_endpoint_auth_method\": null}",
        ] {
            let rules = Rules {
                client_secrets: true,
                method_bound: true,
                method_given: Some(used),
                auth_methods: listed.clone(),
                oddities: vec![Oddity::members("register", members)],
                ..Rules::default()
            };
            works_throughout(rules, &format!("{used}, {members}"));
        }
    }
}

#[test]
fn oauth_registration_asks_for_a_method_that_the_metadata_lists() {
    for (listed, asked) in [
        (
            vec!["client_secret_basic", "client_secret_post"],
            "client_secret_post",
        ),
        (
            vec!["client_secret_basic", "private_key_jwt"],
            "client_secret_basic",
        ),
        (vec!["client_secret_post"], "client_secret_post"),
        (
            vec!["private_key_jwt", "client_secret_post"],
            "client_secret_post",
        ),
        (vec!["client_secret_basic", "none"], "none"),
        (vec!["none"], "none"),
    ] {
        let rules = Rules {
            client_secrets: asked != "none",
            method_bound: true,
            auth_methods: listed.clone(),
            ..Rules::default()
        };
        let authority = works_throughout(rules, asked);
        let registered = authority.registrations();
        assert_eq!(
            registered[0]["token_endpoint_auth_method"], asked,
            "{listed:?}"
        );
    }
}

#[tokio::test]
async fn oauth_methods_that_muxd_does_not_have_are_named() {
    for method in ["private_key_jwt", "client_secret_jwt", "tls_client_auth"] {
        let authority = Authority::default();
        authority.change(|rules| rules.auth_methods = vec![method]);
        let env = home(&authority, "");
        let error = begin(&client(&env).await).await.unwrap_err();
        assert!(error.message.contains(method), "{error:?}");
        assert_eq!(authority.count("register"), 0);
    }
}

#[test]
fn oauth_own_client_uses_the_method_of_its_entry() {
    for (written, method) in [
        ("post", "client_secret_post"),
        ("basic", "client_secret_basic"),
    ] {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let authority = Authority::start(Rules {
            registration: false,
            method_bound: true,
            method_given: Some(method),
            ..Rules::default()
        });
        let redirect = format!("http://127.0.0.1:{port}/callback");
        authority.preregister("mine", Some("canary-own-secret"), &redirect);
        let oauth = format!(
            "oauth = {{ client_id = \"mine\", client_secret = \"canary-own-secret\", issuer = {:?}, \
             port = {port}, auth = {written:?} }}",
            authority.issuer()
        );
        let env = home(&authority, &oauth);
        signed_in(&env);
        authority.expire();
        env.mux(ECHO).ok();
        env.mux(["servers", "logout", "docs"]).ok();
        assert_eq!(authority.count("revoke"), 1, "{written}");
        assert_eq!(authority.complaints(), Vec::<String>::new(), "{written}");
    }
}

#[tokio::test]
async fn oauth_client_that_the_issuer_has_forgotten_is_registered_anew() {
    for status in [400, 401, 404, 422] {
        let authority = Authority::default();
        authority.change(|rules| rules.unknown_client = status);
        let env = home(&authority, "");
        let session = client(&env).await;
        sign_in(&session).await;
        authority.forget_clients();
        let started = begin(&session).await.unwrap();
        assert!(notes(&started).contains("regist"), "{started:?}");
        let (_, page) = follow(&started.url).await;
        assert_eq!(page.status, 200, "{status}: {page:?}");
        let state = outcome(&session, &started.login).await.unwrap();
        assert_eq!(state.tools, Some(3), "{status}: {state:?}");
        assert_eq!(authority.count("register"), 2, "{status}");
        // The new client also refreshes.
        authority.expire();
        env.mux(ECHO).ok();
        assert_eq!(authority.complaints(), Vec::<String>::new(), "{status}");
    }
}

#[test]
fn oauth_new_registration_is_said_by_the_login_command() {
    let authority = Authority::default();
    let env = home(&authority, "");
    signed_in(&env);
    authority.forget_clients();
    let mut login = env.begin(["servers", "login", "docs", "--no-browser"]);
    login.wait_for("/authorize?");
    assert!(login.heard().contains("regist"), "{}", login.heard());
    let address = login.heard().lines().find(|line| line.starts_with("http"));
    mux_tests::authority::browse(address.unwrap());
    login.wait().ok();
}

#[tokio::test]
async fn oauth_login_that_ended_without_a_redirect_drops_the_registration() {
    let authority = Authority::default();
    let env = home(&authority, "");
    let session = client(&env).await;
    sign_in(&session).await;
    // The registration is used again, until a login with it ends without an answer.
    let first = begin(&session).await.unwrap();
    assert_eq!(authority.count("register"), 1);
    let second = begin(&session).await.unwrap();
    outcome(&session, &first.login).await.unwrap_err();
    assert_eq!(authority.count("register"), 2);
    assert_ne!(
        values(&first.url, "client_id"),
        values(&second.url, "client_id")
    );
    // The former login is that of the former client.
    authority.expire();
    env.mux(ECHO).ok();
    assert_eq!(authority.count("refresh"), 1);
    follow(&second.url).await;
    outcome(&session, &second.login).await.unwrap();
    authority.expire();
    env.mux(ECHO).ok();
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn oauth_scopes_beyond_the_registration_are_registered_anew() {
    for rejection in [
        Rejection::Redirect,
        Rejection::Page(400),
        Rejection::ErrorPage,
    ] {
        let authority = Authority::default();
        authority.change(|rules| {
            rules.scopes_bound = true;
            rules.rejection = rejection;
        });
        let env = home(&authority, "");
        let session = client(&env).await;
        sign_in(&session).await;
        env.mux(["call", "docs.admin"])
            .fails(5, &["scope admin", "mux servers login docs"]);
        let started = begin(&session).await.unwrap();
        assert!(notes(&started).contains("regist"), "{started:?}");
        let (_, page) = follow(&started.url).await;
        assert_eq!(page.status, 200, "{page:?}");
        let state = outcome(&session, &started.login).await.unwrap();
        assert_eq!(state.scopes, ["read", "admin"]);
        env.mux(["call", "docs.admin"]).ok();
        assert_eq!(authority.count("register"), 2);
        // The same scopes need no third one.
        sign_in(&session).await;
        assert_eq!(authority.count("register"), 2);
        assert_eq!(authority.complaints(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn oauth_registration_for_fewer_scopes_is_used_again() {
    let authority = Authority::default();
    authority.change(|rules| {
        rules.scope = "read write";
        rules.oddities = vec![Oddity::members("register", "{\"scope\": \"read\"}")];
    });
    let env = home(&authority, "");
    let session = client(&env).await;
    for _ in 0..3 {
        let (state, page) = sign_in(&session).await;
        assert_eq!((state.tools, page.status), (Some(3), 200), "{state:?}");
        assert_eq!(state.scopes, ["read"]);
    }
    // Another registration would not be for more.
    assert_eq!(authority.count("register"), 1);
}

#[test]
fn oauth_registration_that_refuses_scopes_is_repeated_once_without() {
    let rules = Rules {
        scopes_unregistrable: true,
        ..Rules::default()
    };
    let authority = works_throughout(rules, "without scopes");
    let scopes: Vec<_> = authority
        .registrations()
        .iter()
        .map(|wanted| wanted.get("scope").is_some())
        .collect();
    assert_eq!(scopes, [true, false]);
}

#[test]
fn oauth_registration_that_needs_a_token_names_the_own_client() {
    let authority = Authority::default();
    authority.change(|rules| rules.registration_token = true);
    let env = home(&authority, "");
    let said = env.mux(["servers", "login", "docs", "--no-browser"]);
    assert_ne!(said.code, 0);
    for part in [
        "initial access token",
        "no access token provided",
        "client_id",
    ] {
        assert!(said.stderr.contains(part), "{part}: {said:#?}");
    }
    assert!(!said.stderr.contains("tries again"), "{said:#?}");
    assert_eq!(authority.count("register"), 1);
}

#[test]
fn oauth_login_that_is_interrupted_ends_and_frees_its_port() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let authority = Authority::with_servers(Rules::default(), 2);
    let entry = |at: usize, name: &str| {
        format!(
            "{}oauth = {{ port = {port} }}\n",
            authority.server_of(at, name)
        )
    };
    let env = TestEnv::with_config(&(entry(0, "one") + &entry(1, "two")));
    let mut login = env.begin(["servers", "login", "one", "--no-browser"]);
    login.wait_for("/authorize?");
    login.signal(nix::sys::signal::Signal::SIGINT);
    assert_ne!(login.wait().code, 0);
    let mut login = env.begin(["servers", "login", "two", "--no-browser"]);
    login.wait_for("/authorize?");
    let address = login.heard().lines().find(|line| line.starts_with("http"));
    let (_, page) = mux_tests::authority::browse(address.unwrap());
    assert_eq!(page.status, 200, "{page:?}");
    login.wait().ok();
}
