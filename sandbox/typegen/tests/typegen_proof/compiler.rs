//! Writes many cases into one program and compiles it once with the native TypeScript compiler.
//!
//! Invariant: the values are not literals of the program, so the compiler checks whether a value has the type, without
//! the check for excess properties.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::Command;
use std::{fmt::Write as _, fs};

use mux_typegen::{
    ObservedResult, ResultShape, ServerDecl, ToolDecl, declarations, tool_declaration,
};
use serde_json::{Value, json};

/// The environment variable with the path of the compiler. `scripts/setup` writes it to `build/env`.
const COMPILER: &str = "MUX_TEST_TSC";

/// A schema, and values that it accepts.
#[derive(Default)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) schema: Value,
    pub(crate) values: Vec<Value>,
    /// Values that the type must refuse.
    pub(crate) refused: Vec<Value>,
    /// If not empty, the type is learned from these, and the schema describes the arguments only.
    pub(crate) results: Vec<Value>,
}

/// The errors of the compiler, formatted for the reader of a failed test.
pub(crate) fn check(cases: &[Case]) -> Vec<String> {
    let shapes: Vec<ResultShape> = cases.iter().map(Case::shape).collect();
    let names: Vec<String> = (0..cases.len()).map(|at| format!("t{at}")).collect();
    let all = cases.iter().zip(&shapes).zip(&names);
    let server = ServerDecl {
        name: "s",
        tools: all
            .map(|((case, shape), name)| case.tool(name, shape))
            .collect(),
        note: None,
    };
    let declared = declarations(std::slice::from_ref(&server));
    assert_eq!(declared, declarations(std::slice::from_ref(&server)));
    let mut program = String::new();
    // The case and the value of every line.
    let mut lines: Vec<(usize, &Value)> = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        for value in &case.values {
            let ty = type_of(value);
            _ = writeln!(
                program,
                "var r{at} = (v: {ty}): Awaited<ReturnType<Mux.S[\"t{at}\"]>> => v;"
            );
            lines.push((at, value));
            if case.results.is_empty() && value.is_object() {
                _ = writeln!(
                    program,
                    "var a{at} = (v: {ty}): Parameters<Mux.S[\"t{at}\"]>[0] => v;"
                );
                lines.push((at, value));
            }
        }
    }
    // Lines on which an error is expected.
    let mut wrong: HashSet<usize> = HashSet::new();
    for (at, case) in cases.iter().enumerate() {
        for value in &case.refused {
            let ty = type_of(value);
            _ = writeln!(
                program,
                "var r{at} = (v: {ty}): Awaited<ReturnType<Mux.S[\"t{at}\"]>> => v;"
            );
            wrong.insert(lines.len());
            lines.push((at, value));
        }
    }
    // Makes names unique that are used twice with different types.
    let program = numbered(&program);
    let files = [("mux.d.ts", declared), ("values.ts", program)];
    let files = files.map(|(name, text)| (name.to_owned(), text));
    let mut failures: HashMap<String, Vec<String>> = HashMap::new();
    let mut order = Vec::new();
    for complaint in compiled(&files) {
        let line = complaint
            .strip_prefix("values.ts(")
            .and_then(|rest| rest.split(',').next()?.parse::<usize>().ok());
        if line.is_some_and(|line| wrong.remove(&(line - 1))) {
            continue;
        }
        let (name, words) = match line.and_then(|line| lines.get(line - 1)) {
            Some((at, value)) => {
                let declared = tool_declaration("s", &server.tools[*at]);
                let case = &cases[*at];
                let about = format!("{}\n  schema {}\n{declared}", case.name, case.schema);
                (about, format!("  value {value}\n  {complaint}"))
            }
            None => ("the declarations".to_owned(), complaint),
        };
        if !failures.contains_key(&name) {
            order.push(name.clone());
        }
        failures.entry(name).or_default().push(words);
    }
    for line in wrong {
        let (at, value) = lines[line];
        let case = &cases[at];
        let declared = tool_declaration("s", &server.tools[at]);
        let name = format!("{}\n  schema {}\n{declared}", case.name, case.schema);
        order.push(name.clone());
        let words = format!("  value {value} is allowed by the type");
        failures.entry(name).or_default().push(words);
    }
    order
        .into_iter()
        .map(|name| format!("{name}\n{}", failures[&name].join("\n")))
        .collect()
}

impl Case {
    fn shape(&self) -> ResultShape {
        let mut shape = ResultShape::new();
        for result in &self.results {
            shape.add(result);
        }
        shape
    }

    fn tool<'a>(&'a self, name: &'a str, shape: &'a ResultShape) -> ToolDecl<'a> {
        let is_learned = !self.results.is_empty();
        ToolDecl {
            name,
            title: None,
            description: None,
            input_schema: (&self.schema).into(),
            output_schema: (!is_learned).then_some((&self.schema).into()),
            observed: is_learned.then_some(ObservedResult { shape, calls: None }),
        }
    }
}

/// Gives the variable of each line a unique name.
fn numbered(program: &str) -> String {
    let line = |(at, line): (usize, &str)| line.replacen(' ', &format!(" l{at}_"), 1) + "\n";
    program.lines().enumerate().map(line).collect()
}

/// The type whose only value is `value`.
fn type_of(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(type_of).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}; ", ascii(&json!(name).to_string()), type_of(value))
            };
            format!("{{ {}}}", members.iter().map(member).collect::<String>())
        }
        // TypeScript has more line terminators than JSON.
        scalar => ascii(&scalar.to_string()),
    }
}

fn ascii(json: &str) -> String {
    let mut text = String::new();
    for c in json.chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            _ = write!(text, "\\u{{{:x}}}", u32::from(c));
        }
    }
    text
}

/// The errors of the compiler for these files, each with its explanation.
pub(crate) fn compiled(files: &[(String, String)]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    for (name, text) in files {
        write(name, text);
    }
    let names: Vec<&String> = files.iter().map(|(name, _)| name).collect();
    let options = json!({
        "compilerOptions": {
            "strict": true, "noEmit": true, "noErrorTruncation": true, "noResolve": true,
            "types": [], "lib": ["es2024"], "target": "esnext", "module": "esnext",
        },
        "files": names,
    });
    write("tsconfig.json", &options.to_string());
    let output = Command::new(compiler())
        .args(["-p", ".", "--pretty", "false"])
        .current_dir(folder.path())
        .output()
        .expect("the compiler runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut complaints: Vec<String> = Vec::new();
    for line in text.lines() {
        match complaints.last_mut() {
            Some(last) if line.starts_with(' ') => {
                last.push('\n');
                last.push_str(line);
            }
            _ => complaints.push(line.to_owned()),
        }
    }
    let is_done = output.status.success() || !complaints.is_empty();
    assert!(is_done, "the compiler failed: {output:?}");
    complaints
}

fn compiler() -> PathBuf {
    variable(COMPILER).unwrap_or_else(|| {
        panic!("{COMPILER} does not say where TypeScript is: run scripts/test, or `scripts/setup --servers && . build/env`")
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by their script where things stand"
)]
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}
