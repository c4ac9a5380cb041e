//! The page in a real browser, by the tests in `tests/browser`. Where there is no browser, they are skipped.

use std::fs;

use mux_tests::{Authority, Browser, Page, TestEnv, browser, left_out};
use serde_json::json;

/// Runs a file of browser tests in this home, or skips it without a browser.
#[track_caller]
pub(crate) fn drive(file: &str, env: &TestEnv) {
    match Browser::here() {
        Ok(browser) => browser.tests(file, env, &Page::serve(env)),
        Err(why) => left_out(&format!("the page of mux ui, {file}"), &why),
    }
}

#[test]
fn every_file_of_browser_tests_is_run() {
    let files = [
        "account",
        "approvals",
        "call",
        "crowd",
        "hostile",
        "live",
        "login",
        "look",
        "pool",
        "restart",
        "sandbox",
        "servers",
        "tools",
    ];
    assert_eq!(browser::files(), files);
}

#[test]
fn page_of_an_empty_pool_shows_what_to_do() {
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
fn tools_are_called_by_a_form_with_the_policy_of_mux_call() {
    let env = TestEnv::new();
    let changes = env.path("changes.json");
    let schema = json!({
        "type": "object",
        "properties": {
            "tags": { "type": "array", "items": { "type": "string" } },
            "mood": { "$ref": "#/$defs/mood", "description": "How it sounds", "default": "calm" },
            "loud": { "anyOf": [{ "type": "boolean" }, { "type": "null" }] },
            "value": { "description": "Anything" },
        },
        "required": ["value"],
        "$defs": { "mood": { "enum": ["calm", "bold"] } },
    });
    let output = json!({ "echo_json": { "list": { "inputSchema": schema } } });
    fs::write(&changes, output.to_string()).unwrap();
    let fix = env.fixture("fix", &["--changes", changes.to_str().unwrap()]);
    let rules = "[[policy]]\nmatch = \"fix.counter\"\naction = \"ask\"\nreason = \"it counts\"\n\
        [[policy]]\nmatch = \"fix.env\"\naction = \"deny\"\nreason = \"secrets are there\"\n";
    env.write_config(&format!("{fix}{rules}"));
    drive("call", &env);
}

#[test]
fn servers_are_restarted_enabled_and_disabled_and_doctor_names_what_is_wrong() {
    let env = TestEnv::new();
    let [fix, other] = ["fix", "other"].map(|name| env.fixture(name, &[]));
    let dead = env.fixture("zz_dead", &["--exit-at-start", "3"]);
    env.write_config(&format!("{fix}{other}{dead}"));
    drive("servers", &env);
}

#[test]
fn a_login_is_started_on_the_page_and_its_end_is_shown() {
    let authority = Authority::default();
    let env = TestEnv::with_config(&authority.server("ours", ""));
    drive("login", &env);
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn page_is_readable_and_usable_by_keyboard_and_on_a_phone() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    let named = env.fixture("everything_and_more", &["--tools", "120"]);
    let dead = env.fixture("dead", &["--exit-at-start", "3"]);
    let rule = "[[policy]]\nmatch = \"fix.counter\"\naction = \"ask\"\nreason = \"it counts\"\n";
    env.write_config(&format!("{fix}{named}{dead}{rule}"));
    drive("look", &env);
}

#[test]
fn a_tool_is_found_with_its_types() {
    drive(
        "tools",
        &TestEnv::with_fixtures(&[("fix", &[]), ("many", &["--tools", "120"])]),
    );
}

#[test]
fn page_shows_two_hundred_runs_and_five_hundred_calls_in_eight_tabs() {
    drive("crowd", &TestEnv::with_fixtures(&[("fix", &[])]));
}

#[test]
fn texts_of_servers_are_shown_as_plain_text() {
    let env = TestEnv::new();
    let changes = env.path("changes.json");
    let markup = "<img src=x onerror=alert(document.domain)>";
    let turned = "\u{202e}txt.evil\u{2066}\u{200b} end";
    let long = format!("{markup} {}", "many words that say nothing ".repeat(40_000));
    let output = json!({
        "echo": { "list": { "name": markup, "description": markup, "title": markup } },
        "add": { "list": { "name": format!("turn {turned}"), "description": turned } },
        "counter": { "list": { "description": long } },
        "cwd": { "list": { "inputSchema": {
            "type": "object",
            "properties": {
                markup: { "type": "string", "description": markup, "default": turned },
                turned: { "enum": [markup, turned], "default": markup },
                "__proto__": { "type": turned, "description": turned },
            },
        } } },
        "fail": { "result": { "isError": true, "content": [{ "type": "text", "text": format!("{markup}{turned}") }] } },
    });
    fs::write(&changes, output.to_string()).unwrap();
    let fix = env.fixture("fix", &["--changes", changes.to_str().unwrap()]);
    let rule =
        format!("[[policy]]\nmatch = \"fix.echo_json\"\naction = \"ask\"\nreason = {markup:?}\n");
    env.write_config(&format!("{fix}{rule}"));
    drive("hostile", &env);
}

#[test]
fn page_outlives_the_daemon_and_shows_when_mux_ui_has_ended() {
    drive("restart", &TestEnv::with_fixtures(&[("fix", &[])]));
}
