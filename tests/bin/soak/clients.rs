//! Eight clients that call and run all the time, and know what the answer must be.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::anyhow;
use mux_client::{Session, run, within_seconds};
use mux_proto::{CallRequest, Error, Held, Kind, Outcome, RunRequest};
use mux_tests::dice::Dice;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    answers::Answers,
    home::{Home, SERVERS, name},
};

/// Of one answer. Only a hang is longer.
const PATIENCE: u64 = 60;
/// Between two requests of a client, at most: it is no test of speed.
const PAUSE_MS: usize = 20;

/// Three servers at once, and what they answer.
const PROGRAM: &str = "const sums = await Promise.all(mux.input.servers.map(async (server, n) =>
    (await mux.call(`${server}.add`, { a: mux.input.n, b: n })).sum));
console.log(sums.length);
return sums";

pub(crate) struct Client {
    home: Arc<Home>,
    answers: Arc<Answers>,
    over: Arc<AtomicBool>,
    number: usize,
    dice: Dice,
}

impl Client {
    pub(crate) fn new(
        home: &Arc<Home>,
        answers: &Arc<Answers>,
        over: &Arc<AtomicBool>,
        number: usize,
        seed: u64,
    ) -> Self {
        Self {
            home: Arc::clone(home),
            answers: Arc::clone(answers),
            over: Arc::clone(over),
            number,
            dice: Dice::new(seed, number as u64),
        }
    }

    pub(crate) async fn work(mut self) {
        while !self.over.load(Ordering::Relaxed) {
            // A new connection now and then, as clients come and go.
            match self.home.connect(&format!("soak-{}", self.number)).await {
                Ok(session) => {
                    if let Err(why) = self.use_for_a_while(&session).await {
                        self.answers.lost(&why.to_string());
                    }
                }
                Err(why) => self.answers.lost(&why.to_string()),
            }
        }
    }

    async fn use_for_a_while(&mut self, session: &Session) -> anyhow::Result<()> {
        for _ in 0..200 {
            if self.over.load(Ordering::Relaxed) {
                break;
            }
            match self.dice.below(10) {
                0 | 1 => self.run_a_program(session).await?,
                2 => self.call_what_is_not_there(session).await?,
                3 => self.echo(session).await?,
                _ => self.add(session).await?,
            }
            sleep(Duration::from_millis(self.dice.below(PAUSE_MS) as u64)).await;
        }
        Ok(())
    }

    async fn add(&mut self, session: &Session) -> anyhow::Result<()> {
        let (a, b) = (self.dice.below(1000) as u64, self.dice.below(1000) as u64);
        let path = format!("{}.add", name(self.dice.below(SERVERS)));
        let answer = call(session, &path, (a, b)).await?;
        self.compare(answer, &json!({ "sum": a + b }), &path);
        Ok(())
    }

    async fn echo(&mut self, session: &Session) -> anyhow::Result<()> {
        let text = format!("{}/", self.dice.draw()).repeat(1 + self.dice.below(2000));
        let path = format!("{}.echo", name(self.dice.below(SERVERS)));
        let answer = ask(session, &path, json!({ "text": text })).await?;
        self.compare(answer, &json!(text), &path);
        Ok(())
    }

    async fn call_what_is_not_there(&mut self, session: &Session) -> anyhow::Result<()> {
        let path = format!("{}.no_such_tool", name(self.dice.below(SERVERS)));
        match ask(session, &path, json!({})).await? {
            Err(error) if error.kind == Kind::NotFound => self.answers.right(),
            Err(error) => self.answers.error(&error, &path),
            Ok(value) => self.answers.wrong(format!("{path} gave {value}")),
        }
        Ok(())
    }

    async fn run_a_program(&mut self, session: &Session) -> anyhow::Result<()> {
        let servers: Vec<String> = (0..3).map(|_| name(self.dice.below(SERVERS))).collect();
        let n = self.dice.below(1000);
        let request = RunRequest {
            source: PROGRAM.into(),
            input: json!({ "servers": servers, "n": n }).into(),
            ..RunRequest::default()
        };
        let finished = run(session, request, |_| {}).await;
        let answer = match finished.map_err(|error| anyhow!("{error:?}"))?.outcome {
            Outcome::Result(value) => Ok(value.to_value()),
            Outcome::Error(error) => Err(error),
            Outcome::Stored(handle) => Ok(json!(handle.handle)),
        };
        self.compare(answer, &json!([n, n + 1, n + 2]), "a program");
        Ok(())
    }

    fn compare(&self, answer: Result<Value, Error>, right: &Value, of: &str) {
        match answer {
            Ok(value) if value == *right => self.answers.right(),
            Ok(value) => self
                .answers
                .wrong(format!("{of} gave {value:.200} and not {right:.200}")),
            Err(error) => self.answers.error(&error, of),
        }
    }
}

/// `add` of a server.
pub(crate) async fn call(
    session: &Session,
    path: &str,
    (a, b): (u64, u64),
) -> anyhow::Result<Result<Value, Error>> {
    ask(session, path, json!({ "a": a, "b": b })).await
}

async fn ask(
    session: &Session,
    path: &str,
    arguments: Value,
) -> anyhow::Result<Result<Value, Error>> {
    let request = CallRequest {
        path: path.into(),
        arguments: arguments.into(),
        ..CallRequest::default()
    };
    let held = session
        .client
        .call(within_seconds(PATIENCE), request)
        .await?;
    Ok(held.map(|held| match held {
        Held::Value(value) => value.to_value(),
        Held::Stored(handle) => json!(handle.handle),
    }))
}
