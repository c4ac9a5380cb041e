//! Logins at authorization servers that others wrote: the stacks of `tests/issuers`.
//!
//! Invariant: a case that several stacks have is written once, here, and describes the user's view. `scripts/issuers`
//! runs the cases `keeps_its_login` for longer, on more stacks.

mod authlib;
mod fast_mcp;
mod oidc_provider;
mod python_sdk;
mod scripted;
mod typescript_sdk;

use std::time::Duration;

use futures::future::join_all;
use mux_client::{ClientIdentity, within_seconds};
use mux_proto::CallRequest;
use mux_tests::{
    Output, TestEnv,
    authority::allow_everything,
    dice::{Dice, seed},
    env::binary,
    issuers::{Issuer, Stack},
    process,
};
use serde_json::Value;

/// The number of concurrent calls that reach a server after its token has expired.
const CALLS: usize = 20;
/// The timeout of requests in seconds, longer than anything here takes.
const PATIENCE: u64 = 60;

/// `mux servers login NAME`, and a person who allows everything. Fails where the person ends on a page of the issuer.
#[track_caller]
fn login(env: &TestEnv, name: &str, more: &[&str]) -> Output {
    let command = ["servers", "login", name, "--no-browser"];
    let mut login = env.begin(command.iter().chain(more));
    if login.hears("code_challenge=") {
        let address = login.heard().lines().find(|line| line.starts_with("http"));
        let (way, page) = allow_everything(address.unwrap());
        let end = way.last().unwrap();
        assert!(
            end.contains("/callback?"),
            "{name}: nothing came back to muxd; the person is at {end}, which says {} {}",
            page.status,
            page.text
        );
    }
    login.wait()
}

/// Signs in to a server that has not been signed in to.
#[track_caller]
fn signed_in(env: &TestEnv, name: &str) {
    let said = login(env, name, &[]).ok();
    assert!(
        said.stdout.contains(&format!("signed in to {name}")),
        "{said:#?}"
    );
    assert!(!said.stderr.contains("warning"), "{said:#?}");
}

#[track_caller]
fn calls(env: &TestEnv, name: &str) {
    env.mux(["call", &format!("{name}.whoami")]).ok();
}

#[track_caller]
fn needs_login(env: &TestEnv, name: &str) {
    let hint = format!("mux servers login {name}");
    env.mux(["call", &format!("{name}.whoami")])
        .fails(5, &["auth_required", &hint]);
}

/// The entry of a server in `mux servers`.
fn info(env: &TestEnv, name: &str) -> Value {
    let servers = env.mux(["--json", "servers"]).ok().json();
    let mut servers = servers.as_array().unwrap().iter();
    servers
        .find(|server| server["name"] == name)
        .unwrap()
        .clone()
}

/// A home with the server `one` of a stack, or `None` if the stack is not installed.
fn home(stack: Stack, args: &[&str], entry: &str) -> Option<(Issuer, TestEnv)> {
    let issuer = Issuer::start(stack, args)?;
    let env = TestEnv::with_config(&issuer.server("one", entry));
    Some((issuer, env))
}

fn first_login_lists_and_calls(stack: Stack) {
    let Some((issuer, env)) = home(stack, &[], "") else {
        return;
    };
    needs_login(&env, "one");
    signed_in(&env, "one");
    let tools = env.mux(["--json", "tools", "--server", "one"]).ok().stdout;
    assert!(
        tools.contains("whoami") && tools.contains("write"),
        "{tools}"
    );
    calls(&env, "one");
    env.stop();
    calls(&env, "one");
    assert_eq!((issuer.count("register"), issuer.count("code")), (1, 1));
}

/// An issuer may not know the `prompt` with which a user is chosen.
fn entry_with_an_account_signs_in(stack: Stack) {
    let Some((issuer, env)) = home(stack, &[], "account = \"work\"") else {
        return;
    };
    signed_in(&env, "one");
    calls(&env, "one");
    issuer.expire();
    calls(&env, "one");
}

/// A registration may allow only the scopes that it named.
fn login_adds_the_scope_that_a_call_lacked(stack: Stack) {
    let Some((issuer, env)) = home(stack, &[], "") else {
        return;
    };
    signed_in(&env, "one");
    env.mux(["call", "one.write"])
        .fails(5, &["auth_required", "write", "mux servers login one"]);
    signed_in(&env, "one");
    env.mux(["call", "one.write"]).ok();
    issuer.expire();
    env.mux(["call", "one.write"]).ok();
}

/// The issuer no longer knows the client, and may say so only on a page without a redirect.
fn login_succeeds_after_the_issuer_forgot_everything(stack: Stack, args: &[&str]) {
    let Some((mut issuer, env)) = home(stack, args, "") else {
        return;
    };
    signed_in(&env, "one");
    issuer.restart();
    needs_login(&env, "one");
    signed_in(&env, "one");
    calls(&env, "one");
    assert_eq!((issuer.count("register"), issuer.count("code")), (1, 1));
}

/// Calls of one server do not endanger the login of another server of the same issuer.
fn second_server_never_ends_the_login_of_the_first(stack: Stack, args: &[&str]) {
    let Some(issuer) = Issuer::start(stack, args) else {
        return;
    };
    let env = TestEnv::with_config(&(issuer.server("one", "") + &issuer.server("two", "")));
    signed_in(&env, "one");
    for _ in 0..3 {
        needs_login(&env, "two");
        issuer.expire();
        calls(&env, "one");
    }
    env.stop();
    signed_in(&env, "two");
    for _ in 0..2 {
        issuer.expire();
        calls(&env, "one");
        calls(&env, "two");
    }
    assert_eq!(issuer.refusals(), Vec::<String>::new());
}

/// The token expires while 20 calls are made, with stops and kills of the daemon between the rounds.
fn keeps_its_login(stack: Stack) {
    let Some((issuer, env)) = home(stack, &[], "") else {
        return;
    };
    let rounds = rounds();
    let seed = seed();
    let mut dice = Dice::new(seed, 1);
    let mut lost = 0;
    signed_in(&env, "one");
    for round in 0..rounds {
        issuer.expire();
        match dice.below(3) {
            0 => env.stop(),
            1 => kill(&env),
            _ => {}
        }
        if let Some(error) = call_at_once(&env) {
            assert!(
                error.contains("AuthRequired"),
                "round {round}, seed {seed}: {error}"
            );
            lost += 1;
            signed_in(&env, "one");
        }
    }
    let refreshes = issuer.count("refresh");
    report(stack, rounds, refreshes, lost);
    assert_eq!(lost, 0, "seed {seed}: {:?}", issuer.refusals());
    assert_eq!(refreshes, rounds as u64);
    assert_eq!(issuer.refusals(), Vec::<String>::new());
}

/// Calls `one` from one client, many times concurrently. Returns the first error.
fn call_at_once(env: &TestEnv) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let identity = ClientIdentity::new("test", "0");
        let session = mux_client::connect_or_spawn(&env.dirs, Some(binary("muxd")), &identity);
        let session = session.await.unwrap();
        let calls = (0..CALLS).map(|_| {
            let request = CallRequest {
                path: "one.whoami".into(),
                ..CallRequest::default()
            };
            session.client.call(within_seconds(PATIENCE), request)
        });
        let answers = join_all(calls).await.into_iter();
        let mut errors = answers.filter_map(|answer| answer.unwrap().err());
        errors.next().map(|error| format!("{error:?}"))
    })
}

/// Ends the daemon as a crash does.
fn kill(env: &TestEnv) {
    if let Some(pid) = env.daemon() {
        process::kill(pid);
        assert!(process::wait_for_end(pid, Duration::from_secs(20)));
    }
}

/// How many rounds `keeps_its_login` has: a few, or as many as `scripts/issuers` wants.
#[expect(
    clippy::disallowed_methods,
    reason = "a switch for the developer who looks for longer, not a setting"
)]
fn rounds() -> usize {
    let wanted = std::env::var("MUX_TEST_ISSUER_ROUNDS");
    wanted.ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

/// One row of the table that `scripts/issuers` prints.
#[expect(clippy::print_stderr, reason = "scripts/issuers reads these lines")]
fn report(stack: Stack, rounds: usize, refreshes: u64, lost: usize) {
    let calls = rounds * CALLS;
    eprintln!(
        "| {} | {rounds} | {calls} | {refreshes} | {lost} |",
        stack.name
    );
}
