//! Parses JSON to a step program.
//!
//! Invariant: total. For any input, the result is a program whose steps refer only to earlier steps, or a fault
//! that names each step with an error and the correction.

mod forward_references;
mod template_parser;

use std::collections::HashMap;

use mux_wire::{Fault, FaultKind};
use serde_json::{Map, Value};

use super::{
    OnError, PlanStep, StepPlan,
    program_mistake::{self, ProgramMistake, json_kind, short_text, step_label},
};
use mux_text::{
    did_you_mean::nearest,
    json_depth,
    tool_path::{plain_spelling, split_tool_path},
};

const PROGRAM_SHAPE_HINT: &str = r#"a program is {"steps": [{"id": "a", "tool": "server.tool", "args": {}}], "return": "{{a.result}}"}"#;
const PROGRAM_MEMBERS: &[&str] = &["steps", "return", "description"];
const STEP_MEMBERS: &[&str] = &["id", "tool", "args", "on_error", "after", "description"];
/// Names of these members in other formats, and the member that is meant.
const MEMBER_ALIASES: &[(&str, &str)] = &[
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
/// The maximum number of errors that are collected. Further errors are most likely repetitions.
const MAX_MISTAKES: usize = 100;
/// The maximum length of an id, in characters.
const MAX_ID_CHARS: usize = 64;

/// Parses a program of at most `most_steps` steps.
pub fn parse_program(text: &str, most_steps: usize) -> Result<StepPlan, Fault> {
    let text = without_fence(text);
    json_depth::check(&text, "the program")?;
    let mut value: Value =
        serde_json::from_str(&text).map_err(|error| json_syntax_fault(&error))?;
    // Some callers wrap the program in `{"program": …}`.
    if let Value::Object(top) = &mut value
        && !top.contains_key("steps")
        && let Some(inner @ Value::Object(_)) = top.get_mut("program").map(Value::take)
    {
        value = inner;
    }
    let Value::Object(mut top) = value else {
        let message = format!("the program is {}, not an object", json_kind(&value));
        return Err(Fault::new(FaultKind::Syntax, message).hint(PROGRAM_SHAPE_HINT));
    };
    let steps = match top.shift_remove("steps") {
        Some(Value::Array(steps)) if !steps.is_empty() => steps,
        Some(Value::Array(_)) => {
            return Err(
                Fault::new(FaultKind::Syntax, "the program has no steps").hint(PROGRAM_SHAPE_HINT)
            );
        }
        Some(other) => {
            let message = format!("`steps` is {}, not an array", json_kind(&other));
            return Err(Fault::new(FaultKind::Syntax, message).hint(PROGRAM_SHAPE_HINT));
        }
        None => {
            return Err(
                Fault::new(FaultKind::Syntax, "`steps` is missing").hint(PROGRAM_SHAPE_HINT)
            );
        }
    };
    if steps.len() > most_steps {
        let message = format!(
            "the program has {} steps, over the limit of {most_steps}",
            steps.len()
        );
        return Err(Fault::new(FaultKind::Limit, message).hint(
            "each step is a call: [limits] calls in config.toml allows more; for loops write a TypeScript \
             program",
        ));
    }
    let mut reader = ProgramReader::of(&steps);
    let steps: Vec<PlanStep> = steps
        .into_iter()
        .enumerate()
        .map(|(index, step)| reader.read_step(index, step))
        .collect();
    let returns = top.shift_remove("return");
    let returns = returns.map(|value| {
        reader.here = steps.len();
        reader.template(value, "return")
    });
    reader.reject_unknown_members(top.keys(), PROGRAM_MEMBERS, "the program");
    reader.look_ahead();
    match program_mistake::mistakes_fault(&reader.mistakes) {
        Some(fault) => Err(fault),
        None => Ok(StepPlan { steps, returns }),
    }
}

fn json_syntax_fault(error: &serde_json::Error) -> Fault {
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or(&said);
    let mut fault = Fault::new(
        FaultKind::Syntax,
        format!("the program is not JSON: {said}"),
    )
    .hint(PROGRAM_SHAPE_HINT);
    fault.line = u32::try_from(error.line()).ok().filter(|line| *line > 0);
    fault.column = u32::try_from(error.column().max(1)).ok();
    fault
}

/// Strips a byte-order mark and the Markdown fence that models put around JSON. Line numbers stay the same.
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

/// The state of parsing one program.
struct ProgramReader {
    ids: HashMap<String, usize>,
    names: Vec<Option<String>>,
    /// The `tool` of each step as written, valid or not.
    tools: Vec<String>,
    /// The index of the step that is being parsed.
    here: usize,
    /// The steps that each step refers to, allowed or not.
    edges: Vec<Vec<usize>>,
    /// References to later steps: from, to, and the reference as written.
    ahead: Vec<(usize, usize, String)>,
    mistakes: Vec<ProgramMistake>,
}

impl ProgramReader {
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

    fn add_mistake(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        if self.mistakes.len() < MAX_MISTAKES {
            self.mistakes.push(ProgramMistake::new(message, hint));
        }
    }

    /// How an error message names the step that is being parsed.
    fn current_place(&self) -> String {
        match self.names.get(self.here) {
            Some(id) => step_label(self.here, id.as_deref()),
            None => "`return`".into(),
        }
    }

    fn read_step(&mut self, index: usize, step: Value) -> PlanStep {
        self.here = index;
        let mut members = match step {
            Value::Object(members) => members,
            other => {
                let message = format!(
                    "{} is {}, not an object",
                    self.current_place(),
                    json_kind(&other)
                );
                self.add_mistake(message, PROGRAM_SHAPE_HINT);
                Map::new()
            }
        };
        let id = self.read_id(index, members.shift_remove("id"));
        let tool = self.tool(members.shift_remove("tool"));
        let on_error = self.on_error(members.shift_remove("on_error").as_ref());
        let after = self.after(members.shift_remove("after"));
        let description = members.shift_remove("description");
        let description = description.and_then(|text| text.as_str().map(str::to_owned));
        let args = members.shift_remove("args");
        // MCP's name for `args`, unless both are present.
        let args = args.or_else(|| members.shift_remove("arguments"));
        let args = args.unwrap_or(Value::Null);
        let place = self.current_place();
        let args = match args {
            Value::Null => Value::Object(Map::new()),
            args @ (Value::Object(_) | Value::String(_)) => args,
            other => {
                let message = format!("the `args` of {place} are {}", json_kind(&other));
                self.add_mistake(
                    message,
                    "arguments are one object, or one reference to an object",
                );
                Value::Object(Map::new())
            }
        };
        let is_text = args.is_string();
        let args = self.template(args, "args");
        if is_text && !matches!(args, super::Template::Whole(_)) {
            let message = format!("the `args` of {place} are a string");
            self.add_mistake(
                message,
                "arguments are one object, or one reference to an object",
            );
        }
        self.reject_unknown_members(members.keys(), STEP_MEMBERS, &place);
        PlanStep {
            id,
            tool,
            args,
            on_error,
            after,
            description,
        }
    }

    fn read_id(&mut self, index: usize, id: Option<Value>) -> String {
        const ID_RULE: &str = "an id is a name of letters, digits, _ and -, such as \"list\"";
        let is_name = |id: &str| {
            id.chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
        };
        match id {
            Some(Value::String(id)) => {
                let place = self.current_place();
                if id.is_empty() || id.chars().count() > MAX_ID_CHARS || !is_name(&id) {
                    self.add_mistake(format!("the id of {place} is not valid"), ID_RULE);
                } else if id == super::reference::INPUT_NAME {
                    let hint = "choose another id: `input` is the input of the program";
                    self.add_mistake(format!("{place} cannot be called `input`"), hint);
                } else if let Some(first) = self.ids.get(&id).filter(|first| **first != index) {
                    let message = format!("{place} has the id of steps[{first}]");
                    self.add_mistake(message, "each step needs its own id");
                }
                id
            }
            Some(other) => {
                let message = format!(
                    "the id of {} is {}",
                    self.current_place(),
                    json_kind(&other)
                );
                self.add_mistake(message, ID_RULE);
                String::new()
            }
            None => {
                self.add_mistake(format!("{} has no `id`", self.current_place()), ID_RULE);
                String::new()
            }
        }
    }

    fn tool(&mut self, tool: Option<Value>) -> String {
        const TOOL_RULE: &str = "a tool is \"server.tool\", such as \"files.read\"";
        let place = self.current_place();
        let problem = match tool {
            Some(Value::String(tool)) => match split_tool_path(&tool) {
                _ if tool.contains("{{") => {
                    let hint = "a tool is fixed; to choose among tools write a TypeScript program";
                    self.add_mistake(format!("the tool of {place} contains a reference"), hint);
                    return tool;
                }
                Some(_) => return tool,
                None if split_tool_path(&plain_spelling(&tool)).is_some() => {
                    return plain_spelling(&tool).into_owned();
                }
                None => format!(
                    "{:?}, the tool of {place}, is not a tool path",
                    short_text(&tool)
                ),
            },
            Some(other) => format!("the tool of {place} is {}", json_kind(&other)),
            None => format!("{place} has no `tool`"),
        };
        self.add_mistake(problem, TOOL_RULE);
        String::new()
    }

    fn on_error(&mut self, value: Option<&Value>) -> OnError {
        match value.map(|value| value.as_str().unwrap_or_default()) {
            None | Some("abort") => OnError::Abort,
            Some("continue") => OnError::Continue,
            Some(_) => {
                let message = format!(
                    "the `on_error` of {} is an unknown value",
                    self.current_place()
                );
                self.add_mistake(
                    message,
                    "`on_error` is \"abort\" (the default) or \"continue\"",
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
                let message = format!(
                    "the `after` of {} holds {}",
                    self.current_place(),
                    json_kind(&id)
                );
                self.add_mistake(
                    message,
                    "it is the id of an earlier step, or an array of them",
                );
                continue;
            };
            if let Some(index) = self.resolve_earlier_step(&id, &format!("after {id}"))
                && !steps.contains(&index)
            {
                steps.push(index);
            }
        }
        steps
    }

    /// The index of the earlier step with this id. Records an error if there is none.
    fn resolve_earlier_step(&mut self, id: &str, written: &str) -> Option<usize> {
        let Some(index) = self.ids.get(id).copied() else {
            // Finding a similar name is expensive.
            if self.mistakes.len() >= MAX_MISTAKES {
                return None;
            }
            let near = nearest(id, self.ids.keys().map(String::as_str)).map(str::to_owned);
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name an earlier step, or `input`; `\\{{` is a literal `{{`".into(),
            };
            let message = format!(
                "{}: there is no step `{}`",
                self.current_place(),
                short_text(id)
            );
            self.add_mistake(message, hint);
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

    fn reject_unknown_members<'a>(
        &mut self,
        names: impl Iterator<Item = &'a String>,
        known: &[&str],
        what: &str,
    ) {
        for name in names.take(MAX_MISTAKES) {
            let alias = MEMBER_ALIASES
                .iter()
                .find(|(alias, meant)| alias == name && known.contains(meant));
            let meant = alias.map(|(_, meant)| *meant);
            let hint = match meant.or_else(|| nearest(name, known.iter().copied())) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("expected one of {}", known.join(", ")),
            };
            let message = format!("{what} has no member `{}`", short_text(name));
            self.add_mistake(message, hint);
        }
    }
}

#[cfg(test)]
mod tests;
