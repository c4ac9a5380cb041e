//! The TypeScript that a program stands for.
//!
//! Invariant: it gives the same result as the program, and shows the same order of calls.

use std::collections::HashSet;

use mux_typegen::names::spell;
use serde_json::Value;

use super::{
    OnError, Order, Plan,
    reference::{Key, Part, Reference, Root},
    template::{Piece, Template},
};

/// Names that a constant cannot have, or that the program needs itself.
const TAKEN: &str = "mux text Promise JSON undefined console arguments eval NaN Infinity await async break \
case catch class const continue debugger default delete do else enum export extends \
false finally for function if implements import in instanceof interface let new null \
package private protected public return static super switch this throw true try typeof \
var void while with yield globalThis";

const TEXT: &str =
    "const text = (value: unknown) => typeof value === \"string\" ? value : JSON.stringify(value);";

/// That program.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    pub source: String,
    /// The line on which each step is called, counted from 1.
    pub lines: Vec<usize>,
}

/// `order` is the one in which the steps go.
pub fn explain(plan: &Plan, order: &Order) -> Explained {
    let writer = Writer::new(plan, order);
    let mut lines = Lines::default();
    let mut called = vec![0; plan.steps.len()];
    if writer.joins_texts() {
        lines.push(TEXT.into());
    }
    for wave in order.waves() {
        for index in wave.iter().copied() {
            lines.extend(writer.given(index));
        }
        if let [only] = wave[..] {
            let (name, call) = (&writer.names[only], writer.call(only, "await "));
            let remark = writer.remark(only);
            called[only] = lines.push(format!("const {name} = {call};{remark}"));
            continue;
        }
        let names: Vec<&str> = wave.iter().map(|i| writer.names[*i].as_str()).collect();
        lines.push(format!(
            "const [{}] = await Promise.all([",
            names.join(", ")
        ));
        for index in wave {
            let (call, remark) = (writer.call(index, ""), writer.remark(index));
            called[index] = lines.push(format!("  {call},{remark}"));
        }
        lines.push("]);".into());
    }
    let result = match &plan.returns {
        Some(template) => writer.expression(template, true),
        None => writer.names.last().cloned().unwrap_or_default(),
    };
    lines.push(format!("return {result};"));
    Explained {
        source: lines.text,
        lines: called,
    }
}

/// Lines of a program, none of which holds a break.
#[derive(Default)]
struct Lines {
    text: String,
    count: usize,
}

impl Lines {
    /// Gives the number of the line.
    fn push(&mut self, line: String) -> usize {
        self.text.push_str(&line);
        self.text.push('\n');
        self.count += 1;
        self.count
    }

    fn extend(&mut self, line: Option<String>) {
        if let Some(line) = line {
            self.push(line);
        }
    }
}

struct Writer<'a> {
    plan: &'a Plan,
    order: &'a Order,
    /// Of the results.
    names: Vec<String>,
    /// Of what was given, for the steps of which that is asked.
    args: Vec<String>,
    shows_args: Vec<bool>,
    /// It may have no result: it may fail and the program go on, or it needs such a step.
    is_open: Vec<bool>,
}

impl<'a> Writer<'a> {
    fn new(plan: &'a Plan, order: &'a Order) -> Self {
        let mut taken: HashSet<String> = TAKEN.split_whitespace().map(str::to_owned).collect();
        let names = plan.steps.iter().map(|step| name(&step.id, &mut taken));
        let names: Vec<String> = names.collect();
        let args = names
            .iter()
            .map(|step| name(&format!("{step}_args"), &mut taken));
        let args = args.collect();
        let mut shows_args = vec![false; plan.steps.len()];
        let templates = plan.steps.iter().map(|step| &step.args);
        for template in templates.chain(&plan.returns) {
            template.references(&mut |reference| {
                if let Root::Step {
                    index,
                    part: Part::Args,
                } = reference.root
                {
                    shows_args[index] = true;
                }
            });
        }
        let mut is_open: Vec<bool> = Vec::with_capacity(plan.steps.len());
        for (index, step) in plan.steps.iter().enumerate() {
            let needs_one = order.needs[index].iter().any(|need| is_open[*need]);
            is_open.push(needs_one || step.on_error == OnError::Continue);
        }
        Self {
            plan,
            order,
            names,
            args,
            shows_args,
            is_open,
        }
    }

    fn joins_texts(&self) -> bool {
        let templates = self.plan.steps.iter().map(|step| &step.args);
        templates.chain(&self.plan.returns).any(has_text)
    }

    /// What a step is given, where somebody asks for it.
    fn given(&self, index: usize) -> Option<String> {
        let given = || self.expression(&self.plan.steps[index].args, false);
        let shown = self.shows_args[index].then(given)?;
        let name = &self.args[index];
        Some(format!("const {name} = {};", self.guarded(index, shown)))
    }

    /// The call of a step, or nothing where something that it needs is missing.
    fn call(&self, index: usize, wait: &str) -> String {
        let step = &self.plan.steps[index];
        let (server, tool) = step.tool.split_once('.').unwrap_or((&step.tool, ""));
        let args = match self.shows_args[index] {
            true if self.can_be_skipped(index) => format!("{}!", self.args[index]),
            true => self.args[index].clone(),
            false => self.expression(&step.args, false),
        };
        let caught = match step.on_error {
            OnError::Continue => ".catch(() => undefined)",
            OnError::Abort => "",
        };
        let call = format!(
            "{wait}mux{}{}({args}){caught}",
            member(server),
            member_of_server(tool)
        );
        self.guarded(index, call)
    }

    fn can_be_skipped(&self, index: usize) -> bool {
        self.order.needs[index]
            .iter()
            .any(|need| self.is_open[*need])
    }

    fn guarded(&self, index: usize, expression: String) -> String {
        let open = self.order.needs[index]
            .iter()
            .filter(|need| self.is_open[**need]);
        let missing: Vec<String> = open
            .map(|need| format!("{} === undefined", self.names[*need]))
            .collect();
        match missing.is_empty() {
            true => expression,
            false => format!("{} ? undefined : {expression}", missing.join(" || ")),
        }
    }

    fn remark(&self, index: usize) -> String {
        let step = &self.plan.steps[index];
        let mut words = Vec::new();
        if self.names[index] != step.id {
            words.push(step.id.clone());
        }
        words.extend(step.description.as_deref().map(super::mistake::short));
        match words.is_empty() {
            true => String::new(),
            false => format!("  // {}", words.join(": ")),
        }
    }

    fn expression(&self, template: &Template, in_return: bool) -> String {
        match template {
            Template::Fixed(value) => literal(value),
            Template::Whole(reference) => self.value(reference, in_return),
            Template::Text(pieces) => {
                let pieces = pieces.iter().map(|piece| match piece {
                    Piece::Text(text) => text
                        .replace('\\', "\\\\")
                        .replace('`', "\\`")
                        .replace('\n', "\\n")
                        .replace('\r', "\\r")
                        .replace("${", "\\${"),
                    Piece::Value(reference) => {
                        format!("${{text({})}}", self.value(reference, in_return))
                    }
                });
                format!("`{}`", pieces.collect::<String>())
            }
            Template::Array(items) => {
                let items: Vec<String> = items
                    .iter()
                    .map(|item| self.expression(item, in_return))
                    .collect();
                format!("[{}]", items.join(", "))
            }
            Template::Object(members) => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(name, value)| {
                        format!("{}: {}", property(name), self.expression(value, in_return))
                    })
                    .collect();
                format!("{{ {} }}", members.join(", "))
            }
        }
    }

    /// A value. Only the result of the program may be made from what is missing.
    fn value(&self, reference: &Reference, in_return: bool) -> String {
        let (root, is_open) = match reference.root {
            Root::Input => ("mux.input".to_owned(), false),
            Root::Step { index, part } => {
                let name = match part {
                    Part::Result => &self.names[index],
                    Part::Args => &self.args[index],
                };
                // The arguments of a step are there whenever its result is, which the compiler cannot know.
                let sure = match part == Part::Args && self.can_be_skipped(index) {
                    true => "!",
                    false => "",
                };
                (format!("{name}{sure}"), self.is_open[index])
            }
        };
        let path = way(&reference.path);
        match is_open && in_return {
            true => {
                let root = root.trim_end_matches('!');
                let path = match path.is_empty() {
                    true => String::new(),
                    false if path.starts_with('.') => format!("?{path}"),
                    false => format!("?.{path}"),
                };
                format!("({root}{path} ?? null)")
            }
            false => format!("{root}{path}"),
        }
    }
}

fn has_text(template: &Template) -> bool {
    match template {
        Template::Text(_) => true,
        Template::Array(items) => items.iter().any(has_text),
        Template::Object(members) => members.iter().any(|(_, member)| has_text(member)),
        Template::Fixed(_) | Template::Whole(_) => false,
    }
}

/// A constant for something of this name.
fn name(wanted: &str, taken: &mut HashSet<String>) -> String {
    let mut name: String = wanted
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '$' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert_str(0, "step_");
    }
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    name
}

fn way(path: &[Key]) -> String {
    let step = |key: &Key| match key {
        Key::Index(index) if index.len() < 10 && (index == "0" || !index.starts_with('0')) => {
            format!("[{index}]")
        }
        key => member(key.name()),
    };
    path.iter().map(step).collect()
}

/// How a member is asked for.
/// Dots make groups.
fn member_of_server(tool: &str) -> String {
    match spell(tool) == tool {
        true => format!(".{tool}"),
        false => member(tool),
    }
}

fn member(name: &str) -> String {
    match is_identifier(name) {
        true => format!(".{name}"),
        false => format!("[{}]", Value::from(name)),
    }
}

/// How a member is written down. `__proto__` is a member only in brackets.
fn property(name: &str) -> String {
    match name {
        "__proto__" => "[\"__proto__\"]".into(),
        name if is_identifier(name) => name.into(),
        name => Value::from(name).to_string(),
    }
}

fn is_identifier(name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    name.starts_with(|c: char| part(c) && !c.is_ascii_digit()) && name.chars().all(part)
}

/// A value as it is written in a program.
fn literal(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".into(),
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}: {}", property(name), literal(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        plain => plain.to_string(),
    }
}
