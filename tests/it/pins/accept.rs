//! The user reviews a change and accepts exactly that change.

use mux_client::{ClientIdentity, within_seconds};
use mux_proto::{AcceptPinsRequest, Kind, PinStanding, PinsRequest, SeenTool};
use mux_tests::env::binary;
use serde_json::json;

use super::{Home, POISON, poison};

#[test]
fn accepted_definition_can_be_called() {
    let home = Home::poisoned("");
    home.echo_is_refused();
    // Without a terminal there is no question, and nothing is accepted.
    let shown = home.env.mux(["servers", "accept", "fix"]);
    shown.fails(
        5,
        &[
            "-  \"description\": \"Returns its text.\"",
            "+  \"description\": \"POISON\"",
            "--yes",
        ],
    );
    home.echo_is_refused();
    let json = home
        .env
        .mux(["--json", "servers", "accept", "fix", "echo", "--yes"])
        .ok()
        .json();
    assert_eq!(json["accepted"], 1);
    assert!(
        json["tools"][0]["diff"].as_str().unwrap().contains(POISON),
        "{json}"
    );
    home.echo().ok();
    assert!(
        home.env
            .mux(["types", "fix.echo"])
            .ok()
            .stdout
            .contains(POISON)
    );
    assert!(home.warnings().is_empty(), "{:?}", home.warnings());
    let again = home.env.mux(["servers", "accept", "fix", "--yes"]).ok();
    assert!(again.stdout.contains("nothing to accept"), "{again:?}");
    home.env.stop();
    home.echo().ok();
    // The original definition is another change now.
    home.change(&json!({}));
    home.announce();
    home.echo_is_refused();
    home.env
        .mux(["servers", "accept", "fix", "nope"])
        .fails(1, &["has no tool `nope`"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn change_during_review_is_not_accepted() {
    let home = Home::poisoned("");
    let env = &home.env;
    let identity = ClientIdentity::new("test", "0");
    let session = mux_client::connect_or_spawn(&env.dirs, Some(binary("muxd")), &identity);
    let client = session.await.unwrap().client;
    let ask = PinsRequest {
        server: "fix".into(),
        current: true,
    };
    let list = client
        .pins(within_seconds(60), ask.clone())
        .await
        .unwrap()
        .unwrap();
    let echo = list.tools.iter().find(|tool| tool.name == "echo").unwrap();
    assert_eq!(echo.standing, PinStanding::Refused);
    assert!(echo.before.as_ref().unwrap().contains("Returns its text."));
    assert!(echo.now.as_ref().unwrap().contains(POISON));

    let mut worse = poison();
    worse["echo"]["list"]["title"] = json!("WORSE");
    home.change(&worse);
    home.announce();
    let seen = |digest: &str, name: &str| AcceptPinsRequest {
        server: "fix".into(),
        tools: vec![SeenTool {
            name: name.into(),
            digest: digest.into(),
        }],
    };
    let digest = echo.digest.clone().unwrap();
    for (request, kind) in [
        (seen(&digest, "echo"), Kind::Validation),
        (seen("rubbish", "echo"), Kind::Validation),
        (seen(&"0".repeat(64), "add"), Kind::Validation),
        (seen(&digest, "nope"), Kind::NotFound),
    ] {
        let answer = client
            .accept_pins(within_seconds(60), request)
            .await
            .unwrap();
        assert_eq!(answer.unwrap_err().kind, kind);
    }
    home.echo_is_refused();
    let list = client.pins(within_seconds(60), ask).await.unwrap().unwrap();
    let echo = list.tools.iter().find(|tool| tool.name == "echo").unwrap();
    let request = seen(echo.digest.as_ref().unwrap(), "echo");
    let accepted = client
        .accept_pins(within_seconds(60), request)
        .await
        .unwrap();
    assert_eq!(accepted.unwrap().tools, 1);
    home.echo().ok();
}
