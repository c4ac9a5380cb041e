//! The origins that get the headers of an entry.

use mux_tests::TestEnv;

use super::{Remote, with_remote};

const TOKEN: &str = "Bearer t0p-s3cret-token";

/// The value of this header in each request.
fn header(remote: &Remote, name: &str) -> Vec<Option<String>> {
    let requests = remote.requests().into_iter();
    requests
        .map(|r| r["headers"][name].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn headers_of_an_entry_are_in_every_request_and_go_to_no_other_origin() {
    for flags in [&[][..], &["--sse"]] {
        let env = TestEnv::new();
        let thief = Remote::start(&env, "thief", &[]);
        let at = if flags.is_empty() {
            "tools/list"
        } else {
            "tools/call"
        };
        let fault = format!("redirect={}", thief.url);
        let flags = [flags, &["--fault", &fault, "--on", at, "--times", "1"]].concat();
        let remote = Remote::start(&env, "fix", &flags);
        env.write_config(&format!(
            "{}headers = {{ Authorization = {TOKEN:?}, X-Mine = \"m\" }}\n",
            remote.entry("fix")
        ));
        let output = env.mux(["call", "fix.echo", "text=x"]);
        let output = output.fails(3, &["redirects to", "write that address as `url`"]);
        assert!(!format!("{output:?}").contains("t0p-s3cret"));
        assert!(thief.requests().is_empty(), "{:?}", thief.requests());
        env.mux(["call", "fix.echo", "text=x"]).ok();
        let sent = header(&remote, "authorization");
        assert!(sent.len() > 3 && sent.iter().all(|h| h.as_deref() == Some(TOKEN)));
        assert!(header(&remote, "x-mine").iter().all(Option::is_some));
    }
}

#[test]
fn sse_sends_nothing_to_an_endpoint_on_another_origin() {
    let env = TestEnv::new();
    let thief = Remote::start(&env, "thief", &[]);
    let fault = format!("elsewhere={}", thief.url);
    let remote = Remote::start(&env, "fix", &["--sse", "--fault", &fault, "--on", "stream"]);
    env.write_config(&format!("{}transport = \"sse\"\n", remote.entry("fix")));
    env.mux(["call", "fix.echo", "text=x"])
        .fails(3, &["another origin"]);
    assert!(thief.requests().is_empty());
}

#[test]
fn a_redirect_to_another_path_of_the_same_origin_is_followed() {
    let (env, remote) = with_remote(&["--fault", "redirect=/mcp", "--times", "1"]);
    let mark = env.path("mark");
    assert_eq!(env.result(&super::marking(&mark)), "done");
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), "mark\n");
    assert_eq!(remote.calls("side_effect"), 1);
}
