//! From JSON text to a program, or to everything that is wrong with it.
//!
//! Invariant: total. Whatever the text is, the answer is a program whose steps refer to earlier steps
//! only, or a failure that names each step that has a mistake, and what to write instead.

mod ahead;
mod texts;

use std::collections::HashMap;

use mux_wire::{Fault, Kind};
use serde_json::{Map, Value};

use super::{
    OnError, Plan, Step,
    mistake::{self, Mistake, kind, place, short},
};
use mux_text::{did_you_mean::nearest, json_depth};

const SHAPE: &str = r#"a program is {"steps": [{"id": "a", "tool": "server.tool", "args": {}}], "return": "{{a.result}}"}"#;
const TOP: &[&str] = &["steps", "return", "description"];
const STEP: &[&str] = &["id", "tool", "args", "on_error", "after", "description"];
/// What people call these members elsewhere.
const ALIASES: &[(&str, &str)] = &[
    ("arguments", "args"),
    ("params", "args"),
    ("parameters", "args"),
    ("input", "args"),
    ("name", "id"),
    ("tool_name", "tool"),
    ("onError", "on_error"),
    ("depends_on", "after"),
    ("result", "return"),
    ("returns", "return"),
    ("output", "return"),
];
/// Mistakes that are looked for; whoever made more has made one again and again.
const ENOUGH: usize = 100;
/// Longer ids, in characters, are no names.
const LONGEST_ID: usize = 64;

/// Reads a program of at most so many steps.
pub fn read(text: &str, most_steps: usize) -> Result<Plan, Fault> {
    let text = without_fence(text);
    json_depth::check(&text, "the program")?;
    let mut value: Value = serde_json::from_str(&text).map_err(|error| no_json(&error))?;
    // As some callers wrap it.
    if let Value::Object(top) = &mut value
        && !top.contains_key("steps")
        && let Some(inner @ Value::Object(_)) = top.get_mut("program").map(Value::take)
    {
        value = inner;
    }
    let Value::Object(mut top) = value else {
        let message = format!("the program is {}, not an object", kind(&value));
        return Err(Fault::new(Kind::Syntax, message).hint(SHAPE));
    };
    let steps = match top.shift_remove("steps") {
        Some(Value::Array(steps)) if !steps.is_empty() => steps,
        Some(Value::Array(_)) => {
            return Err(Fault::new(Kind::Syntax, "the program has no steps").hint(SHAPE));
        }
        Some(other) => {
            let message = format!("`steps` is {}, not an array", kind(&other));
            return Err(Fault::new(Kind::Syntax, message).hint(SHAPE));
        }
        None => return Err(Fault::new(Kind::Syntax, "`steps` is missing").hint(SHAPE)),
    };
    if steps.len() > most_steps {
        let message = format!(
            "the program has {} steps, over the limit of {most_steps}",
            steps.len()
        );
        return Err(Fault::new(Kind::Limit, message).hint(
            "each step is a call: [limits] calls in config.toml allows more; for loops write a TypeScript \
             program",
        ));
    }
    let mut reader = Reader::of(&steps);
    let steps: Vec<Step> = steps
        .into_iter()
        .enumerate()
        .map(|(index, step)| reader.step(index, step))
        .collect();
    let returns = top.shift_remove("return");
    let returns = returns.map(|value| {
        reader.here = steps.len();
        reader.template(value, "return")
    });
    reader.unknown(top.keys(), TOP, "the program");
    reader.look_ahead();
    match mistake::fault(&reader.mistakes) {
        Some(fault) => Err(fault),
        None => Ok(Plan { steps, returns }),
    }
}

fn no_json(error: &serde_json::Error) -> Fault {
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or(&said);
    let mut fault =
        Fault::new(Kind::Syntax, format!("the program is not JSON: {said}")).hint(SHAPE);
    fault.line = u32::try_from(error.line()).ok().filter(|line| *line > 0);
    fault.column = u32::try_from(error.column().max(1)).ok();
    fault
}

/// Without a byte-order mark and the Markdown fence that models put around JSON. Lines stay where they are.
fn without_fence(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines: Vec<&str> = text.split('\n').collect();
    let first = lines.iter().position(|line| !line.trim().is_empty());
    let last = lines.iter().rposition(|line| !line.trim().is_empty());
    if let (Some(first), Some(last)) = (first, last)
        && first < last
        && matches!(
            lines[first].trim(),
            "```" | "```json" | "```JSON" | "```jsonc"
        )
        && lines[last].trim() == "```"
    {
        lines[first] = "";
        lines[last] = "";
    }
    lines.join("\n")
}

/// What is known while a program is read.
struct Reader {
    ids: HashMap<String, usize>,
    names: Vec<Option<String>>,
    /// As they are written, whether they are any or not.
    tools: Vec<String>,
    /// The step that is being read.
    here: usize,
    /// Which steps each step refers to, whether it may or not.
    edges: Vec<Vec<usize>>,
    /// References to later steps: from, to, and how they are written.
    ahead: Vec<(usize, usize, String)>,
    mistakes: Vec<Mistake>,
}

impl Reader {
    fn of(steps: &[Value]) -> Self {
        let mut reader = Self {
            ids: HashMap::new(),
            names: Vec::with_capacity(steps.len()),
            tools: Vec::with_capacity(steps.len()),
            here: 0,
            edges: vec![Vec::new(); steps.len()],
            ahead: Vec::new(),
            mistakes: Vec::new(),
        };
        for (index, step) in steps.iter().enumerate() {
            let id = step.get("id").and_then(Value::as_str).map(str::to_owned);
            if let Some(id) = &id {
                reader.ids.entry(id.clone()).or_insert(index);
            }
            reader.names.push(id);
            let tool = step.get("tool").and_then(Value::as_str);
            reader.tools.push(tool.unwrap_or_default().to_owned());
        }
        reader
    }

    fn wrong(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        if self.mistakes.len() < ENOUGH {
            self.mistakes.push(Mistake::new(message, hint));
        }
    }

    /// The place of the step that is being read, as it is spoken of.
    fn place(&self) -> String {
        match self.names.get(self.here) {
            Some(id) => place(self.here, id.as_deref()),
            None => "`return`".into(),
        }
    }

    fn step(&mut self, index: usize, step: Value) -> Step {
        self.here = index;
        let mut members = match step {
            Value::Object(members) => members,
            other => {
                let message = format!("{} is {}, not an object", self.place(), kind(&other));
                self.wrong(message, SHAPE);
                Map::new()
            }
        };
        let id = self.id(index, members.shift_remove("id"));
        let tool = self.tool(members.shift_remove("tool"));
        let on_error = self.on_error(members.shift_remove("on_error"));
        let after = self.after(members.shift_remove("after"));
        let description = members.shift_remove("description");
        let description = description.and_then(|text| text.as_str().map(str::to_owned));
        let args = members.shift_remove("args");
        // MCP's word for them, unless both are there.
        let args = args.or_else(|| members.shift_remove("arguments"));
        let args = args.unwrap_or(Value::Null);
        let place = self.place();
        let args = match args {
            Value::Null => Value::Object(Map::new()),
            args @ (Value::Object(_) | Value::String(_)) => args,
            other => {
                let message = format!("the `args` of {place} are {}", kind(&other));
                self.wrong(
                    message,
                    "arguments are one object, or one reference to an object",
                );
                Value::Object(Map::new())
            }
        };
        let is_text = args.is_string();
        let args = self.template(args, "args");
        if is_text && !matches!(args, super::Template::Whole(_)) {
            let message = format!("the `args` of {place} are a text");
            self.wrong(
                message,
                "arguments are one object, or one reference to an object",
            );
        }
        self.unknown(members.keys(), STEP, &place);
        Step {
            id,
            tool,
            args,
            on_error,
            after,
            description,
        }
    }

    fn id(&mut self, index: usize, id: Option<Value>) -> String {
        let is_name = |id: &str| {
            id.chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
        };
        const RULE: &str = "an id is a name of letters, digits, _ and -, such as \"list\"";
        match id {
            Some(Value::String(id)) => {
                let place = self.place();
                if id.is_empty() || id.chars().count() > LONGEST_ID || !is_name(&id) {
                    self.wrong(format!("the id of {place} is no name"), RULE);
                } else if id == super::reference::INPUT {
                    let hint = "call it otherwise: `input` is what the caller of the program gives";
                    self.wrong(format!("{place} cannot be called `input`"), hint);
                } else if let Some(first) = self.ids.get(&id).filter(|first| **first != index) {
                    let message = format!("{place} has the id of steps[{first}]");
                    self.wrong(message, "each step needs an id of its own");
                }
                id
            }
            Some(other) => {
                let message = format!("the id of {} is {}", self.place(), kind(&other));
                self.wrong(message, RULE);
                String::new()
            }
            None => {
                self.wrong(format!("{} has no `id`", self.place()), RULE);
                String::new()
            }
        }
    }

    fn tool(&mut self, tool: Option<Value>) -> String {
        const RULE: &str = "a tool is \"server.tool\", such as \"files.read\"";
        let place = self.place();
        let problem = match tool {
            Some(Value::String(tool)) => match tool.split_once('.') {
                _ if tool.contains("{{") => {
                    let hint = "a tool is fixed; to choose among tools write a TypeScript program";
                    self.wrong(format!("the tool of {place} holds a reference"), hint);
                    return tool;
                }
                Some((server, name)) if !server.is_empty() && !name.is_empty() => return tool,
                _ => format!(
                    "{:?}, the tool of {place}, is no path of a tool",
                    short(&tool)
                ),
            },
            Some(other) => format!("the tool of {place} is {}", kind(&other)),
            None => format!("{place} has no `tool`"),
        };
        self.wrong(problem, RULE);
        String::new()
    }

    fn on_error(&mut self, value: Option<Value>) -> OnError {
        match value
            .as_ref()
            .map(|value| value.as_str().unwrap_or_default())
        {
            None | Some("abort") => OnError::Abort,
            Some("continue") => OnError::Continue,
            Some(_) => {
                let message = format!("the `on_error` of {} is something else", self.place());
                self.wrong(
                    message,
                    "it is \"abort\", which it is without it, or \"continue\"",
                );
                OnError::Abort
            }
        }
    }

    fn after(&mut self, value: Option<Value>) -> Vec<usize> {
        let named = match value {
            None => return Vec::new(),
            Some(Value::String(id)) => vec![Value::String(id)],
            Some(Value::Array(ids)) => ids,
            Some(other) => vec![other],
        };
        let mut steps = Vec::new();
        for id in named {
            let Value::String(id) = id else {
                let message = format!("the `after` of {} holds {}", self.place(), kind(&id));
                self.wrong(
                    message,
                    "it is the id of an earlier step, or an array of them",
                );
                continue;
            };
            if let Some(index) = self.earlier(&id, &format!("after {id}"))
                && !steps.contains(&index)
            {
                steps.push(index);
            }
        }
        steps
    }

    /// The earlier step of that id.
    fn earlier(&mut self, id: &str, written: &str) -> Option<usize> {
        let Some(index) = self.ids.get(id).copied() else {
            // To compare names takes time.
            if self.mistakes.len() >= ENOUGH {
                return None;
            }
            let near = nearest(id, self.ids.keys().map(String::as_str)).map(str::to_owned);
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name an earlier step, or `input`; `\\{{` stands for `{{` itself".into(),
            };
            let message = format!("{}: there is no step `{}`", self.place(), short(id));
            self.wrong(message, hint);
            return None;
        };
        if let Some(edges) = self.edges.get_mut(self.here) {
            edges.push(index);
        }
        if index < self.here {
            return Some(index);
        }
        self.ahead.push((self.here, index, written.to_owned()));
        None
    }

    fn unknown<'a>(&mut self, names: impl Iterator<Item = &'a String>, known: &[&str], what: &str) {
        for name in names.take(ENOUGH) {
            let alias = ALIASES
                .iter()
                .find(|(alias, meant)| alias == name && known.contains(meant));
            let meant = alias.map(|(_, meant)| *meant);
            let hint = match meant.or_else(|| nearest(name, known.iter().copied())) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("it may have {}", known.join(", ")),
            };
            let message = format!("{what} has no member `{}`", short(name));
            self.wrong(message, hint);
        }
    }
}

#[cfg(test)]
mod tests;
