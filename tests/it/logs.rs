//! `mux logs`: the logs of the daemon and of servers, merged by time, filtered by run and level, followed, and with any
//! content.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
};

use mux_tests::{Running, TestEnv};
use serde_json::Value;

/// Each line of `mux logs --json`.
fn logs(env: &TestEnv, args: &[&str]) -> Vec<Value> {
    let all = env
        .mux(["logs", "--json", "-n", "100000"].iter().chain(args))
        .ok();
    lines(&all.stdout)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

fn has(lines: &[Value], text: &str) -> bool {
    let mut texts = lines.iter().filter_map(|line| line["text"].as_str());
    texts.any(|found| found.contains(text))
}

#[test]
fn logs_of_daemon_and_servers_are_merged_by_time_and_filtered_by_run() {
    let env = TestEnv::with_fixtures(&[("a", &["--stderr-at-start", "2"]), ("b", &[])]);
    let code = |server: &str, lines: u32| {
        format!("return await mux.{server}.stderr({{ lines: {lines} }})")
    };
    let run = |server: &str, lines: u32| {
        let answered = env
            .mux(["--json", "run", "-e", &code(server, lines)])
            .ok()
            .json();
        answered["run"].as_str().unwrap().to_owned()
    };
    let first = run("a", 3);
    // Standard error is not ordered with respect to the reply.
    let until = |text: &str| {
        for _ in 0..2000 {
            if has(&logs(&env, &[]), text) {
                return;
            }
        }
        panic!("{text:?} is in no log");
    };
    until("stderr line 3 of 3");
    let second = run("b", 4);
    until("stderr line 4 of 4");

    let all = logs(&env, &[]);
    let times: Vec<&str> = all
        .iter()
        .filter_map(|line| line["time"].as_str())
        .collect();
    assert_eq!(times.len(), all.len(), "each line has a time");
    let of = |server: &str| all.iter().filter(|line| line["server"] == server).count();
    assert_eq!((of("a"), of("b")), (5, 4));
    let place = |text: &str| {
        all.iter()
            .position(|line| line["text"].as_str().unwrap().contains(text))
            .unwrap()
    };
    let accepted = format!("run{{id=\"{first}\"}}");
    assert!(place(&accepted) < place("stderr line 1 of 3"));
    assert!(place("stderr line 1 of 3") < place("stderr line 1 of 4"));

    for wanted in [&*first, first.rsplit_once('-').unwrap().1] {
        let run = logs(&env, &["--run", wanted]);
        assert!(
            has(&run, "run accepted") && has(&run, "stderr line 3 of 3"),
            "{run:#?}"
        );
        assert!(
            !has(&run, "of 4") && !has(&run, "start-up line"),
            "{run:#?}"
        );
        for line in &run {
            assert_eq!(line["runs"][0], first, "{line}");
        }
    }
    let shown = env.mux(["logs", "--run", &second, "--server", "b"]).ok();
    assert_eq!(shown.stdout.lines().count(), 4, "{shown:?}");
    assert!(
        shown.stdout.contains(&format!(
            "(during run {})",
            second.rsplit('-').next().unwrap()
        )),
        "{shown:?}"
    );
    assert!(!shown.stdout.contains('\u{1b}'), "there is no terminal");
    // Server output has the level info.
    assert!(!has(&logs(&env, &["--level", "warn"]), "stderr line"));
    assert!(logs(&env, &["--since", "2000-01-01"]).len() >= all.len());
    assert!(logs(&env, &["--since", "2999-01-01"]).is_empty());
    let last = env.mux(["logs", "--json", "-n", "2"]).ok();
    assert_eq!(last.stdout.lines().count(), 2);
    // The logs are read from the files, without a daemon.
    env.stop();
    assert!(logs(&env, &[]).len() > all.len());
    assert!(env.daemon().is_none());
}

#[test]
fn log_has_failed_calls_of_a_run_and_no_line_for_each_command() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let code = "try { await mux.fix.fail({ message: 'no' }) } catch {}\n\
                await mux.fix.pid(); return 1";
    let output = env.mux(["--json", "run", "-e", code]).ok().json();
    let run = output["run"].as_str().unwrap();
    // Both logs are written in the background.
    let is_written = |args: &[&str], text: &str| env.mux(args).stdout.contains(text);
    let log = ["logs", "--run", run, "--level", "info"];
    let audit = ["audit", "--run", run];
    let mut polls = 0..2000;
    assert!(
        polls.any(|_| is_written(&log, "call failed") && is_written(&audit, "fix.pid")),
        "{run} is in no log"
    );
    let lines = logs(&env, &log[1..]);
    assert!(
        has(&lines, "fix.fail") && !has(&lines, "fix.pid"),
        "{lines:#?}"
    );
    let info = logs(&env, &["--level", "info"]);
    assert!(!has(&info, "hello") && !has(&info, "RPC{"), "{info:#?}");
    let shown = env.mux(["logs", "--run", run]).ok();
    let hint = format!("`mux audit --run {run}` lists its calls");
    assert!(shown.stderr.contains(&hint), "{shown:?}");
    assert!(is_written(&audit, "fix.fail"));
}

#[test]
fn logs_are_followed_across_restarts_and_new_servers() {
    let env = TestEnv::with_fixtures(&[("a", &[]), ("b", &[])]);
    let mut followed = env.begin(["logs", "-f", "--json", "-n", "0"]);
    let until = |followed: &mut Running, text: &str| loop {
        let line = followed.next_line_of_output();
        assert!(!line.is_empty(), "it ended without {text:?}");
        if line.contains(text) {
            return serde_json::from_str::<Value>(&line).unwrap();
        }
    };
    env.mux(["call", "a.stderr", "lines=2"]).ok();
    assert_eq!(until(&mut followed, "stderr line 2 of 2")["server"], "a");
    let first = env.daemon().unwrap();
    env.mux(["restart"]).ok();
    let second = env.daemon().unwrap();
    assert_ne!(first, second);
    until(&mut followed, &format!("serving pid={second}"));
    env.mux(["call", "b.stderr", "lines=3"]).ok();
    assert_eq!(until(&mut followed, "stderr line 3 of 3")["server"], "b");
    followed.signal(nix::sys::signal::Signal::SIGINT);
    assert_eq!(followed.wait().code, 0);
}

fn append(file: &Path, text: &str) {
    let mut log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .unwrap();
    log.write_all(text.as_bytes()).unwrap();
}

#[test]
fn logs_are_read_and_followed_across_rotation() {
    let env = TestEnv::new();
    env.dirs.prepare().unwrap();
    let log = env.dirs.logs().join("muxd.log");
    let line = |n: u32| format!("2026-11-22T08:00:{n:02}.000000Z  INFO test: line {n};\n");
    let turn = || {
        for n in (1..4).rev() {
            drop(fs::rename(
                log.with_extension(format!("log.{n}")),
                log.with_extension(format!("log.{}", n + 1)),
            ));
        }
        fs::rename(&log, log.with_extension("log.1")).unwrap();
    };
    // A file of the earlier rotation by date.
    append(&env.dirs.logs().join("muxd.2026-11-22.log"), &line(0));
    for n in 1..4 {
        append(&log, &line(n));
        turn();
    }
    append(&log, &line(4));
    let texts: Vec<Value> = logs(&env, &[])
        .iter()
        .map(|line| line["text"].clone())
        .collect();
    let expected: Vec<String> = (0..5).map(|n| format!("test: line {n};")).collect();
    assert_eq!(texts, expected);
    let mut followed = env.begin(["logs", "-f", "-n", "1"]);
    assert!(followed.next_line_of_output().contains("line 4;"));
    for n in 5..12 {
        append(&log, &line(n));
        if n % 2 == 0 {
            turn();
        }
    }
    for n in 5..12 {
        let said = followed.next_line_of_output();
        assert!(said.contains(&format!("line {n};")), "{said}");
    }
}

#[test]
fn control_characters_are_stripped_and_long_lines_are_shortened() {
    let env = TestEnv::new();
    env.dirs.prepare().unwrap();
    let file = env.dirs.server_log("evil");
    let mut bytes = b"no time at all \x1b[2J\x1b]0;owned\x07\n".to_vec();
    bytes.extend(b"2026-11-22T08:00:01.000000Z - \xff\xfe\x00\x9b1mbinary\r\xe2\x80\xae\n");
    bytes.extend(b"2026-11-22T08:00:02.000000Z - long ");
    bytes.extend(vec![b'x'; 10 << 20]);
    bytes.extend(b"\n2026-11-22T08:00:03.000000Z - \xc2\x9b2Jlast\n");
    fs::write(&file, bytes).unwrap();
    fs::write(env.dirs.logs().join("muxd.log"), [0u8, 27, 99, 10]).unwrap();
    for args in [
        &["logs"][..],
        &["servers", "logs", "evil"],
        &["logs", "--json"],
    ] {
        let shown = env.mux(args).ok().stdout;
        let acts = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(!shown.chars().any(acts), "{args:?}: {shown:?}");
        assert!(
            shown.contains("owned") && shown.contains("binary"),
            "{args:?}"
        );
        assert!(shown.contains("2Jlast"), "{args:?}");
        assert!(shown.len() < 64 << 10, "{args:?}: {} bytes", shown.len());
    }
    let long = logs(&env, &["--server", "evil"]);
    assert_eq!(long[2]["bytes"], 10_485_760 + 35, "{}", long[2]["bytes"]);
    assert!(env.mux(["logs", "-n", "2"]).ok().stdout.contains("10"));
}

#[test]
fn missing_logs_and_invalid_options_are_errors() {
    let env = TestEnv::new();
    env.mux(["logs"]).fails(1, &["there is no log"]);
    env.dirs.prepare().unwrap();
    append(
        &env.dirs.server_log("a"),
        "2026-11-22T08:00:01.000000Z - x\n",
    );
    env.mux(["logs", "--server", "b"])
        .fails(1, &["a server `b`"]);
    env.mux(["logs", "--since", "yesterday"])
        .fails(2, &["--since"]);
    env.mux(["logs", "--level", "loud"]).fails(2, &["--level"]);
    env.mux(["logs", "--daemon", "--server", "a"])
        .fails(2, &["--server"]);
    // The log of a project's server has a suffix after the server's name.
    append(
        &env.dirs.server_log("p@0123456789abcdef"),
        "2026-11-22T08:00:02.000000Z - of p\n",
    );
    let shown = env.mux(["servers", "logs", "p"]).ok();
    assert!(shown.stdout.contains("of p"), "{shown:?}");
}
