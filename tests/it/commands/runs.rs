//! `mux runs` and `mux run --detach`: runs that another client started.

use mux_tests::TestEnv;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{complains, prints};

/// A program that runs until it is cancelled.
const ENDLESS: &str = "console.log('begun'); await mux.fix.hang()";

/// Starts a program and returns the id of its run.
fn detach(env: &TestEnv, code: &str) -> String {
    let output = env.mux(["run", "--detach", "-e", code]).ok();
    let run = output.stdout.trim_end().to_owned();
    let note = format!("note: `mux runs watch {run}` follows it; ");
    assert!(output.stderr.starts_with(&note), "{output:#?}");
    run
}

fn number(run: &str) -> &str {
    run.rsplit_once('-').unwrap().1
}

#[test]
fn commands_runs_watch_follows_a_detached_run_and_exits_like_it() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let run = detach(
        &env,
        "console.log('one'); await mux.fix.echo({ text: 'x' }); console.log('two'); return [1]",
    );
    for name in [run.as_str(), number(&run)] {
        let output = env.mux(["runs", "watch", name]).ok();
        assert_eq!(output.stdout, "[\n  1\n]\n", "{output:#?}");
        assert_eq!(output.stderr, "one\ntwo\n", "{output:#?}");
    }
    // `--after` an event in the middle, and after the last one.
    let late = env.mux(["runs", "watch", &run, "--after", "3"]).ok();
    assert_eq!(late.stderr, "two\n", "{late:#?}");
    prints(
        env.mux(["runs", "watch", &run, "--after", "1000"]),
        "[\n  1\n]\n",
    );

    let started = env
        .mux(["run", "--json", "--detach", "-e", "throw new Error('no')"])
        .ok()
        .json();
    assert_eq!(started["ok"], true);
    let failed = started["run"].as_str().unwrap();
    complains(
        env.mux(["runs", "watch", failed]),
        1,
        &["error[runtime]: no", "--> program:1:"],
    );
    let document = env.mux(["runs", "watch", failed, "--json"]).json();
    assert_eq!(document["run"], failed, "{document:#}");
    assert_eq!(document["error"]["message"], "no", "{document:#}");
    complains(
        env.mux(["program", "--detach", "-e", "{}", "--timeout", "10m"]),
        2,
        &["from 1s to 300s"],
    );
}

#[test]
fn commands_runs_watch_interrupted_does_not_cancel_the_run() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let run = detach(&env, ENDLESS);
    for json in [false, true] {
        let mut args = vec!["runs", "watch", &run];
        args.extend(json.then_some("--json"));
        let mut watching = env.begin(&args);
        if json {
            // It prints nothing before the end: wait until it handles signals.
            until_it_listens(watching.pid());
        } else {
            watching.wait_for("begun");
        }
        watching.signal(Signal::SIGINT);
        let output = watching
            .wait()
            .fails(130, &["the run goes on", "mux runs cancel"]);
        if json {
            let document = output.json();
            assert_eq!(document["error"]["kind"], "cancelled", "{document:#}");
            assert_eq!(document["run"], *run, "{document:#}");
        }
        let list = env.mux(["runs", "--running", "--json"]).ok().json();
        assert_eq!(list["runs"][0]["run"], *run, "{list:#}");
    }
    prints(
        env.mux(["runs", "cancel", &run]),
        &format!("{run} was cancelled\n"),
    );
    complains(env.mux(["runs", "watch", &run]), 130, &["error[cancelled]"]);
}

/// Waits until a process catches SIGINT, as shown in `/proc`.
fn until_it_listens(pid: i32) {
    let caught = 1_u64 << (Signal::SIGINT as i32 - 1);
    for _ in 0..1_000_000 {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .map(|mask| u64::from_str_radix(mask.trim(), 16).unwrap());
        if mask.unwrap() & caught != 0 {
            return;
        }
        std::thread::yield_now();
    }
    panic!("{pid} does not listen to SIGINT");
}

#[test]
fn commands_runs_lists_running_and_ended_runs() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.run("// what it is\nconst a = 1;").ok();
    complains(
        env.run("await mux.fix.fail({ message: 'x' })"),
        1,
        &["error[tool]"],
    );
    let endless = detach(&env, ENDLESS);

    let output = env.mux(["runs"]).ok();
    assert_eq!(output.stderr, "", "{output:#?}");
    let listed = env.mux(["runs", "list"]).ok().stdout;
    let rows: Vec<Vec<&str>> = listed
        .lines()
        .map(|row| {
            row.split("  ")
                .map(str::trim)
                .filter(|c| !c.is_empty())
                .collect()
        })
        .collect();
    assert_eq!(rows.len(), 4, "{output:#?}");
    assert_eq!(
        rows[0],
        [
            "RUN", "STATE", "BEGAN", "TOOK", "CALLS", "CLIENT", "PROGRAM"
        ]
    );
    assert_eq!(rows[1][0], endless);
    assert!(["waiting", "running"].contains(&rows[1][1]), "{output:#?}");
    assert_eq!((rows[2][1], rows[2][4]), ("failed (tool)", "1 (1 failed)"));
    assert_eq!((rows[3][1], rows[3][5]), ("succeeded", "mux"));

    let one = env.mux(["runs", "--limit", "1"]).ok();
    assert_eq!(one.stdout.lines().count(), 2, "{one:#?}");
    assert_eq!(one.stderr, "1 of 3 runs; --limit shows more\n");
    let running = env.mux(["runs", "--running", "--json"]).ok().json();
    assert_eq!(running["total"], 1, "{running:#}");
    assert_eq!(running["runs"][0]["detached"], true, "{running:#}");

    let cancelled = env.mux(["runs", "cancel", number(&endless), "1"]).ok();
    let first = env.mux(["--json", "runs", "show", "1"]).ok().json();
    let first = first["run"].as_str().unwrap();
    assert_eq!(
        cancelled.stdout,
        format!("{endless} was cancelled\n{first} had ended: succeeded\n")
    );
    let none = env.mux(["runs", "--running"]).ok();
    assert_eq!(
        (none.stdout.as_str(), none.stderr.as_str()),
        ("", "nothing is running\n")
    );
}

#[test]
fn commands_runs_name_a_program_after_its_file() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let write = |name: &str, text: &str| std::fs::write(env.path(name), text).unwrap();
    write(
        "report.ts",
        "// what it is\nreturn await mux.fix.add({ a: 1, b: 2 })",
    );
    write(
        "sizes.json",
        r#"{"steps": [{"id": "a", "tool": "fix.add", "args": {"a": 1, "b": 2}}]}"#,
    );
    env.mux(["run", "./report.ts", "--record", "report.muxrec"])
        .ok();
    env.mux(["program", "sizes.json"]).ok();
    env.mux(["replay", "report.muxrec"]).ok();
    env.mux_with_input(["run", "-"], b"return 'from standard input'")
        .ok();
    let list = env.mux(["runs", "--json"]).ok().json();
    let titles: Vec<&str> = list["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["title"].as_str().unwrap())
        .collect();
    assert_eq!(
        titles,
        [
            "return 'from standard input'",
            "report.muxrec",
            "sizes.json",
            "report.ts"
        ]
    );
    let shown = env.mux(["runs", "show", "1"]).ok();
    assert!(shown.stdout.contains("program  report.ts\n"), "{shown:#?}");
}

#[test]
fn commands_runs_show_prints_state_events_and_result() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.run("console.warn('hm'); await mux.fix.echo({ text: 'abc' }); return { a: 1 }")
        .ok();
    let shown = env.mux(["runs", "show", "1"]).ok();
    for part in [
        "state    succeeded\n",
        "client   mux\n",
        "calls    1\n",
        "\nhm\n",
        "\u{2713} fix.echo  ",
        "{\n  \"a\": 1\n}\n",
    ] {
        assert!(shown.stdout.contains(part), "{part:?} in {shown:#?}");
    }
    assert_eq!(shown.stderr, "", "{shown:#?}");
    let document = env.mux(["runs", "show", "1", "--json"]).ok().json();
    assert_eq!(document["state"], "succeeded");
    assert_eq!(document["result"], json!({ "a": 1 }));
    assert_eq!(document["calls"][0]["path"], "fix.echo");
    assert_eq!(document["console"][0]["text"], "hm");
    assert_eq!(document["parts"], json!([]));

    // Showing a failed run succeeds.
    env.run("throw new Error('no')").fails(1, &[]);
    let failed = env.mux(["runs", "show", "2"]).ok();
    assert!(failed.stderr.contains("error[runtime]: no"), "{failed:#?}");
    // A running one is shown as far as it has come.
    let run = detach(&env, ENDLESS);
    let open = loop {
        let open = env.mux(["runs", "show", &run, "--json"]).ok().json();
        if open["console"] != json!([]) {
            break open;
        }
    };
    assert_eq!(open["state"], "running", "{open:#}");
    assert_eq!(
        (open.get("result"), open.get("error")),
        (None::<&Value>, None)
    );
    let open = env.mux(["runs", "show", &run]).ok();
    assert!(open.stderr.contains("mux runs watch"), "{open:#?}");
}
