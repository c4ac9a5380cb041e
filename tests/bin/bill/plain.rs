//! A conversation with a model, as far as its length goes.
//!
//! Every text is counted once when it enters the context. A model reads the whole context again in each
//! turn, which `read` adds up; a cache of prompts makes that cheaper and not shorter.

use mux_tests::Agent;
use serde_json::Value;

use super::tokens::Tokens;

pub(crate) struct Conversation<'a> {
    tokens: &'a Tokens,
    agent: &'a mut Agent,
    /// What stands there before the first turn.
    definitions: usize,
    /// Calls with their arguments, and their results.
    pub(crate) calls: usize,
    pub(crate) turns: usize,
    read: usize,
}

impl<'a> Conversation<'a> {
    pub(crate) fn new(tokens: &'a Tokens, agent: &'a mut Agent, definitions: usize) -> Self {
        Self {
            tokens,
            agent,
            definitions,
            calls: 0,
            turns: 0,
            read: 0,
        }
    }

    /// One call as a model makes it, with what it then reads. Several at once are one turn.
    pub(crate) fn turn(&mut self, calls: &[(&str, Value)]) -> anyhow::Result<Vec<Value>> {
        self.turns += 1;
        self.read += self.definitions + self.calls;
        let mut results = Vec::new();
        for (tool, arguments) in calls {
            let result = self.agent.call(tool, arguments.clone());
            if result["isError"] == true {
                anyhow::bail!("{tool} failed: {result}");
            }
            let said = self.tokens.count(&format!("{tool} {arguments}"));
            self.calls += said + self.tokens.count(&text(&result));
            results.push(result);
        }
        Ok(results)
    }

    pub(crate) fn one(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let mut results = self.turn(&[(tool, arguments)])?;
        Ok(results.remove(0))
    }

    /// What the model has read when it writes its answer.
    pub(crate) fn read(&self) -> usize {
        self.read + self.definitions + self.calls
    }

    pub(crate) fn context(&self) -> usize {
        self.definitions + self.calls
    }
}

/// What a client puts before its model of a result: its texts.
pub(crate) fn text(result: &Value) -> String {
    let parts = result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}
