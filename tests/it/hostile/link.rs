//! The link of a worker, which the tests hold instead of a daemon.

use std::{
    io::Write,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use mux_tests::env::worker;
use mux_wire::{FromWorker, Program, ToWorker, encode_frame, read_frame};

const MANY_BYTES: u32 = 1 << 20;

struct HeldWorker {
    process: Child,
    /// `None` once the link has ended.
    input: Option<ChildStdin>,
    output: ChildStdout,
}

impl HeldWorker {
    /// A worker that has accepted the program.
    fn running(source: &str) -> Self {
        let mut process = Command::new(worker())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = process.stdout.take().unwrap();
        let mut worker = Self {
            process,
            input,
            output,
        };
        assert!(matches!(worker.receive(), FromWorker::Hello { .. }));
        assert_eq!(worker.receive(), FromWorker::Ready);
        worker.send(&run(source));
        assert_eq!(worker.receive(), FromWorker::Accepted);
        worker
    }

    fn receive(&mut self) -> FromWorker {
        read_frame(&mut self.output).unwrap().unwrap()
    }

    fn send(&mut self, frame: &ToWorker) {
        self.write(&encode_frame(frame).unwrap());
    }

    fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn receive_call(&mut self) -> u32 {
        match self.receive() {
            FromWorker::Call { call, .. } => call,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for HeldWorker {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn run(source: &str) -> ToWorker {
    ToWorker::Run(Program {
        source: source.into(),
        input: "null".into(),
        names: "{}".into(),
        max_console: MANY_BYTES,
        max_argument: MANY_BYTES,
        max_result: MANY_BYTES,
        max_timers: 1_000,
        max_emitted: MANY_BYTES,
    })
}

fn answer(call: u32) -> ToWorker {
    let outcome = Ok(call.to_string());
    ToWorker::CallDone { call, outcome }
}

/// The end of a program that has joined the answers to its first calls.
fn joined_answers(calls: u32) -> FromWorker {
    let texts: Vec<String> = (0..calls).map(|call| call.to_string()).collect();
    let outcome = Ok(format!("\"{}\"", texts.join(",")));
    FromWorker::Done { outcome }
}

/// The script's thread reads the answer to a call that is answered immediately. The timer is longer than that
/// thread waits.
#[test]
fn answers_arrive_at_once_and_beside_timers() {
    let mut worker = HeldWorker::running(
        "const seen = [];
         for (let i = 0; i < 50; i++) {
           seen.push(await mux.a.b({}));
           if (i % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 4));
         }
         return seen.join();",
    );
    for call in 0..50 {
        assert_eq!(worker.receive_call(), call);
        worker.send(&answer(call));
    }
    assert_eq!(worker.receive(), joined_answers(50));
    assert_eq!(worker.receive(), FromWorker::Ready);
}

#[test]
fn answers_arrive_several_at_once_and_in_pieces() {
    let mut worker = HeldWorker::running(
        "const calls = Array.from({ length: 40 }, () => mux.a.b({}));
         return (await Promise.all(calls)).join();",
    );
    let mut bytes = Vec::new();
    for _ in 0..40 {
        let call = worker.receive_call();
        bytes.extend(encode_frame(&answer(call)).unwrap());
    }
    for piece in bytes.chunks(7) {
        worker.write(piece);
    }
    assert_eq!(worker.receive(), joined_answers(40));
}

#[test]
fn end_of_the_link_ends_a_worker_whatever_it_does() {
    for source in [
        "for (;;);",
        "await mux.a.b({}); for (;;);",
        "await mux.a.b({}); await new Promise((resolve) => setTimeout(resolve, 60_000));",
        "await mux.a.b({}); await mux.a.b({});",
    ] {
        let mut worker = HeldWorker::running(source);
        if source.starts_with("await") {
            let call = worker.receive_call();
            worker.send(&answer(call));
        }
        worker.input = None;
        assert!(worker.process.wait().unwrap().success(), "{source}");
    }
}

#[test]
fn late_answer_does_not_reach_the_next_program() {
    let mut worker = HeldWorker::running("mux.a.b({}).catch(() => {}); return 1");
    let late = worker.receive_call();
    let outcome = Ok("1".into());
    assert_eq!(worker.receive(), FromWorker::Done { outcome });
    assert_eq!(worker.receive(), FromWorker::Ready);
    worker.send(&answer(late));
    worker.send(&run("return await mux.a.b({})"));
    assert_eq!(worker.receive(), FromWorker::Accepted);
    assert_eq!(
        worker.receive_call(),
        late,
        "the number is that of the first program"
    );
    let outcome = Ok("\"its own\"".to_owned());
    worker.send(&ToWorker::CallDone {
        call: late,
        outcome: outcome.clone(),
    });
    assert_eq!(worker.receive(), FromWorker::Done { outcome });
}
