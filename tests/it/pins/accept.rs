//! The user reviews a change and accepts exactly that change.

use serde_json::json;

use super::{Home, POISON};

#[test]
fn accepted_definition_can_be_called() {
    let home = Home::poisoned("");
    home.echo_is_refused();
    // Without a terminal there is no question, and no tool is accepted.
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
        json["tools"][0]["now"].as_str().unwrap().contains(POISON),
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
