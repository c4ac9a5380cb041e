//! An authorization server that accepts a request and does not answer it: the former login is in use meanwhile and
//! afterwards.

use std::fs;

use mux_tests::{
    Authority, TestEnv,
    authority::{Oddity, browse},
};
use nix::sys::signal::Signal;

use super::{home, signed_in};

const ECHO: [&str; 3] = ["call", "docs.echo", "text=hello"];
const NONSENSE: &str = "<!doctype html><p>at line 1, expected</p>";

/// A home with a login whose next one needs a registration.
fn with_former_login(authority: &Authority) -> TestEnv {
    let env = home(authority, "");
    signed_in(&env);
    env.mux(["call", "docs.admin"]).fails(5, &["scope admin"]);
    env
}

#[track_caller]
fn until_held(authority: &Authority, env: &TestEnv) {
    for _ in 0..2000 {
        if authority.count("held") > 0 {
            return;
        }
        env.mux(["status"]).ok();
    }
    panic!("it was not asked");
}

#[test]
fn oauth_former_login_is_in_use_while_an_issuer_is_silent_and_after_its_nonsense() {
    for endpoint in ["resource", "metadata", "register", "token"] {
        let authority = Authority::default();
        let env = with_former_login(&authority);
        let kept = fs::read_to_string(env.dirs.credentials()).unwrap();
        let tokens: Vec<String> = authority
            .secrets()
            .into_iter()
            .filter(|secret| secret.contains("access") || secret.contains("refresh"))
            .collect();
        authority.change(|rules| {
            rules.silent = Some(endpoint);
            rules.oddities = vec![Oddity::page(endpoint, 200, NONSENSE)];
        });
        let mut login = env.begin(["servers", "login", "docs", "--no-browser"]);
        let browser = (endpoint == "token").then(|| {
            login.wait_for("/authorize?");
            let address = login.heard().lines().find(|line| line.starts_with("http"));
            let address = address.unwrap().to_owned();
            std::thread::spawn(move || browse(&address))
        });
        until_held(&authority, &env);
        assert_eq!(env.mux(ECHO).ok().stdout, "hello\n", "{endpoint}");
        authority.release();
        let said = login.wait();
        assert_eq!(said.code, 3, "{endpoint}: {said:#?}");
        assert!(!said.stderr.contains("at line 1"), "{endpoint}: {said:#?}");
        if let Some(browser) = browser {
            assert_ne!(browser.join().unwrap().1.status, 200);
        }
        authority.change(|rules| rules.oddities.clear());
        assert_eq!(env.mux(ECHO).ok().stdout, "hello\n", "{endpoint}");
        let now = fs::read_to_string(env.dirs.credentials()).unwrap();
        for token in tokens.iter().filter(|token| kept.contains(*token)) {
            assert!(now.contains(token), "{endpoint}: {token} is gone");
        }
        authority.expire();
        assert_eq!(env.mux(ECHO).ok().stdout, "hello\n", "{endpoint}");
        assert_eq!(authority.complaints(), Vec::<String>::new(), "{endpoint}");
    }
}

#[test]
fn oauth_silent_authorization_page_is_left_to_the_browser() {
    let authority = Authority::default();
    let env = with_former_login(&authority);
    authority.change(|rules| rules.silent = Some("authorize"));
    let mut login = env.begin(["servers", "login", "docs", "--no-browser"]);
    until_held(&authority, &env);
    assert_eq!(env.mux(ECHO).ok().stdout, "hello\n");
    authority.release();
    login.wait_for("/authorize?");
    let address = login.heard().lines().find(|line| line.starts_with("http"));
    browse(address.unwrap());
    login.wait().ok();
    env.mux(["call", "docs.admin"]).ok();
}

#[test]
fn oauth_login_is_interrupted_while_an_issuer_is_silent() {
    let authority = Authority::default();
    let env = with_former_login(&authority);
    authority.change(|rules| rules.silent = Some("metadata"));
    let login = env.begin(["servers", "login", "docs", "--no-browser"]);
    until_held(&authority, &env);
    login.signal(Signal::SIGINT);
    assert_ne!(login.wait().code, 0);
    authority.release();
    assert_eq!(env.mux(ECHO).ok().stdout, "hello\n");
    signed_in(&env);
}

#[test]
fn oauth_userinfo_that_does_not_answer_properly_costs_only_the_name() {
    let authority = Authority::default();
    authority.change(|rules| {
        rules.user = Some("ada@example.com");
        rules.userinfo = true;
        rules.oddities = vec![Oddity::page("userinfo", 200, NONSENSE)];
    });
    let env = home(&authority, "");
    super::runtime().block_on(async {
        let (state, page) = super::sign_in(&super::client(&env).await).await;
        assert_eq!((state.tools, page.status), (Some(5), 200), "{state:?}");
        assert_eq!(state.who, None);
    });
}
