//! The text that an agent reads before it can call tools: all definitions, or the definitions of `mux mcp`
//! and the answers of `search` and `describe`.

use std::collections::{BTreeSet, HashMap};

use anyhow::ensure;
use mux_tests::{Agent, TestEnv};
use serde_json::{Value, json};

use super::{
    plain::{definitions, said, text},
    play::Exchange,
    profiles,
    suites::{SuiteTask, ToolName},
};

/// The tools that an agent has, and the text that it reads before it writes a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// The tools of the task's own servers. Signatures that the definition of `run` shows are enough.
    Own,
    /// The same tools, and every tool is described before its first use.
    OwnDescribed,
    /// The tools of all suites, of which `run` cannot show all.
    All,
}

/// The texts before the first request, and the exchanges before the calls of each turn.
pub(crate) struct Discovery {
    pub(crate) plain: String,
    pub(crate) mux: String,
    pub(crate) turns: Vec<Vec<Exchange>>,
    /// How many tools were needed, and how many the first search did not show.
    pub(crate) needed: usize,
    pub(crate) missed: usize,
}

/// The agents that discover the tools, and the answers that they got.
pub(crate) struct ToolDiscovery<'a> {
    env: &'a TestEnv,
    views: HashMap<String, OfferedTools>,
}

struct OfferedTools {
    plain: Vec<Value>,
    mux: Vec<Value>,
    /// True if the definition of `run` shows the signature of every tool.
    is_complete: bool,
    agent: Agent,
    answers: HashMap<String, String>,
}

impl<'a> ToolDiscovery<'a> {
    pub(crate) fn new(env: &'a TestEnv) -> Self {
        Self {
            env,
            views: HashMap::new(),
        }
    }

    pub(crate) fn discover(
        &mut self,
        task: &SuiteTask,
        setting: Setting,
    ) -> anyhow::Result<Discovery> {
        let name = match setting {
            Setting::Own | Setting::OwnDescribed => task.agent(),
            Setting::All => String::new(),
        };
        let env = self.env;
        let view = self.views.entry(name);
        let view = view.or_insert_with_key(|name| OfferedTools::new(env, name));
        let hidden: Vec<String> = task.hidden.iter().map(ToolName::plain).collect();
        let shown: Vec<Value> = view
            .plain
            .iter()
            .filter(|tool| !hidden.iter().any(|name| tool["name"] == **name))
            .cloned()
            .collect();
        let mut discovery = Discovery {
            plain: Value::from(shown).to_string(),
            mux: Value::from(view.mux.clone()).to_string(),
            turns: Vec::new(),
            needed: 0,
            missed: 0,
        };
        let mut described = BTreeSet::new();
        for turn in &task.turns {
            let mut paths = BTreeSet::new();
            let mut exchanges = Vec::new();
            let mut found = String::new();
            for call in &turn.calls {
                let path = call.name.path();
                if described.contains(&path) || paths.contains(&path) {
                    continue;
                }
                discovery.needed += 1;
                if !view.is_complete {
                    if found.is_empty() && !turn.user.is_empty() {
                        exchanges.push(view.search(&turn.user)?);
                        found.clone_from(&exchanges[exchanges.len() - 1].heard);
                    }
                    // A search that fails is followed by one for the tool's own words.
                    if !shows(&found, &path) {
                        discovery.missed += 1;
                        exchanges.push(view.search(&call.name.words())?);
                    }
                }
                paths.insert(path);
            }
            let is_enough = setting == Setting::Own && view.is_complete;
            if !paths.is_empty() && !is_enough {
                exchanges.push(view.ask("describe", &json!({ "paths": paths }))?);
            }
            described.append(&mut paths);
            discovery.turns.push(exchanges);
        }
        Ok(discovery)
    }
}

impl OfferedTools {
    /// The tools that an agent of this name sees. Without a name, all tools.
    fn new(env: &TestEnv, name: &str) -> Self {
        let scope: &[&str] = match name {
            "" => &[],
            _ => &["--agent", name],
        };
        let mut passthrough = Agent::legacy(env, &[&["--passthrough"], scope].concat(), json!({}));
        let mut agent = Agent::legacy(env, &[&profiles::WHOLE, scope].concat(), json!({}));
        let mux = definitions(&mut agent);
        let is_complete = mux.iter().any(|tool| {
            let description = tool["description"].as_str();
            tool["name"] == "run"
                && description.is_some_and(|text| text.contains("COMPLETE: the signatures"))
        });
        Self {
            plain: definitions(&mut passthrough),
            mux,
            is_complete,
            agent,
            answers: HashMap::new(),
        }
    }

    fn search(&mut self, query: &str) -> anyhow::Result<Exchange> {
        self.ask("search", &json!({ "query": query }))
    }

    fn ask(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<Exchange> {
        let said = said(tool, arguments);
        if let Some(heard) = self.answers.get(&said) {
            let heard = heard.clone();
            return Ok(Exchange { said, heard });
        }
        let result = self.agent.call(tool, arguments.clone());
        ensure!(result["isError"] != true, "{said}: {result}");
        let heard = text(&result);
        self.answers.insert(said.clone(), heard.clone());
        Ok(Exchange { said, heard })
    }
}

/// Returns true if the answer of a search has the signature of a tool.
fn shows(found: &str, path: &str) -> bool {
    found.contains(&format!("{path}("))
}
