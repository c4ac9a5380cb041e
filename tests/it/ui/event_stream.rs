//! The event stream of a page: the whole state first, then changes, across restarts of the daemon.

use mux_tests::{Page, TestEnv};
use serde_json::{Value, json};

use super::page_requests;

/// The messages of one tab.
pub(super) struct EventStream(Box<dyn Iterator<Item = String>>);

impl EventStream {
    /// `more` is appended to the path.
    pub(super) fn open(page: &Page, more: &str) -> Self {
        let head =
            format!("GET /api/stream{more} HTTP/1.1\nHost: HOST\nAuthorization: Bearer TOKEN");
        Self(Box::new(page_requests::lines(page_requests::request(
            page, &head, "",
        ))))
    }

    fn next(&mut self) -> Option<Value> {
        let text = self
            .0
            .find_map(|line| Some(line.strip_prefix("data: ")?.to_owned()))?;
        Some(serde_json::from_str(&text).unwrap())
    }

    /// The next message for which `holds` is true.
    #[track_caller]
    pub(super) fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().expect("the stream has ended");
            if holds(&message) {
                return message;
            }
        }
    }

    pub(super) fn ends(&mut self) -> bool {
        while self.next().is_some() {}
        true
    }
}

fn changed<'a>(message: &'a Value, run: &str) -> Option<&'a Value> {
    let changed = message["runs"]["changed"].as_array()?;
    changed.iter().find(|info| info["run"] == run)
}

#[test]
fn stream_has_the_whole_state_first_and_then_changes() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let first = env.mux([
        "--json",
        "run",
        "-e",
        "return await mux.fix.echo({ text: 'x' })",
    ]);
    let first = first.ok().json()["run"].as_str().unwrap().to_owned();
    let page = Page::serve(&env);
    let mut tab = EventStream::open(&page, "");
    let hello = tab.until(|message| !message["build"].is_null());
    assert_eq!(hello["link"]["up"], true);
    tab.until(|message| changed(message, &first).is_some_and(|run| run["state"] == "succeeded"));
    let latencies = tab.until(|message| !message["latencies"].is_null());
    assert_eq!(latencies["latencies"][0]["path"], "fix.echo");
    assert_eq!(latencies["latencies"][0]["calls"], 1);
    let second = env.mux(["--json", "run", "-e", "return 2"]).ok().json();
    let second = second["run"].as_str().unwrap();
    let news = tab.until(|message| changed(message, second).is_some());
    assert!(changed(&news, &first).is_none(), "{news}");
}

#[test]
fn the_events_of_a_run_come_in_order_and_from_any_point() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let code = "console.log(1); await mux.fix.echo({ text: 'x' }); return 7";
    let run = env.mux(["--json", "run", "-e", code]).ok().json();
    let run = run["run"].as_str().unwrap().to_owned();
    let page = Page::serve(&env);
    let events = |more: &str| {
        let mut tab = EventStream::open(&page, &format!("?run={run}{more}"));
        let message = tab.until(|message| !message["events"].is_null());
        message["events"].as_array().unwrap().clone()
    };
    let all = events("");
    assert_eq!(all[0]["seq"], 1);
    assert_eq!(
        all.last().unwrap()["event"]["ended"]["outcome"]["result"],
        7
    );
    assert_eq!(events("&after=2"), all[2..]);
    let mut missing = EventStream::open(&page, "?run=nobody-7");
    let missing = missing.until(|message| !message["missing"].is_null());
    assert_eq!(missing["missing"]["kind"], "not_found");
}

#[test]
fn stream_reports_the_end_of_the_daemon_and_its_successor() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let run = env.mux(["--json", "run", "-e", "return 1"]).ok().json();
    let run = run["run"].as_str().unwrap();
    let page = Page::serve(&env);
    let mut tab = EventStream::open(&page, &format!("?run={run}"));
    tab.until(|message| changed(message, run).is_some());
    env.stop();
    let down = tab.until(|message| message["link"]["up"] == false);
    assert!(down["link"]["reason"].is_string(), "{down}");
    // No request of the page starts a daemon.
    let grants = "GET /api/grants HTTP/1.1\nHost: HOST\nAuthorization: Bearer TOKEN";
    assert_eq!(page_requests::send(&page, grants, "").status, 503);
    assert!(env.daemon().is_none());
    env.mux(["--json", "run", "-e", "return 2"]).ok();
    tab.until(|message| message["link"]["up"] == true);
    // The history of the new daemon has the run.
    let runs = tab.until(|message| !message["runs"]["gone"].is_null());
    assert_eq!(runs["runs"]["gone"], json!([]), "{runs}");
}
