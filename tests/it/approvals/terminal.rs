//! Questions at the terminal, which accept only the offered answers.

use mux_tests::TestTerminal;

use super::Home;

const ONE: &str = "return await mux.fix.counter({ key: 'a', by: 2 })";
const TWO: &str = "return await Promise.allSettled(['x', 'y'].map((key) => mux.fix.counter({ key })))\n\
                   .then((all) => all.map((one) => one.status).join())";
const QUESTION: &str = "allow it?";
const CONFIRM: &str = "allow all of this?";

/// Waits until the question says that two calls wait: from its beginning, or after the second call came.
#[track_caller]
fn wait_until_both_wait(terminal: &mut TestTerminal) {
    let lines = terminal.lines();
    if !lines
        .iter()
        .any(|line| line.contains("(1 of 2) fix.counter"))
    {
        terminal.wait_for("2 calls are now waiting for approval");
        terminal.wait_for(QUESTION);
    }
}

#[test]
fn question_is_repeated_until_a_valid_answer() {
    let home = Home::new();
    let mut terminal = TestTerminal::start(&home.env, &["run", "-e", ONE]);
    terminal.wait_for("fix.counter {\"key\":\"a\",\"by\":2}");
    terminal.wait_for("asked because of");
    // `s` is not offered, because the session ends with the command.
    for rubbish in ["", "maybe", "yes please", "s", "session", "?"] {
        terminal.wait_for(QUESTION);
        terminal.type_line(rubbish);
        terminal.wait_for("answer with one of these letters");
        terminal.wait_for("y  allow this call with these arguments");
        terminal.wait_for("`mux approve A1`");
    }
    terminal.wait_for(QUESTION);
    assert_eq!(home.called("counter"), 0);
    terminal.type_line("Y");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "2\n"), "{shown}");
    assert!(!shown.contains(QUESTION), "{shown}");
    let mut terminal = TestTerminal::start(&home.env, &["run", "-e", ONE]);
    terminal.wait_for(QUESTION);
    terminal.type_line("n");
    terminal.wait_for("denied by the user");
    assert_eq!(terminal.end().0, Some(5));
    assert_eq!((home.called("counter"), home.records()), (1, 0));
}

#[test]
fn answer_for_this_run_is_confirmed_and_questions_are_asked_one_by_one() {
    let home = Home::new();
    let three =
        "let n; for (const by of [1, 2, 3]) n = await mux.fix.counter({ key: 'a', by }); return n";
    let mut terminal = TestTerminal::start(&home.env, &["run", "-e", three]);
    terminal.wait_for(QUESTION);
    terminal.type_line("run");
    terminal.wait_for("this allows now:");
    terminal.wait_for("A1 fix.counter {\"key\":\"a\",\"by\":1}");
    terminal.wait_for("and later, without asking:");
    terminal.wait_for("until this run ends");
    terminal.wait_for(CONFIRM);
    terminal.type_line("r");
    terminal.wait_for(CONFIRM);
    assert_eq!(home.called("counter"), 0);
    terminal.type_line("y");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "6\n"), "{shown}");
    assert!(!shown.contains(QUESTION), "{shown}");
    let mut terminal = TestTerminal::start(&home.env, &["run", "--no-check", "-e", TWO]);
    terminal.wait_for(QUESTION);
    wait_until_both_wait(&mut terminal);
    terminal.type_line("n");
    terminal.wait_for("(2 of 2) fix.counter");
    terminal.wait_for(QUESTION);
    terminal.type_line("y");
    let (code, output, shown) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        output.contains("rejected") && output.contains("fulfilled"),
        "{output}"
    );
    assert_eq!(home.called("counter"), 4);
}

#[test]
fn broad_answer_releases_listed_calls_after_confirmation() {
    for (letter, later) in [("r", "until this run ends"), ("a", "mux approvals revoke")] {
        let home = Home::new();
        let mut terminal = TestTerminal::start(&home.env, &["run", "--no-check", "-e", TWO]);
        terminal.wait_for(QUESTION);
        wait_until_both_wait(&mut terminal);
        terminal.type_line(letter);
        terminal.wait_for("this allows now:");
        let first = terminal.wait_for_one_of(["{\"key\":\"x\"}", "{\"key\":\"y\"}"]);
        let second = terminal.wait_for_one_of(["{\"key\":\"x\"}", "{\"key\":\"y\"}"]);
        assert_ne!(first, second);
        terminal.wait_for(later);
        terminal.wait_for(CONFIRM);
        // Not confirming returns to the question about the one call.
        terminal.type_line("n");
        terminal.wait_for(QUESTION);
        assert_eq!(home.approvals().len(), 2);
        terminal.type_line(letter);
        terminal.wait_for(CONFIRM);
        terminal.type_line("yes");
        let (code, output, shown) = terminal.end();
        assert_eq!(code, Some(0), "{shown}");
        assert_eq!(output, "fulfilled,fulfilled\n");
        assert!(!shown.contains(QUESTION), "{shown}");
        assert_eq!(home.called("counter"), 2);
    }
}

#[test]
fn output_does_not_overwrite_a_question() {
    let home = Home::new();
    // The program prints from before the question until after the answer.
    let code = "let waits = true;\n\
                const a = mux.fix.counter({ key: 'a' }).then((n) => { waits = false; return n; });\n\
                while (waits) {\n\
                    await mux.fix.echo({ text: 'x' });\n\
                    console.log('tick');\n\
                    await new Promise((then) => setTimeout(then, 20));\n\
                }\n\
                return await a";
    let mut terminal = TestTerminal::start(&home.env, &["run", "--no-check", "-e", code]);
    terminal.wait_for("allow it? [y]es once, for this [r]un, [a]lways, [n]o, [?]: ");
    // Time for the spinner to start, and for output of the program to arrive after the question.
    let before = home.called("echo");
    while home.called("echo") < before + 20 {}
    for _ in 0..5 {
        assert_eq!(home.approvals().len(), 1);
    }
    terminal.type_line("?");
    terminal.wait_for("answer with one of these letters");
    let lines = terminal.lines();
    let asked = "allow it? [y]es once, for this [r]un, [a]lways, [n]o, [?]: ?";
    let asked = lines.iter().position(|line| line == asked);
    let asked = asked.unwrap_or_else(|| panic!("something was written over it: {lines:#?}"));
    assert!(
        lines[asked + 1].contains("answer with one of these letters"),
        "{lines:#?}"
    );
    assert!(
        !lines[asked..].iter().any(|line| line.contains("tick")),
        "{lines:#?}"
    );
    terminal.wait_for(QUESTION);
    terminal.type_line("y");
    // Output that arrived meanwhile follows the answer.
    terminal.wait_for("tick");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "1\n"), "{shown}");
}

#[test]
fn end_of_input_leaves_the_approval_open() {
    let home = Home::new();
    let mut terminal = TestTerminal::start(&home.env, &["run", "-e", ONE]);
    terminal.wait_for(QUESTION);
    terminal.press("\u{4}");
    terminal.wait_for("the approval stays open");
    terminal.wait_for("mux approve A1");
    assert_eq!(home.approvals()[0]["state"], "waiting");
    home.env.mux(["approve", "A1"]).ok();
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "2\n"), "{shown}");
}

#[test]
fn detached_run_started_at_a_terminal_is_held() {
    let home = Home::new();
    let code = format!("{}return 'went on'", home.mark("detached"));
    let run = ["run", "--detach", "--no-check", "-e", &code];
    let (exit, output, shown) = TestTerminal::start(&home.env, &run).end();
    assert_eq!(exit, Some(0), "{shown}");
    assert!(shown.contains("`mux approve ID`"), "{shown}");
    while home.approvals().is_empty() {}
    assert_eq!(home.approvals()[0]["path"], "fix.side_effect");
    assert!(home.marks().is_empty());
    home.env.mux(["approve", "A1"]).ok();
    home.env.mux(["runs", "watch", output.trim()]).ok();
    assert_eq!(home.marks(), ["detached"]);
    // Without a terminal it is called, detached or not.
    let run = home.env.mux(run).ok().stdout;
    home.env.mux(["runs", "watch", run.trim()]).ok();
    assert_eq!(home.marks(), ["detached", "detached"]);
}

#[test]
fn question_answered_elsewhere_is_withdrawn() {
    let home = Home::new();
    let mut terminal = TestTerminal::start(&home.env, &["run", "-e", ONE]);
    terminal.wait_for(QUESTION);
    home.env.mux(["approve", "A1"]).ok();
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "2\n"), "{shown}");
    assert!(shown.contains("no longer needs an answer here"), "{shown}");
    // With --json there is no question here, and the call waits for another terminal.
    let terminal = TestTerminal::start(&home.env, &["--json", "run", "-e", ONE]);
    while home.approvals().is_empty() {}
    home.env.mux(["deny", "A2"]).ok();
    let (code, output, shown) = terminal.end();
    assert_eq!(code, Some(5), "{shown}");
    assert!(
        output.contains("denied") && !shown.contains(QUESTION),
        "{shown}"
    );
}

#[test]
fn call_and_resumed_run_ask_at_the_terminal() {
    let home = Home::with("[approvals]\nwait = \"1s\"\n");
    home.env
        .mux(["run", "-e", ONE])
        .fails(5, &["error[pending]", "A1"]);
    home.configure("[approvals]\nwait = \"4m\"\n");
    home.env.mux(["reload"]).ok();
    let mut terminal = TestTerminal::start(&home.env, &["resume", "A1"]);
    terminal.wait_for("A1");
    terminal.wait_for(QUESTION);
    terminal.type_line("y");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "2\n"), "{shown}");
    let mut terminal = TestTerminal::start(&home.env, &["call", "fix.counter", "key=a"]);
    terminal.wait_for(QUESTION);
    terminal.type_line("y");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "3\n"), "{shown}");
    // A destructive tool needs approval here without a rule.
    let mark = home.mark("x");
    let mut terminal = TestTerminal::start(&home.env, &["run", "--no-check", "-e", &mark]);
    terminal.wait_for("calls itself destructive");
    terminal.wait_for(QUESTION);
    terminal.type_line("n");
    assert_eq!(terminal.end().0, Some(5));
    assert!(home.marks().is_empty());
}
