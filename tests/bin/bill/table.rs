//! The tables, in Markdown.

use anyhow::ensure;
use mux_tests::{Agent, program_result};
use serde_json::{Value, json};

use super::{
    plain::{Conversation, definitions},
    pool::ServerPool,
    profiles,
    tasks::{self, Task},
    tokens::TokenCounter,
    transcript::TokenCounts,
};

struct CostRow {
    plain: TokenCounts,
    program: TokenCounts,
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
pub(crate) fn print() -> anyhow::Result<()> {
    let tokens = TokenCounter::new()?;
    let pool = ServerPool::new()?;
    pool.env.mux(["tools"]).ok();
    let mut passthrough = Agent::legacy(&pool.env, &["--passthrough"], json!({}));
    let mut mux = Agent::legacy(&pool.env, &profiles::WHOLE, json!({}));
    let all = definitions(&mut passthrough);
    let own = definitions(&mut mux);
    let plain_definitions = text_of(&all);
    let own_definitions = text_of(&own);
    println!("| definitions that stand in every conversation | tools | tokens |");
    println!("|---|---|---|");
    for (title, tools, text) in [
        (
            "all tools of six servers, as ordinary tools",
            all,
            &plain_definitions,
        ),
        ("`mux mcp`, its inventory included", own, &own_definitions),
    ] {
        println!("| {title} | {} | {} |", tools.len(), tokens.count(text));
    }
    println!();
    profiles::print(&pool.env, &tokens);
    println!(
        "| task | plain: context | program: context | less | plain: calls only | program: calls only | \
         plain: read over all turns | program: read over all turns |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    passthrough.call("memory__create_entities", tasks::remember(&pool));
    for task in tasks::ALL {
        let row = CostRow::of(
            task,
            &pool,
            &tokens,
            &mut passthrough,
            &plain_definitions,
            &mut mux,
            &own_definitions,
        )?;
        let CostRow { plain, program } = row;
        let less = plain.context() as f64 / program.context() as f64;
        let cheaper = |own: usize, other: usize| if own <= other { "**" } else { "" };
        println!(
            "| {} | {} | {} | {less:.1} × | {a}{}{a} | {b}{}{b} | {} ({} turns) | {} ({} turns) |",
            task.title,
            plain.context(),
            program.context(),
            plain.calls(),
            program.calls(),
            plain.read(),
            plain.requests(),
            program.read(),
            program.requests(),
            a = cheaper(plain.calls(), program.calls()),
            b = cheaper(program.calls(), plain.calls()),
        );
    }
    Ok(())
}

impl CostRow {
    fn of(
        task: &Task,
        pool: &ServerPool,
        tokens: &TokenCounter,
        plain: &mut Agent,
        plain_definitions: &str,
        programs: &mut Agent,
        own_definitions: &str,
    ) -> anyhow::Result<Self> {
        let mut talk = Conversation::new(plain, plain_definitions.to_owned());
        let expected = (task.plain)(pool, &mut talk)?;
        talk.texts.answer();
        let plain = talk.texts.count(tokens);
        let mut talk = Conversation::new(programs, own_definitions.to_owned());
        talk.one("describe", json!({ "paths": task.tools }))?;
        let asked = json!({ "code": task.program, "input": (task.input)(pool) });
        let result = talk.one("run", asked)?;
        talk.texts.answer();
        let program = talk.texts.count(tokens);
        let answer = &program_result::value(&result);
        ensure!(
            same(answer, &expected),
            "{}: {answer} and not {expected}",
            task.title
        );
        Ok(Self { plain, program })
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

pub(crate) fn text_of(definitions: &[Value]) -> String {
    Value::from(definitions.to_vec()).to_string()
}
