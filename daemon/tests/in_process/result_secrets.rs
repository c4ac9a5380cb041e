//! Strings that look like secrets in the results and errors of calls.

use mux_proto::{CallRequest, Error, ServerWarning};
use serde_json::json;

use crate::{
    client::{Client, within},
    home::Home,
};

/// The fixture's error message, before the uri that does not exist.
const MESSAGE_BEGIN: &str = "no resource ";
/// The limit of an error's message, in bytes.
const MAX_MESSAGE_BYTES: usize = 4096;

/// Concatenated, because secret scanners would report this file otherwise.
fn token() -> String {
    format!("{}_{}", "ghp", "k9Qz3VxB7mTr1HjW5nYc".repeat(2))[..40].to_owned()
}

async fn client_with(secrets: &str) -> (Home, Client) {
    let home = Home::new();
    let fixture = home.fixture("fix", &["--offers"]);
    home.write_config(&format!("{fixture}secrets = \"{secrets}\"\n"));
    let client = Client::deaf(&home).await;
    (home, client)
}

/// The error for a resource that does not exist, whose message has the token at its limit.
async fn error_with_token(client: &Client) -> Error {
    let begin = "fix://absent/";
    let padding = MAX_MESSAGE_BYTES - MESSAGE_BEGIN.len() - begin.len() - token().len() / 2;
    let uri = format!("{begin}{}/{}", "a".repeat(padding), token());
    let error = client.read(&uri).await.unwrap_err();
    assert!(error.message.starts_with(MESSAGE_BEGIN), "{error:?}");
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn error_is_masked_before_it_is_truncated_and_counted() {
    let token = token();
    for secrets in ["mask", "warn"] {
        let (_home, client) = client_with(secrets).await;
        let error = error_with_token(&client).await;
        let details = error.details.unwrap().to_string();
        let begin = &token[..10];
        match secrets {
            "mask" => assert!(!error.message.contains(begin) && !details.contains(begin)),
            _ => assert!(error.message.contains(begin) && details.contains(&token)),
        }
        let warnings = client.server("fix").await.warnings;
        let expected = "1 result seemed to contain a secret, of fix.";
        let is_expected = |warning: &ServerWarning| warning.text.contains(expected);
        assert!(warnings.iter().any(is_expected), "{secrets}: {warnings:?}");
    }
    let (_home, client) = client_with("off").await;
    error_with_token(&client).await;
    assert_eq!(client.server("fix").await.warnings, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn result_that_is_too_long_to_be_searched_is_logged() {
    let long = "no secret ".repeat(500_000);
    let (_home, client) = client_with("mask").await;
    let error = client.fails("echo", json!({ "text": long })).await;
    assert!(
        error.message.contains("too long to be searched"),
        "{error:?}"
    );
    let (home, client) = client_with("warn").await;
    let request = CallRequest {
        path: "fix.echo".into(),
        arguments: json!({ "text": long }).into(),
        ..CallRequest::default()
    };
    let called = client.rpc.call(within(), request).await.unwrap();
    assert!(called.is_ok(), "{called:?}");
    let log = home.finished_log().await;
    let warned = log.lines().any(|line| {
        line.contains("WARN")
            && line.contains("too long to be searched for secrets, and was passed on")
    });
    assert!(warned, "{log}");
}
