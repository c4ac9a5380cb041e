//! Every secret of a login is a unique text, which is searched for in all output and files.

use std::{fs, path::Path};

use mux_client::within_seconds;
use mux_proto::LoginFinishRequest;
use mux_tests::{
    Authority, TestEnv,
    authority::{Refresh, visit},
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
    let mut say = |args: &[&str]| said.push_str(&format!("{:?}", env.mux(args)));
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

    let secrets = authority.secrets();
    for kind in ["access", "refresh", "code", "client"] {
        let any = secrets.iter().any(|secret| secret.contains(kind));
        assert!(any, "no {kind} was made: {secrets:?}");
    }
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
