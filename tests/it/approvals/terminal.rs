//! Whoever sits at the terminal is asked there, and only what is offered there is an answer.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    process::{Child, Stdio},
};

use mux_tests::TestEnv;
use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    pty::openpty,
};

use super::Home;

const ONE: &str = "return await mux.fix.counter({ key: 'a', by: 2 })";
const QUESTION: &str = "allow it?";

/// `mux` with a terminal as its standard input and error.
struct Terminal {
    child: Child,
    terminal: File,
    /// What was shown and not heard yet.
    shown: String,
}

impl Terminal {
    fn start(env: &TestEnv, args: &[&str]) -> Self {
        let pty = openpty(None, None).unwrap();
        // The daemon that may be started would keep them.
        for end in [&pty.master, &pty.slave] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        }
        let mut command = env.command("mux");
        command.env("TERM", "dumb").args(args);
        command.stdin(pty.slave.try_clone().unwrap());
        command.stdout(Stdio::piped()).stderr(pty.slave);
        let child = command.spawn().unwrap();
        Self {
            child,
            terminal: File::from(pty.master),
            shown: String::new(),
        }
    }

    /// Waits until it shows this, behind what was heard before.
    #[track_caller]
    fn hear(&mut self, text: &str) {
        while !self.shown.contains(text) {
            assert!(self.read(), "it ended without {text:?}: {}", self.shown);
        }
        let end = self.shown.find(text).unwrap() + text.len();
        self.shown.drain(..end);
    }

    fn type_line(&mut self, line: &str) {
        self.terminal.write_all(line.as_bytes()).unwrap();
        self.terminal.write_all(b"\n").unwrap();
    }

    /// False at its end.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match self.terminal.read(&mut buffer) {
                Ok(0) => return false,
                Ok(count) => {
                    self.shown
                        .push_str(&String::from_utf8_lossy(&buffer[..count]));
                    return true;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Linux says so when nobody has the other end any more.
                Err(error) if error.raw_os_error() == Some(nix::libc::EIO) => return false,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Its exit code, what it printed, and what it has shown since it was heard.
    fn end(mut self) -> (Option<i32>, String, String) {
        while self.read() {}
        let mut output = String::new();
        let mut stdout = self.child.stdout.take().unwrap();
        stdout.read_to_string(&mut output).unwrap();
        (self.child.wait().unwrap().code(), output, self.shown)
    }
}

#[test]
fn only_an_answer_that_is_offered_is_one() {
    let home = Home::new();
    let mut terminal = Terminal::start(&home.env, &["run", "-e", ONE]);
    terminal.hear("fix.counter {\"key\":\"a\",\"by\":2}");
    terminal.hear("asked because of");
    for rubbish in ["", "maybe", "yes please"] {
        terminal.hear(QUESTION);
        terminal.type_line(rubbish);
    }
    terminal.hear(QUESTION);
    assert_eq!(home.called("counter"), 0);
    terminal.type_line("Y");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "2\n"), "{shown}");
    assert!(!shown.contains(QUESTION), "{shown}");
    let mut terminal = Terminal::start(&home.env, &["run", "-e", ONE]);
    terminal.hear(QUESTION);
    terminal.type_line("n");
    terminal.hear("denied by the user");
    assert_eq!(terminal.end().0, Some(5));
    assert_eq!((home.called("counter"), home.records()), (1, 0));
}

#[test]
fn for_this_session_is_said_once_and_questions_come_one_after_the_other() {
    let home = Home::new();
    let three =
        "let n; for (const by of [1, 2, 3]) n = await mux.fix.counter({ key: 'a', by }); return n";
    let mut terminal = Terminal::start(&home.env, &["run", "-e", three]);
    terminal.hear(QUESTION);
    terminal.type_line("session");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "6\n"), "{shown}");
    assert!(!shown.contains(QUESTION), "{shown}");
    let two = "return await Promise.allSettled(['x', 'y'].map((key) => mux.fix.counter({ key })))\n\
               .then((all) => all.map((one) => one.status).join())";
    let mut terminal = Terminal::start(&home.env, &["run", "--no-check", "-e", two]);
    terminal.hear(QUESTION);
    while home.approvals().len() < 2 {}
    assert!(!terminal.shown.contains(QUESTION), "{}", terminal.shown);
    terminal.type_line("n");
    terminal.hear(QUESTION);
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
fn a_question_that_is_answered_elsewhere_is_withdrawn() {
    let home = Home::new();
    let mut terminal = Terminal::start(&home.env, &["run", "-e", ONE]);
    terminal.hear(QUESTION);
    home.env.mux(["approve", "A1"]).ok();
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "2\n"), "{shown}");
    assert!(shown.contains("answered"), "{shown}");
    // Whoever wants data is not asked, and the call waits for another terminal.
    let terminal = Terminal::start(&home.env, &["--json", "run", "-e", ONE]);
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
fn a_call_and_a_run_that_goes_on_ask_at_the_terminal_as_well() {
    let home = Home::with("[approvals]\nwait = \"1s\"\n");
    home.env
        .mux(["run", "-e", ONE])
        .fails(5, &["error[pending]", "A1"]);
    home.configure("[approvals]\nwait = \"4m\"\n");
    home.env.mux(["reload"]).ok();
    let mut terminal = Terminal::start(&home.env, &["resume", "A1"]);
    terminal.hear("A1");
    terminal.hear(QUESTION);
    terminal.type_line("y");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "2\n"), "{shown}");
    let mut terminal = Terminal::start(&home.env, &["call", "fix.counter", "key=a"]);
    terminal.hear(QUESTION);
    terminal.type_line("y");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "3\n"), "{shown}");
    // What calls itself destructive is asked for here without a rule.
    let mark = home.mark("x");
    let mut terminal = Terminal::start(&home.env, &["run", "--no-check", "-e", &mark]);
    terminal.hear("calls itself destructive");
    terminal.hear(QUESTION);
    terminal.type_line("n");
    assert_eq!(terminal.end().0, Some(5));
    assert!(home.marks().is_empty());
}
