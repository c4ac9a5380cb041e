//! Every secret of a login is a unique text, which is searched for in all output and files.

use std::{fmt::Debug, fmt::Write as _, fs, path::Path};

use mux_client::within_seconds;
use mux_proto::LoginFinishRequest;
use mux_tests::{
    Authority, TestEnv,
    authority::{Oddity, Refresh, visit},
};

use super::{PATIENCE, begin, client, home, runtime, signed_in};

#[test]
fn oauth_tokens_codes_and_secrets_are_only_in_the_credentials_file() {
    let authority = Authority::default();
    authority.change(|rules| {
        rules.client_secrets = true;
        rules.repeats = true;
    });
    let env = home(&authority, "");
    let mut said = String::new();
    let mut say = |args: &[&str]| _ = write!(said, "{:?}", env.mux(args));
    say(&["call", "docs.echo", "text=x"]);
    signed_in(&env);
    say(&["call", "docs.echo", "text=x", "--raw"]);
    say(&["call", "docs.admin"]);
    authority.expire();
    say(&[
        "--json",
        "run",
        "-e",
        "return [await mux.docs.echo({ text: 'x' }), Object.keys(mux)]",
    ]);
    authority.expire();
    authority.change(|rules| rules.refresh = Refresh::Broken);
    say(&[
        "--json",
        "run",
        "-e",
        "return await mux.docs.echo({ text: 'x' })",
    ]);
    authority.change(|rules| rules.refresh = Refresh::Rejected);
    say(&["call", "docs.echo", "text=x"]);
    for args in [["servers"], ["status"], ["doctor"], ["types"]] {
        say(&args);
        say(&["--json", args[0]]);
    }
    authority.change(|rules| rules.refresh = Refresh::Good);
    say(&["servers", "logout", "docs"]);
    runtime().block_on(by_hand(&env));
    env.stop();
    say(&["servers", "logs", "docs"]);

    are_nowhere_else(&authority, &env, &said);
}

#[test]
fn oauth_secrets_that_an_issuer_repeats_are_not_told() {
    let authority = Authority::default();
    authority.change(|rules| {
        rules.client_secrets = true;
        rules.method_bound = true;
        // The secret is in the body, where a refusal repeats it.
        rules.method_given = Some("client_secret_post");
        rules.repeats = true;
        rules.oddities = vec![Oddity::members(
            "register",
            "{\"registration_access_token\": \"canary-registration\", \"registration_client_uri\": \"{issuer}/1\"}",
        )];
    });
    let env = home(&authority, "");
    let mut said = String::new();
    let mut say = |output: &dyn Debug| _ = writeln!(said, "{output:?}");
    signed_in(&env);
    // A page about an unknown client, and a code that is rejected.
    for status in [400, 401] {
        authority.change(|rules| rules.unknown_client = status);
        authority.forget_clients();
        let mut login = env.begin(["servers", "login", "docs", "--no-browser"]);
        login.wait_for("/authorize?");
        let address = login.heard().lines().find(|line| line.starts_with("http"));
        let redirect = visit("GET", address.unwrap()).location.unwrap();
        authority.forget_clients();
        say(&visit("GET", &redirect));
        say(&login.wait());
    }
    authority.expire();
    authority.change(|rules| rules.refresh = Refresh::Rejected);
    say(&env.mux(["call", "docs.echo", "text=x"]));
    authority.change(|rules| rules.refresh = Refresh::Good);
    authority.change(|rules| rules.rejects = Some(("unauthorized_client", "no")));
    say(&env.mux(["servers", "login", "docs", "--no-browser"]));
    for args in [["servers"], ["status"], ["doctor"], ["types"]] {
        say(&env.mux(args));
        say(&env.mux(["--json", args[0]]));
    }
    authority.change(|rules| rules.rejects = None);
    signed_in(&env);
    authority.forget_clients();
    // The revocation is refused, with the token in its words.
    say(&env.mux(["servers", "logout", "docs"]));
    signed_in(&env);
    env.stop();
    are_nowhere_else(&authority, &env, &said);
    let kept = fs::read_to_string(env.dirs.credentials()).unwrap();
    assert!(!kept.contains("canary-registration"), "nothing needs it");
}

#[test]
fn oauth_page_that_repeats_the_secret_of_an_own_client_is_quoted_without_it() {
    const SECRET: &str = "canary-own-secret";
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let authority = Authority::default();
    authority.change(|rules| rules.repeats = true);
    let redirect = format!("http://127.0.0.1:{port}/callback");
    authority.preregister("mine", Some(SECRET), &redirect);
    authority.forget_clients();
    let oauth = format!(
        "oauth = {{ client_id = \"mine\", client_secret = {SECRET:?}, issuer = {:?}, port = {port} }}",
        authority.issuer()
    );
    let env = home(&authority, &oauth);
    let said = env.mux(["servers", "login", "docs", "--no-browser"]);
    assert_ne!(said.code, 0, "{said:#?}");
    assert!(said.stderr.contains("Unrecognized client_id"), "{said:#?}");
    assert!(!format!("{said:?}").contains(SECRET), "{said:#?}");
    env.stop();
    assert!(!env.log().contains(SECRET));
}

/// Asserts that the secrets of logins are in the file of credentials, and neither in the output nor in another
/// file.
fn are_nowhere_else(authority: &Authority, env: &TestEnv, said: &str) {
    let mut secrets = authority.secrets();
    for kind in ["access", "refresh", "code", "client"] {
        let any = secrets.iter().any(|secret| secret.contains(kind));
        assert!(any, "no {kind} was made: {secrets:?}");
    }
    secrets.push("canary-registration".into());
    let tokens = env.dirs.credentials();
    let kept = fs::read_to_string(&tokens).unwrap();
    assert!(secrets.iter().any(|secret| kept.contains(secret.as_str())));
    let mut files = Vec::new();
    collect(env.home(), &mut files);
    assert!(files.len() > 3, "{files:?}");
    for secret in &secrets {
        assert!(!said.contains(secret.as_str()), "{secret} was said: {said}");
        for file in files.iter().filter(|file| **file != tokens) {
            let text = fs::read(file).unwrap_or_default();
            let found = text
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!found, "{secret} stands in {file:?}");
        }
    }
}

/// Finishes a login with a pasted address, which is sent over the socket.
async fn by_hand(env: &TestEnv) {
    let session = client(env).await;
    let started = begin(&session).await.unwrap();
    let request = LoginFinishRequest {
        redirect_url: visit("GET", &started.url).location.unwrap(),
        login: started.login,
    };
    let finished = session
        .client
        .login_finish(within_seconds(PATIENCE), request);
    assert_eq!(finished.await.unwrap().unwrap().tools, Some(3));
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&path, files),
            Ok(kind) if kind.is_file() => files.push(path),
            _ => {}
        }
    }
}
