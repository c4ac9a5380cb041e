//! `mux runs` and `mux run --detach`: runs that another client started.

use mux_tests::{
    TestEnv, mux_snapshot,
    output_snapshot::{TABLE, bind_filters},
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::prints;

/// A program that runs until it is cancelled.
const ENDLESS: &str = "console.log('begun'); await mux.fix.hang()";

/// Starts a program and returns the id of its run.
fn detach(env: &TestEnv, code: &str) -> String {
    let output = env.mux(["run", "--detach", "-e", code]).ok();
    let run = output.stdout.trim_end().to_owned();
    let note = format!("note: `mux runs watch {}` follows it; ", number(&run));
    assert!(output.stderr.starts_with(&note), "{output:#?}");
    run
}

/// A home with a fixture server that logs its calls.
fn home() -> TestEnv {
    let env = TestEnv::new();
    let log = env.path("calls");
    env.write_config(&env.fixture("fix", &["--call-log", log.to_str().unwrap()]));
    env
}

/// Starts a program that waits for its first call, and returns the id of its run.
fn detach_endless(env: &TestEnv) -> String {
    let run = detach(env, ENDLESS);
    env.until_called(&env.path("calls"), "hang", 1, "fix.pid");
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
    let late = env.mux(["runs", "watch", &run, "--after", "3"]);
    mux_snapshot!(late, @"
    success: true
    exit_code: 0
    ----- stdout -----
    [
      1
    ]
    ----- stderr -----
    two
    ");
    prints(
        env.mux(["runs", "watch", &run, "--after", "1000"]),
        "[\n  1\n]\n",
    );

    let started = env
        .mux(["run", "--json", "--detach", "-e", "throw new Error('no')"])
        .ok()
        .json();
    let failed = started["run"].as_str().unwrap();
    mux_snapshot!(env.mux(["runs", "watch", failed]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[runtime]: no
      --> program:1:7
    ");
    let document = env.mux(["runs", "watch", failed, "--json"]).json();
    assert_eq!(document["run"], failed, "{document:#}");
    assert_eq!(document["error"]["message"], "no", "{document:#}");
    mux_snapshot!(env.mux(["program", "--detach", "-e", "{}", "--timeout", "10m"]), @"
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: invalid value '10m' for '--timeout <TIME>': it must be a time from 1s to 300s, such as 30s or 2m

    For more information, try '--help'.
    ");
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
            // The command prints nothing before the end: wait until it handles signals.
            until_it_listens(watching.pid());
        } else {
            watching.wait_for("begun");
        }
        watching.signal(Signal::SIGINT);
        let output = watching
            .wait()
            .fails(130, &["the run continues", "mux runs cancel"]);
        if json {
            let document = output.json();
            assert_eq!(document["error"]["kind"], "cancelled", "{document:#}");
            assert_eq!(document["run"], *run, "{document:#}");
        }
        let list = env.mux(["runs", "--running", "--json"]).ok().json();
        assert_eq!(list["runs"][0]["run"], *run, "{list:#}");
    }
    mux_snapshot!(env.mux(["runs", "cancel", &run]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    run 1 was cancelled
    ----- stderr -----
    ");
    mux_snapshot!(env.mux(["runs", "watch", &run]), @"
    success: false
    exit_code: 130
    ----- stdout -----
    ----- stderr -----
    begun
    error[cancelled]: the run was cancelled
    ");
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
    let env = home();
    env.run("// what it is\nconst a = 1;").ok();
    mux_snapshot!(env.run("await mux.fix.fail({ message: 'x' })"), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[tool]: x
      --> program:1:1
      1 | await mux.fix.fail({ message: 'x' })
        | ^
    ");
    let endless = detach_endless(&env);

    let _filters = bind_filters(&[TABLE]);
    mux_snapshot!(env.mux(["runs"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    RUN  STATE  BEGAN  TOOK  CALLS  CLIENT  PROGRAM
    3  running  [AGE]  [DURATION]  1  mux  console.log('begun'); await mux.fix.hang()
    2  failed (tool)  [AGE]  [DURATION]  1 (1 failed)  mux  await mux.fix.fail({ message: 'x' })
    1  succeeded  [AGE]  [DURATION]  0  mux  what it is
    ----- stderr -----
    ");
    mux_snapshot!(env.mux(["runs", "list", "--limit", "1"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    RUN  STATE  BEGAN  TOOK  CALLS  CLIENT  PROGRAM
    3  running  [AGE]  [DURATION]  1  mux  console.log('begun'); await mux.fix.hang()
    ----- stderr -----
    1 of 3 runs; --limit shows more
    ");
    let running = env.mux(["runs", "--running", "--json"]).ok().json();
    assert_eq!(running["total"], 1, "{running:#}");
    assert_eq!(running["runs"][0]["detached"], true, "{running:#}");

    mux_snapshot!(env.mux(["runs", "cancel", number(&endless), "1"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    run 3 was cancelled
    run 1 had already ended: succeeded
    ----- stderr -----
    ");
    mux_snapshot!(env.mux(["runs", "--running"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    nothing is running
    ");
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
    mux_snapshot!(env.mux(["runs", "show", "1"]), @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    run 1
    state    succeeded
    program  report.ts
    client   mux
    from     ~/
    began    [AGE]
    took     [DURATION]
    calls    1
    source
      // what it is
      return await mux.fix.add({ a: 1, b: 2 })
    call     fix.add {"a":1,"b":2}
             → {"sum":3}
      ✓ fix.add  [DURATION]  9 B
    {
      "sum": 3
    }
    ----- stderr -----
    "#);
}

#[test]
fn commands_runs_show_prints_state_events_and_result() {
    let env = home();
    env.run("console.warn('hm'); await mux.fix.echo({ text: 'abc' }); return { a: 1 }")
        .ok();
    mux_snapshot!(env.mux(["runs", "show", "1"]), @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    run 1
    state    succeeded
    program  console.warn('hm'); await mux.fix.echo({ text: 'abc' }); ret…
    client   mux
    from     ~/
    began    [AGE]
    took     [DURATION]
    calls    1
    source
      console.warn('hm'); await mux.fix.echo({ text: 'abc' }); return { a: 1 }
    call     fix.echo {"text":"abc"}
             → "abc"
    hm
      ✓ fix.echo  [DURATION]  5 B
    {
      "a": 1
    }
    ----- stderr -----
    "#);
    let document = env.mux(["runs", "show", "1", "--json"]).ok().json();
    assert_eq!(document["info"]["state"], "succeeded");
    assert_eq!(document["result"], json!({ "a": 1 }));
    assert_eq!(document["calls"][0]["path"], "fix.echo");
    assert_eq!(document["console"][0]["text"], "hm");
    assert_eq!(document["parts"], json!([]));

    // Showing a failed run succeeds.
    env.run("throw new Error('no')").fails(1, &[]);
    mux_snapshot!(env.mux(["runs", "show", "2"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    run 2
    state    failed (runtime)
    program  throw new Error('no')
    client   mux
    from     ~/
    began    [AGE]
    took     [DURATION]
    calls    0
    source
      throw new Error('no')
    ----- stderr -----
    error[runtime]: no
      --> program:1:7
    ");
    // A running one is shown as far as it has come.
    let run = detach_endless(&env);
    let open = env.mux(["runs", "show", &run, "--json"]).ok().json();
    assert_eq!(open["info"]["state"], "running", "{open:#}");
    assert_eq!(
        (open.get("result"), open.get("error")),
        (None::<&Value>, None)
    );
    mux_snapshot!(env.mux(["runs", "show", &run]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    run 3
    state    running, detached
    program  console.log('begun'); await mux.fix.hang()
    client   mux
    from     ~/
    began    [AGE]
    took     [DURATION]
    calls    1
    source
      console.log('begun'); await mux.fix.hang()
    call     fix.hang {}
             did not end
    begun
      … fix.hang
    ----- stderr -----
    note: `mux runs watch 3` follows it
    ");
}
