//! One sign-in for several servers of an issuer: only for entries that ask for it, and only as far as the issuer has
//! granted it. A sign-in is never put at risk by another server.

use futures::future::join_all;
use mux_client::within_seconds;
use mux_proto::{CallRequest, Held};
use mux_tests::{
    Authority, TestEnv,
    authority::{Grants, Rules},
};
use serde_json::json;

use super::{
    PATIENCE,
    accounts::{ADA, BOB, server, sign_in_as, whoami},
    begin_at, client, notes, runtime, values,
};

const SERVERS: [&str; 4] = ["a", "b", "c", "d"];
const SHARE: &str = "oauth = { share = true }\n";

/// A home with four servers of one issuer that rotates immediately and ends a login whose refresh token comes twice.
/// All but `a` share its sign-in.
fn four_servers(grants: Grants) -> (Authority, TestEnv) {
    four_servers_with(Rules {
        grants,
        ..Rules::default()
    })
}

fn four_servers_with(rules: Rules) -> (Authority, TestEnv) {
    let rules = Rules {
        audiences: true,
        strict: true,
        ..rules
    };
    let authority = Authority::with_servers(rules, SERVERS.len());
    let env = TestEnv::with_config(&entries(&authority, ["", SHARE, SHARE, SHARE]));
    (authority, env)
}

fn entries(authority: &Authority, keys: [&str; 4]) -> String {
    let all = SERVERS.iter().zip(keys).enumerate();
    all.map(|(at, (name, keys))| authority.server_of(at, name) + keys)
        .collect()
}

/// The servers that the next login of one names to the issuer. The login is left open.
fn named_by(authority: &Authority, env: &TestEnv, name: &str) -> Vec<String> {
    let named = runtime().block_on(async {
        let started = begin_at(&client(env).await, name).await.unwrap();
        let named = values(&started.url, "resource");
        // The user is asked for each of them, once.
        for other in named.iter().skip(1) {
            assert!(notes(&started).contains(other.as_str()), "{started:?}");
        }
        named
    });
    let name_of = |resource: &String| {
        let at = (0..SERVERS.len()).find(|at| authority.url_of(*at) == resource);
        SERVERS[at.unwrap()].to_owned()
    };
    named.iter().map(name_of).collect()
}

#[test]
fn oauth_one_sign_in_serves_all_servers_that_share_it_with_an_audience_for_each() {
    let (authority, env) = four_servers(Grants::Named);
    env.mux(["call", "b.echo", "text=x"])
        .fails(5, &["auth_required"]);
    assert_eq!(named_by(&authority, &env, "a"), SERVERS);
    sign_in_as(&authority, &env, "a", ADA);
    for name in SERVERS {
        assert_eq!(whoami(&env, name), ADA);
        assert_eq!(server(&env, name)["who"], ADA, "{name}");
    }
    assert_eq!(
        (authority.count("code"), authority.count("refresh")),
        (1, 3)
    );
    // Every token is refreshed, in turn, with the one refresh token, which rotates.
    for round in 0..2 {
        authority.expire();
        if round == 1 {
            env.stop();
        }
        runtime().block_on(async {
            let session = client(&env).await;
            let calls = (0..100).map(|number| {
                let request = CallRequest {
                    path: format!("{}.whoami", SERVERS[number % SERVERS.len()]),
                    ..CallRequest::default()
                };
                let answer = session.client.call(within_seconds(PATIENCE), request);
                async move {
                    let answer = answer.await.unwrap().unwrap();
                    assert_eq!(answer.result, Held::Value(json!(ADA).into()));
                }
            });
            join_all(calls).await;
        });
    }
    assert_eq!(
        (authority.count("code"), authority.count("refresh")),
        (1, 11)
    );
    // Another user signs in: the others follow.
    sign_in_as(&authority, &env, "a", BOB);
    for name in SERVERS {
        assert_eq!(whoami(&env, name), BOB);
    }
    // The logout of one ends the sign-in of all. It stays out until its own login.
    env.mux(["servers", "logout", "c"]).ok();
    for name in SERVERS {
        env.mux(["call", &format!("{name}.whoami")])
            .fails(5, &["auth_required"]);
    }
    sign_in_as(&authority, &env, "a", ADA);
    assert_eq!(whoami(&env, "b"), ADA);
    env.mux(["call", "c.whoami"]).fails(5, &["auth_required"]);
    sign_in_as(&authority, &env, "c", BOB);
    assert_eq!(whoami(&env, "c"), BOB);
    assert_eq!(whoami(&env, "b"), ADA);
    assert_eq!(authority.count("invalid_target"), 0);
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_call_of_a_second_server_leaves_the_sign_in_of_the_first_alone() {
    // As oidc-provider: the refresh token is used up before the resource is looked at.
    let (authority, env) = four_servers_with(Rules {
        rotates_first: true,
        ..Rules::default()
    });
    env.write_config(&entries(&authority, [""; 4]));
    for restarts in [false, true] {
        sign_in_as(&authority, &env, "a", ADA);
        if restarts {
            env.stop();
        }
        for _ in 0..3 {
            env.mux(["call", "b.whoami"])
                .fails(5, &["auth_required", "mux servers login b"]);
        }
        let refreshes = authority.count("refresh");
        for round in 1..=3 {
            authority.expire();
            assert_eq!(whoami(&env, "a"), ADA);
            env.mux(["call", "b.whoami"]).fails(5, &["auth_required"]);
            assert_eq!(authority.count("refresh"), refreshes + round);
        }
    }
    // Both can be signed in at the same time.
    sign_in_as(&authority, &env, "b", BOB);
    for _ in 0..2 {
        authority.expire();
        let both = (whoami(&env, "a"), whoami(&env, "b"));
        assert_eq!(both, (ADA.into(), BOB.into()));
    }
    assert_eq!(authority.count("invalid_target"), 0);
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_only_entries_that_share_and_have_the_same_account_are_named_and_served() {
    let (authority, env) = four_servers(Grants::Named);
    let other = "account = \"work\"\noauth = { share = true }\n";
    env.write_config(&entries(&authority, ["", SHARE, "", other]));
    assert_eq!(named_by(&authority, &env, "a"), ["a", "b"]);
    sign_in_as(&authority, &env, "a", ADA);
    assert_eq!(whoami(&env, "b"), ADA);
    for name in ["c", "d"] {
        env.mux(["call", &format!("{name}.whoami")])
            .fails(5, &["auth_required"]);
    }
    assert_eq!(authority.count("refresh"), 1);
    // An entry that begins to share needs another sign-in, which was granted for it.
    env.write_config(&entries(&authority, ["", SHARE, SHARE, other]));
    env.mux(["reload"]).ok();
    env.mux(["call", "c.whoami"]).fails(5, &["auth_required"]);
    assert_eq!(authority.count("refresh"), 1);
    sign_in_as(&authority, &env, "a", ADA);
    assert_eq!(whoami(&env, "c"), ADA);
    assert_eq!(authority.count("invalid_target"), 0);
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_login_command_with_share_needs_no_browser() {
    let (authority, env) = four_servers(Grants::Named);
    let login = ["servers", "login", "b", "--share", "--no-browser"];
    // There is no sign-in yet that it could share.
    env.begin(login).wait_for("/authorize?");
    sign_in_as(&authority, &env, "a", ADA);
    env.mux(login).ok();
    assert_eq!(whoami(&env, "b"), ADA);
    assert_eq!(
        (authority.count("code"), authority.count("refresh")),
        (1, 1)
    );
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_issuer_that_takes_one_resource_needs_a_login_for_each_server() {
    let (authority, env) = four_servers(Grants::One);
    sign_in_as(&authority, &env, "a", ADA);
    for _ in 0..3 {
        env.mux(["call", "b.whoami"])
            .fails(5, &["auth_required", "mux servers login b"]);
    }
    assert_eq!(authority.count("refresh"), 0, "nothing was granted for it");
    env.begin(["servers", "login", "b", "--share", "--no-browser"])
        .wait_for("/authorize?");
    assert_eq!(authority.count("refresh"), 0);
    // Several resources are not named again, also by another daemon.
    let looks = authority.count("look");
    assert_eq!(named_by(&authority, &env, "a"), ["a"]);
    env.stop();
    assert_eq!(named_by(&authority, &env, "c"), ["c"]);
    // The request of a new client for one resource is not looked at.
    assert_eq!(authority.count("look"), looks + 1);
    sign_in_as(&authority, &env, "b", BOB);
    authority.expire();
    let both = (whoami(&env, "a"), whoami(&env, "b"));
    assert_eq!(both, (ADA.into(), BOB.into()));
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_refused_exchange_is_tried_once_for_an_issuer() {
    // The issuer accepts a request with several resources, and grants the first.
    let (authority, env) = four_servers(Grants::First);
    sign_in_as(&authority, &env, "a", ADA);
    let refused = |name: &str| {
        env.mux(["call", &format!("{name}.whoami")])
            .fails(5, &["auth_required"]);
    };
    for name in ["b", "b", "c"] {
        refused(name);
    }
    env.stop();
    for name in ["b", "d"] {
        refused(name);
    }
    authority.expire();
    assert_eq!(whoami(&env, "a"), ADA);
    // Another sign-in has no effect, and names one server.
    assert_eq!(named_by(&authority, &env, "a"), ["a"]);
    sign_in_as(&authority, &env, "a", BOB);
    refused("b");
    // A separate login needs a browser.
    assert_eq!(named_by(&authority, &env, "b"), ["b"]);
    assert_eq!(authority.count("invalid_target"), 1);
    assert_eq!(whoami(&env, "a"), BOB);
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_login_that_ended_says_that_its_token_was_presented_for_another_server() {
    let (authority, env) = four_servers_with(Rules {
        grants: Grants::First,
        rotates_first: true,
        ..Rules::default()
    });
    sign_in_as(&authority, &env, "a", ADA);
    env.mux(["call", "b.whoami"]).fails(5, &["auth_required"]);
    authority.expire();
    let other = authority.url_of(1);
    let ended = "refresh token was presented for";
    env.mux(["call", "a.whoami"])
        .fails(5, &["auth_required", "mux servers login a", ended, other]);
    let doctor = env.mux(["doctor"]);
    assert!(doctor.stdout.contains(ended), "{doctor:#?}");
    let warnings = server(&env, "a")["warnings"].to_string();
    assert!(warnings.contains(ended), "{warnings}");
    env.until_logged(ended);
    // The sign-in happens once.
    sign_in_as(&authority, &env, "a", ADA);
    for _ in 0..2 {
        env.mux(["call", "b.whoami"]).fails(5, &["auth_required"]);
        authority.expire();
        assert_eq!(whoami(&env, "a"), ADA);
    }
    assert_eq!(authority.count("invalid_target"), 1);
}
