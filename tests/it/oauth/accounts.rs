//! Several accounts at one server.

use std::fs;

use futures::future::join_all;
use mux_client::within_seconds;
use mux_proto::{CallRequest, Held};
use mux_tests::{
    Authority, TestEnv,
    authority::{Refresh, browse},
};
use serde_json::{Value, json};

use crate::ui::page::drive;

use super::{PATIENCE, begin_at, client, home, outcome, runtime, sign_in_at};

pub(super) const ADA: &str = "ada@example.com";
pub(super) const BOB: &str = "bob@example.com";

/// A home with two accounts at one server, signed in as two users.
fn two_accounts(authority: &Authority) -> TestEnv {
    let entry = |name: &str, account: &str| {
        authority.server(name, &format!("account = {account:?}\ncalls_at_once = 100"))
    };
    let env = TestEnv::with_config(&(entry("ours", "work") + &entry("mine", BOB)));
    sign_in_as(authority, &env, "ours", ADA);
    sign_in_as(authority, &env, "mine", BOB);
    env
}

pub(super) fn sign_in_as(authority: &Authority, env: &TestEnv, server: &str, user: &'static str) {
    authority.change(|rules| rules.user = Some(user));
    runtime().block_on(async {
        let (state, _) = sign_in_at(&client(env).await, server).await;
        assert_eq!(
            (state.tools, state.who.as_deref()),
            (Some(5), Some(user)),
            "{state:?}"
        );
    });
}

pub(super) fn whoami(env: &TestEnv, server: &str) -> String {
    let said = env.mux(["call", &format!("{server}.whoami")]).ok();
    said.stdout.trim_end().to_owned()
}

pub(super) fn server(env: &TestEnv, name: &str) -> Value {
    let servers = env.mux(["--json", "servers"]).ok().json();
    let mut servers = servers.as_array().unwrap().iter();
    servers
        .find(|server| server["name"] == name)
        .unwrap()
        .clone()
}

#[test]
fn oauth_two_accounts_at_one_address_have_two_logins_and_who_shows_both() {
    let authority = Authority::default();
    let env = two_accounts(&authority);
    for (name, user, shown) in [
        ("ours", ADA, "ada@example.com (work)"),
        // The account and the user have one name.
        ("mine", BOB, "bob@example.com"),
    ] {
        assert_eq!(whoami(&env, name), user);
        assert_eq!(server(&env, name)["who"], user);
        let table = env.mux(["servers"]).ok().stdout;
        let row = table.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(row.contains(shown), "{table}");
        let line = format!("{name}: used as {shown}");
        env.mux(["doctor"]).fails(0, &[&line]);
    }
    drive("account", &env);
    // Each keeps its login and its own list across a restart.
    env.stop();
    for (name, user) in [("ours", ADA), ("mine", BOB)] {
        let tools = env.mux(["--json", "tools", "--server", name]).ok().stdout;
        let (own, other) = if user == ADA {
            ("of_ada", "of_bob")
        } else {
            ("of_bob", "of_ada")
        };
        assert!(tools.contains(own) && !tools.contains(other), "{tools}");
        assert_eq!(whoami(&env, name), user);
    }
    // An account of another name has no list and no login of theirs.
    let moved = authority.server("ours", "account = \"else\"");
    env.write_config(&moved);
    env.mux(["reload"]).ok();
    let tools = env.mux(["--json", "tools", "--server", "ours"]).stdout;
    assert!(!tools.contains("of_"), "{tools}");
    env.mux(["call", "ours.echo", "text=x"])
        .fails(5, &["auth_required"]);
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_callers_of_two_accounts_never_get_the_token_of_the_other() {
    let authority = Authority::default();
    let env = two_accounts(&authority);
    for round in 1..=2 {
        authority.expire();
        runtime().block_on(async {
            let session = client(&env).await;
            let calls = (0..100).map(|number| {
                let (server, user) = [("ours", ADA), ("mine", BOB)][number % 2];
                let request = CallRequest {
                    path: format!("{server}.whoami"),
                    ..CallRequest::default()
                };
                let answer = session.client.call(within_seconds(PATIENCE), request);
                async move {
                    let answer = answer.await.unwrap().unwrap();
                    assert_eq!(answer.result, Held::Value(json!(user).into()));
                }
            });
            join_all(calls).await;
        });
        // One refresh for each account.
        assert_eq!(authority.count("refresh"), 2 * round);
    }
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_refusal_step_up_and_logout_of_an_account_leave_the_other_alone() {
    let authority = Authority::default();
    let env = two_accounts(&authority);
    // Step-up: the scope is asked for at the next login of that account alone.
    env.mux(["call", "ours.admin"])
        .fails(5, &["scope admin", "mux servers login ours"]);
    assert_eq!(server(&env, "mine")["warnings"], Value::Null);
    authority.change(|rules| rules.user = Some(ADA));
    runtime().block_on(async {
        let session = client(&env).await;
        let started = begin_at(&session, "ours").await.unwrap();
        assert!(
            started.url.contains("prompt=select_account"),
            "{}",
            started.url
        );
        super::follow(&started.url).await;
        let state = outcome(&session, &started.login).await.unwrap();
        assert!(
            state.scopes.iter().any(|scope| scope == "admin"),
            "{state:?}"
        );
    });
    env.mux(["call", "ours.admin"]).ok();
    env.mux(["call", "mine.admin"]).fails(5, &["scope admin"]);
    // A refresh that is refused ends one login.
    authority.expire();
    assert_eq!(whoami(&env, "ours"), ADA);
    authority.change(|rules| rules.refresh = Refresh::Rejected);
    env.mux(["call", "mine.whoami"])
        .fails(5, &["invalid_grant", "mux servers login mine"]);
    authority.change(|rules| rules.refresh = Refresh::Good);
    assert_eq!(whoami(&env, "ours"), ADA);
    assert_eq!(server(&env, "mine")["auth"], "required");
    sign_in_as(&authority, &env, "mine", BOB);
    // Logout revokes the tokens of one account.
    env.mux(["servers", "logout", "ours"]).ok();
    env.mux(["call", "ours.whoami"])
        .fails(5, &["auth_required"]);
    assert_eq!(whoami(&env, "mine"), BOB);
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_login_without_an_account_goes_on_and_is_not_that_of_an_account() {
    let authority = Authority::default();
    let env = home(&authority, "");
    sign_in_as(&authority, &env, "docs", ADA);
    env.stop();
    // As it was stored before there were accounts.
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(env.dirs.credentials()).unwrap()).unwrap();
    assert_eq!(
        (&kept["version"], &kept["logins"][0]["account"]),
        (&json!(2), &Value::Null)
    );
    assert_eq!(whoami(&env, "docs"), ADA);
    authority.change(|rules| rules.user = Some(BOB));
    let mut login = env.begin([
        "servers",
        "login",
        "docs",
        "--account",
        "work",
        "--no-browser",
    ]);
    login.wait_for("/authorize?");
    let address = login.heard().lines().find(|line| line.starts_with("http"));
    browse(address.unwrap());
    let said = login.wait().ok();
    assert!(said.stdout.contains(&format!("as {BOB}")), "{said:#?}");
    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    assert!(config.contains("account = \"work\""), "{config}");
    assert_eq!(whoami(&env, "docs"), BOB);
    env.write_config(&authority.server("docs", ""));
    env.mux(["reload"]).ok();
    assert_eq!(whoami(&env, "docs"), ADA);
    let odd = ["servers", "login", "docs", "--account", "a b"];
    env.mux(odd).fails(1, &["not written", "not a name"]);
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn config_check_names_the_line_of_a_wrong_account_and_disables_that_entry_alone() {
    let authority = Authority::default();
    let own = |issuer: &str| {
        format!("account = \"work\"\noauth = {{ client_id = \"c\", issuer = {issuer:?} }}")
    };
    let config = authority.server("docs", "account = \"no name\"")
        + &authority.server("one", &own("https://one.test"))
        + &authority.server("two", &own("https://two.test"))
        + &authority.server("plain", "");
    let env = TestEnv::with_config(&config);
    let line = |of: &str| {
        let at = config.lines().position(|line| line == of).unwrap() + 1;
        format!("config.toml:{at}: ")
    };
    let said = env.mux(["config", "check"]);
    let said = said.fails(
        1,
        &["not a name", "[servers.one] with another oauth.issuer"],
    );
    for entry in ["[servers.docs]", "[servers.two]"] {
        assert!(format!("{said:?}").contains(&line(entry)), "{said:#?}");
    }
    for (name, state) in [
        ("docs", "broken"),
        ("one", "cold"),
        ("two", "broken"),
        ("plain", "cold"),
    ] {
        assert_eq!(server(&env, name)["state"], state, "{name}");
    }
}

#[test]
fn oauth_who_comes_from_userinfo_where_no_id_token_says_it() {
    for subject_only in [false, true] {
        let authority = Authority::default();
        authority.change(|rules| {
            rules.userinfo = true;
            rules.subject_only = subject_only;
        });
        let env = home(&authority, "");
        sign_in_as(&authority, &env, "docs", ADA);
        assert_eq!(server(&env, "docs")["who"], ADA);
        assert_eq!(authority.count("userinfo"), 1);
        assert_eq!(authority.complaints(), Vec::<String>::new());
    }
}
