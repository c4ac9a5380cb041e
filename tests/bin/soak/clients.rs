//! Agents that call and run all the time, and know the right answers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use mux_tests::dice::Dice;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    agent::McpAgent,
    answers::Answers,
    effects::EffectLedger,
    home::{Home, SERVERS, name},
};

/// The number of requests after which an agent is replaced by a new one.
const REQUESTS_PER_AGENT: usize = 200;

/// Calls three servers at the same time, and returns their answers.
const PROGRAM: &str = "const sums = await Promise.all(mux.input.servers.map(async (server, n) =>
    (await mux.call(`${server}.add`, { a: mux.input.n, b: n })).sum));
console.log(sums.length);
return sums";

/// The state that all agents share.
pub(crate) struct SoakWorkload {
    pub(crate) home: Arc<Home>,
    pub(crate) answers: Answers,
    pub(crate) effects: EffectLedger,
    pub(crate) over: AtomicBool,
    /// The longest pause of an agent between two requests, in milliseconds: this is not a speed test.
    pub(crate) max_pause_ms: usize,
}

pub(crate) struct Client {
    all: Arc<SoakWorkload>,
    number: usize,
    dice: Dice,
}

impl Client {
    pub(crate) fn new(all: &Arc<SoakWorkload>, number: usize, seed: u64) -> Self {
        Self {
            all: Arc::clone(all),
            number,
            dice: Dice::new(seed, number as u64),
        }
    }

    pub(crate) async fn work(mut self) {
        let name = format!("soak-{}", self.number);
        while !self.is_over() {
            // A new process now and then, as agents come and go.
            let used = match McpAgent::start(&self.all.home.env, &name).await {
                Ok(mut agent) => match self.use_for_a_while(&mut agent).await {
                    Ok(()) => agent.end().await,
                    failed => failed,
                },
                Err(why) => Err(why),
            };
            if let Err(why) = used {
                self.all.answers.lost(&why.to_string());
                sleep(self.pause()).await;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.all.over.load(Ordering::Relaxed)
    }

    fn pause(&mut self) -> Duration {
        Duration::from_millis(self.dice.below(self.all.max_pause_ms) as u64)
    }

    async fn use_for_a_while(&mut self, agent: &mut McpAgent) -> anyhow::Result<()> {
        for _ in 0..REQUESTS_PER_AGENT {
            if self.is_over() {
                break;
            }
            match self.dice.below(10) {
                0 | 1 => self.run_a_program(agent).await?,
                2 => self.call_what_is_not_there(agent).await?,
                3 => self.echo(agent).await?,
                4 | 5 => self.leave_a_mark(agent).await?,
                _ => self.add(agent).await?,
            }
            sleep(self.pause()).await;
        }
        Ok(())
    }

    async fn add(&mut self, agent: &mut McpAgent) -> anyhow::Result<()> {
        let a = self.dice.below(1000);
        let b = self.dice.below(1000);
        let path = format!("{}.add", name(self.dice.below(SERVERS)));
        let code = format!("return (await mux.call({path:?}, {{ a: {a}, b: {b} }})).sum");
        // As a call, or as a program that was never seen.
        let (answer, right) = if self.dice.one_in(8) {
            (run(agent, json!({ "code": code })).await?, json!(a + b))
        } else {
            (
                call(agent, &path, json!({ "a": a, "b": b })).await?,
                json!({ "sum": a + b }),
            )
        };
        self.compare(answer, &right, &path);
        Ok(())
    }

    async fn echo(&mut self, agent: &mut McpAgent) -> anyhow::Result<()> {
        let text = format!("{}/", self.dice.draw()).repeat(1 + self.dice.below(2000));
        let path = format!("{}.echo", name(self.dice.below(SERVERS)));
        let input = json!({ "path": path, "text": text });
        let code =
            "return await mux.call(mux.input.path, { text: mux.input.text }) === mux.input.text";
        let answer = run(agent, json!({ "code": code, "input": input }));
        self.compare(answer.await?, &json!(true), &path);
        Ok(())
    }

    /// Makes a call with an effect that must not happen twice, and must have happened if it is answered.
    async fn leave_a_mark(&mut self, agent: &mut McpAgent) -> anyhow::Result<()> {
        let path = format!("{}.side_effect", name(self.dice.below(SERVERS)));
        let mark = self.all.effects.next_mark();
        let arguments = json!({ "file": self.all.effects.file(), "line": mark.to_string() });
        match call(agent, &path, arguments).await? {
            Ok(_) => {
                self.all.effects.record_answered(mark);
                self.all.answers.right();
            }
            Err(text) => self.all.answers.error(&text, &path),
        }
        Ok(())
    }

    async fn call_what_is_not_there(&mut self, agent: &mut McpAgent) -> anyhow::Result<()> {
        let path = format!("{}.no_such_tool", name(self.dice.below(SERVERS)));
        match call(agent, &path, json!({})).await? {
            Err(text) if text.starts_with("not_found:") => self.all.answers.right(),
            Err(text) => self.all.answers.error(&text, &path),
            Ok(value) => self.all.answers.wrong(format!("{path} gave {value}")),
        }
        Ok(())
    }

    async fn run_a_program(&mut self, agent: &mut McpAgent) -> anyhow::Result<()> {
        let servers: Vec<String> = (0..3).map(|_| name(self.dice.below(SERVERS))).collect();
        let n = self.dice.below(1000);
        let input = json!({ "servers": servers, "n": n });
        let answer = run(agent, json!({ "code": PROGRAM, "input": input }));
        let right = json!([n, n + 1, n + 2]);
        self.compare(answer.await?, &right, "a program");
        Ok(())
    }

    fn compare(&self, answer: Result<Value, String>, right: &Value, of: &str) {
        let answers = &self.all.answers;
        match answer {
            Ok(value) if value == *right => answers.right(),
            Ok(value) => answers.wrong(format!("{of} gave {value:.200} and not {right:.200}")),
            Err(text) => answers.error(&text, of),
        }
    }
}

/// Runs a program; its result.
async fn run(agent: &mut McpAgent, arguments: Value) -> anyhow::Result<Result<Value, String>> {
    let answer = agent.call("run", arguments).await?;
    Ok(answer.map(|mut value| value["result"].take()))
}

/// Calls a tool of a server.
async fn call(
    agent: &mut McpAgent,
    path: &str,
    arguments: Value,
) -> anyhow::Result<Result<Value, String>> {
    let asked = json!({ "path": path, "args": arguments });
    agent.call("call", asked).await
}
