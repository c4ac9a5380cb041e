//! The page in a real browser, by the tests in `tests/browser`. Where there is no browser, they say so.

use std::fs;

use mux_tests::{Browser, Page, TestEnv, browser, left_out};
use serde_json::json;

/// Runs a file of tests in this home, if anything can run it.
#[track_caller]
fn drive(file: &str, env: &TestEnv) {
    match Browser::here() {
        Ok(browser) => browser.tests(file, env, &Page::serve(env)),
        Err(why) => left_out(&format!("the page of mux ui, {file}"), &why),
    }
}

#[test]
fn every_file_of_tests_is_run() {
    let files = [
        "approvals",
        "crowd",
        "hostile",
        "live",
        "pool",
        "restart",
        "tools",
    ];
    assert_eq!(browser::files(), files);
}

#[test]
fn an_empty_pool_says_what_to_do() {
    drive("pool", &TestEnv::new());
}

#[test]
fn a_run_is_shown_while_it_runs() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let config = env.fixture("fix", &[]) + &env.fixture("dead", &["--exit-at-start", "3"]);
    env.write_config(&config);
    drive("live", &env);
}

#[test]
fn approvals_take_one_click() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    let rule = "[[policy]]\nmatch = \"fix.counter\"\naction = \"ask\"\nreason = \"it counts\"\n";
    env.write_config(&format!("{fix}{rule}"));
    drive("approvals", &env);
}

#[test]
fn a_tool_is_found_with_its_types() {
    drive(
        "tools",
        &TestEnv::with_fixtures(&[("fix", &[]), ("many", &["--tools", "120"])]),
    );
}

#[test]
fn two_hundred_runs_five_hundred_calls_and_eight_tabs() {
    drive("crowd", &TestEnv::with_fixtures(&[("fix", &[])]));
}

#[test]
fn what_servers_say_is_text_and_nothing_else() {
    let env = TestEnv::new();
    let changes = env.path("changes.json");
    let markup = "<img src=x onerror=alert(document.domain)>";
    let turned = "\u{202e}txt.evil\u{2066}\u{200b} end";
    let long = format!("{markup} {}", "many words that say nothing ".repeat(40_000));
    let told = json!({
        "echo": { "list": { "name": markup, "description": markup, "title": markup } },
        "add": { "list": { "name": format!("turn {turned}"), "description": turned } },
        "counter": { "list": { "description": long } },
        "fail": { "result": { "isError": true, "content": [{ "type": "text", "text": format!("{markup}{turned}") }] } },
    });
    fs::write(&changes, told.to_string()).unwrap();
    let fix = env.fixture("fix", &["--changes", changes.to_str().unwrap()]);
    let rule =
        format!("[[policy]]\nmatch = \"fix.echo_json\"\naction = \"ask\"\nreason = {markup:?}\n");
    env.write_config(&format!("{fix}{rule}"));
    drive("hostile", &env);
}

#[test]
fn it_outlives_the_daemon_and_says_when_it_has_ended_itself() {
    drive("restart", &TestEnv::with_fixtures(&[("fix", &[])]));
}
