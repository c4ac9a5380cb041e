//! Translates a JSON step program to the equivalent TypeScript program.
//!
//! Invariant: the TypeScript returns the same result as the step program and makes its calls in the same order.

use std::collections::HashSet;

use mux_typegen::names::spell;
use serde_json::Value;

use super::{
    OnError, StepOrder, StepPlan,
    reference::{PathKey, ReferenceRoot, StepPart, ValueReference},
    template::{Template, TextPiece},
};

/// Identifiers that a generated constant must not use: reserved words, and names that the program itself uses.
const RESERVED_NAMES: &str = "mux text Promise JSON undefined console arguments eval NaN Infinity await async break \
case catch class const continue debugger default delete do else enum export extends \
false finally for function if implements import in instanceof interface let new null \
package private protected public return static super switch this throw true try typeof \
var void while with yield globalThis";

const TEXT_HELPER_SOURCE: &str =
    "const text = (value: unknown) => typeof value === \"string\" ? value : JSON.stringify(value);";

/// The TypeScript equivalent of a step program.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedProgram {
    pub source: String,
    /// The line on which each step is called, counted from 1.
    pub lines: Vec<usize>,
}

/// Translates `plan` to TypeScript. `order` is the execution order of its steps.
pub fn explain_as_typescript(plan: &StepPlan, order: &StepOrder) -> ExplainedProgram {
    let writer = TypeScriptWriter::new(plan, order);
    let mut lines = SourceLines::default();
    let mut called = vec![0; plan.steps.len()];
    if writer.needs_text_helper() {
        lines.push(TEXT_HELPER_SOURCE);
    }
    for wave in order.waves() {
        for index in wave.iter().copied() {
            lines.extend(writer.args_declaration(index));
        }
        if let [only] = wave[..] {
            let name = &writer.names[only];
            let call = writer.call_expression(only, "await ");
            let remark = writer.line_comment(only);
            called[only] = lines.push(&format!("const {name} = {call};{remark}"));
            continue;
        }
        let names: Vec<&str> = wave.iter().map(|i| writer.names[*i].as_str()).collect();
        lines.push(&format!(
            "const [{}] = await Promise.all([",
            names.join(", ")
        ));
        for index in wave {
            let call = writer.call_expression(index, "");
            let remark = writer.line_comment(index);
            called[index] = lines.push(&format!("  {call},{remark}"));
        }
        lines.push("]);");
    }
    let result = match &plan.returns {
        Some(template) => writer.expression(template, true),
        None => writer.names.last().cloned().unwrap_or_default(),
    };
    lines.push(&format!("return {result};"));
    ExplainedProgram {
        source: lines.text,
        lines: called,
    }
}

/// Lines of a program. No line contains a line break.
#[derive(Default)]
struct SourceLines {
    text: String,
    count: usize,
}

impl SourceLines {
    /// Returns the number of the line, counted from 1.
    fn push(&mut self, line: &str) -> usize {
        self.text.push_str(line);
        self.text.push('\n');
        self.count += 1;
        self.count
    }

    fn extend(&mut self, line: Option<String>) {
        if let Some(line) = line {
            self.push(&line);
        }
    }
}

struct TypeScriptWriter<'a> {
    plan: &'a StepPlan,
    order: &'a StepOrder,
    /// The constant with the result of each step.
    names: Vec<String>,
    /// The constant with the arguments of each step. Declared only where `shows_args` is set.
    args: Vec<String>,
    shows_args: Vec<bool>,
    /// True if the step may have no result: it has `on_error: continue`, or it needs such a step.
    is_open: Vec<bool>,
}

impl<'a> TypeScriptWriter<'a> {
    fn new(plan: &'a StepPlan, order: &'a StepOrder) -> Self {
        let mut taken: HashSet<String> = RESERVED_NAMES
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let names = plan
            .steps
            .iter()
            .map(|step| unique_identifier(&step.id, &mut taken));
        let names: Vec<String> = names.collect();
        let args = names
            .iter()
            .map(|step| unique_identifier(&format!("{step}_args"), &mut taken));
        let args = args.collect();
        let mut shows_args = vec![false; plan.steps.len()];
        let templates = plan.steps.iter().map(|step| &step.args);
        for template in templates.chain(&plan.returns) {
            template.references(&mut |reference| {
                if let ReferenceRoot::Step {
                    index,
                    part: StepPart::Args,
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

    fn needs_text_helper(&self) -> bool {
        let templates = self.plan.steps.iter().map(|step| &step.args);
        templates.chain(&self.plan.returns).any(has_text_template)
    }

    /// Declares the constant with a step's arguments, if something refers to them.
    fn args_declaration(&self, index: usize) -> Option<String> {
        let given = || self.expression(&self.plan.steps[index].args, false);
        let shown = self.shows_args[index].then(given)?;
        let name = &self.args[index];
        Some(format!(
            "const {name} = {};",
            self.guard_missing(index, shown)
        ))
    }

    /// The call of a step, which evaluates to `undefined` where a result that it needs is missing.
    fn call_expression(&self, index: usize, wait: &str) -> String {
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
            member_access(server),
            tool_member_access(tool)
        );
        self.guard_missing(index, call)
    }

    fn can_be_skipped(&self, index: usize) -> bool {
        self.order.needs[index]
            .iter()
            .any(|need| self.is_open[*need])
    }

    fn guard_missing(&self, index: usize, expression: String) -> String {
        let open = self.order.needs[index]
            .iter()
            .filter(|need| self.is_open[**need]);
        let missing: Vec<String> = open
            .map(|need| format!("{} === undefined", self.names[*need]))
            .collect();
        if missing.is_empty() {
            expression
        } else {
            format!("{} ? undefined : {expression}", missing.join(" || "))
        }
    }

    fn line_comment(&self, index: usize) -> String {
        let step = &self.plan.steps[index];
        let mut words = Vec::new();
        if self.names[index] != step.id {
            words.push(step.id.clone());
        }
        words.extend(
            step.description
                .as_deref()
                .map(super::program_mistake::short_text),
        );
        if words.is_empty() {
            String::new()
        } else {
            format!("  // {}", words.join(": "))
        }
    }

    fn expression(&self, template: &Template, in_return: bool) -> String {
        match template {
            Template::Fixed(value) => value_literal(value),
            Template::Whole(reference) => self.value_expression(reference, in_return),
            Template::Text(pieces) => {
                let pieces = pieces.iter().map(|piece| match piece {
                    TextPiece::Text(text) => text
                        .replace('\\', "\\\\")
                        .replace('`', "\\`")
                        .replace('\n', "\\n")
                        .replace('\r', "\\r")
                        .replace("${", "\\${"),
                    TextPiece::Value(reference) => {
                        format!("${{text({})}}", self.value_expression(reference, in_return))
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
                        format!(
                            "{}: {}",
                            property_key(name),
                            self.expression(value, in_return)
                        )
                    })
                    .collect();
                format!("{{ {} }}", members.join(", "))
            }
        }
    }

    /// The expression of a referenced value. Only `return` may refer to a missing result, which becomes null.
    fn value_expression(&self, reference: &ValueReference, in_return: bool) -> String {
        let (root, is_open) = match reference.root {
            ReferenceRoot::Input => ("mux.input".to_owned(), false),
            ReferenceRoot::Step { index, part } => {
                let name = match part {
                    StepPart::Result => &self.names[index],
                    StepPart::Args => &self.args[index],
                };
                // A step's arguments exist whenever its result does, which the compiler cannot know.
                let sure = if part == StepPart::Args && self.can_be_skipped(index) {
                    "!"
                } else {
                    ""
                };
                (format!("{name}{sure}"), self.is_open[index])
            }
        };
        let path = access_path(&reference.path);
        if is_open && in_return {
            let root = root.trim_end_matches('!');
            let path = match path.is_empty() {
                true => String::new(),
                false if path.starts_with('.') => format!("?{path}"),
                false => format!("?.{path}"),
            };
            format!("({root}{path} ?? null)")
        } else {
            format!("{root}{path}")
        }
    }
}

fn has_text_template(template: &Template) -> bool {
    match template {
        Template::Text(_) => true,
        Template::Array(items) => items.iter().any(has_text_template),
        Template::Object(members) => members.iter().any(|(_, member)| has_text_template(member)),
        Template::Fixed(_) | Template::Whole(_) => false,
    }
}

/// A valid identifier derived from `wanted` that is not in `taken`.
fn unique_identifier(wanted: &str, taken: &mut HashSet<String>) -> String {
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

fn access_path(path: &[PathKey]) -> String {
    let step = |key: &PathKey| match key {
        PathKey::Index(index) if index.len() < 10 && (index == "0" || !index.starts_with('0')) => {
            format!("[{index}]")
        }
        key => member_access(key.name()),
    };
    path.iter().map(step).collect()
}

/// The member access for a tool. Dots in its name are levels of nested objects.
fn tool_member_access(tool: &str) -> String {
    if spell(tool) == tool {
        format!(".{tool}")
    } else {
        member_access(tool)
    }
}

fn member_access(name: &str) -> String {
    if is_identifier(name) {
        format!(".{name}")
    } else {
        format!("[{}]", Value::from(name))
    }
}

/// The key of a member in an object literal. `__proto__` is an ordinary member only in brackets.
fn property_key(name: &str) -> String {
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

/// A JSON value as a TypeScript literal.
fn value_literal(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(value_literal).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".into(),
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}: {}", property_key(name), value_literal(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        plain => plain.to_string(),
    }
}
