//! The tables, in Markdown.

use anyhow::ensure;
use mux_tests::Agent;
use serde_json::{Value, json};

use super::{
    plain::Conversation,
    pool::Pool,
    tasks::{self, Task},
    tokens::Tokens,
};

struct Row {
    plain: usize,
    program: usize,
    plain_calls: usize,
    program_calls: usize,
    plain_read: usize,
    program_read: usize,
    turns: usize,
    program_turns: usize,
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
pub(crate) fn print() -> anyhow::Result<()> {
    let tokens = Tokens::new()?;
    let pool = Pool::new()?;
    pool.env.mux(["tools"]).ok();
    let mut plain = Agent::legacy(&pool.env, &["--passthrough"], json!({}));
    let mut programs = Agent::legacy(&pool.env, &[], json!({}));
    let (all, plain_definitions) = definitions(&tokens, &mut plain);
    let (own, own_definitions) = definitions(&tokens, &mut programs);
    println!("| definitions that stand in every conversation | tools | tokens |");
    println!("|---|---|---|");
    println!("| all tools of six servers, as ordinary tools | {all} | {plain_definitions} |");
    println!("| `mux mcp`, its inventory included | {own} | {own_definitions} |");
    println!();
    println!(
        "| task | plain: context | program: context | less | plain: calls only | program: calls only | \
         plain: read over all turns | program: read over all turns |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    plain.call("memory__create_entities", tasks::remember(&pool));
    for task in tasks::ALL {
        let row = Row::of(
            task,
            &pool,
            &tokens,
            &mut plain,
            plain_definitions,
            &mut programs,
            own_definitions,
        )?;
        let less = row.plain as f64 / row.program as f64;
        let cheaper = |own: usize, other: usize| if own <= other { "**" } else { "" };
        println!(
            "| {} | {} | {} | {less:.1} × | {a}{}{a} | {b}{}{b} | {} ({} turns) | {} ({} turns) |",
            task.title,
            row.plain,
            row.program,
            row.plain_calls,
            row.program_calls,
            row.plain_read,
            row.turns,
            row.program_read,
            row.program_turns,
            a = cheaper(row.plain_calls, row.program_calls),
            b = cheaper(row.program_calls, row.plain_calls),
        );
    }
    Ok(())
}

impl Row {
    fn of(
        task: &Task,
        pool: &Pool,
        tokens: &Tokens,
        plain: &mut Agent,
        plain_definitions: usize,
        programs: &mut Agent,
        own_definitions: usize,
    ) -> anyhow::Result<Self> {
        let mut talk = Conversation::new(tokens, plain, plain_definitions);
        let expected = (task.plain)(pool, &mut talk)?;
        let (plain, plain_calls) = (talk.context(), talk.calls);
        let (plain_read, turns) = (talk.read(), talk.turns + 1);
        let mut talk = Conversation::new(tokens, programs, own_definitions);
        talk.one("describe", json!({ "paths": task.tools }))?;
        let asked = json!({ "code": task.program, "input": (task.input)(pool) });
        let result = talk.one("run", asked)?;
        let answer = &result["structuredContent"]["result"];
        ensure!(
            same(answer, &expected),
            "{}: {answer} and not {expected}",
            task.title
        );
        Ok(Self {
            plain,
            program: talk.context(),
            plain_calls,
            program_calls: talk.calls,
            plain_read,
            program_read: talk.read(),
            turns,
            program_turns: talk.turns + 1,
        })
    }
}

/// Whatever the order of their keys.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len() && one.iter().all(|(key, value)| other.get(key) == Some(value))
        }
        _ => one == other,
    }
}

/// How many tools there are, and what they cost as a client puts them before its model.
fn definitions(tokens: &Tokens, agent: &mut Agent) -> (usize, usize) {
    let listed = agent.ask("tools/list", json!({}));
    let all: Vec<Value> = listed["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|tool| {
            json!({
                "name": tool["name"],
                "description": tool["description"],
                "input_schema": tool["inputSchema"],
            })
        })
        .collect();
    let count = all.len();
    (count, tokens.count(&Value::from(all).to_string()))
}
