//! Golden tests of type generation: `tests/data/types/<case>.json` lists servers in the format of MCP, and
//! `<case>.d.ts` has the expected declarations. A tool may have `results` from which its type is learned.
//!
//! Invariant: a new case is two files and no Rust. `UPDATE_GOLDEN=1` writes the second.

use std::path::{Path, PathBuf};
use std::{fmt::Write as _, fs};

use mux_typegen::{
    GLOBALS, ObservedResult, ResultShape, ServerDecl, ToolDecl, declarations, signature,
    tool_declaration,
};
use serde_json::Value;

#[test]
fn declarations_match_the_golden_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/types");
    let mut cases: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("tests/data/types is there")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no cases in {}", folder.display());
    let failed: Vec<String> = cases.iter().filter_map(|case| check(case).err()).collect();
    assert!(
        failed.is_empty(),
        "{}\nUPDATE_GOLDEN=1 records what is there now",
        failed.join("\n")
    );
}

/// Compares the declarations for the servers in `case` with the golden file.
#[expect(
    clippy::disallowed_methods,
    reason = "a switch for the developer who records, not a setting"
)]
fn check(case: &Path) -> Result<(), String> {
    let expected_path = case.with_extension("d.ts");
    let input = fs::read_to_string(case).map_err(|e| format!("{}: {e}", case.display()))?;
    let input: Value =
        serde_json::from_str(&input).map_err(|e| format!("{}: {e}", case.display()))?;
    let actual = report(&input);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return fs::write(&expected_path, actual).map_err(|e| e.to_string());
    }
    let expected = fs::read_to_string(&expected_path)
        .map_err(|e| format!("{}: {e}", expected_path.display()))?;
    let differs = |(at, (a, b)): (usize, (&str, &str))| {
        (a != b).then(|| format!("{}:{}:\n- {b}\n+ {a}", expected_path.display(), at + 1))
    };
    if actual == expected {
        return Ok(());
    }
    let first = actual
        .lines()
        .zip(expected.lines())
        .enumerate()
        .find_map(differs);
    Err(first.unwrap_or_else(|| format!("{}: lengths differ", expected_path.display())))
}

/// The declarations without the globals, then every signature, then each tool's own declaration if the case has
/// `"alone": true`.
fn report(input: &Value) -> String {
    let shapes = shapes(input);
    let servers = servers(input, &shapes);
    let whole = declarations(&servers);
    let mut report = whole
        .strip_suffix(GLOBALS)
        .expect("the globals come last")
        .to_owned();
    report.push_str("\n// Signatures:\n");
    for server in &servers {
        for tool in &server.tools {
            let line = signature(server.name, tool);
            assert!(!line.contains('\n'), "a signature is one line: {line}");
            _ = writeln!(report, "// {line}");
        }
    }
    if input["alone"] == true {
        for server in &servers {
            for tool in &server.tools {
                report.push_str("\n// Alone:\n");
                for line in tool_declaration(server.name, tool).lines() {
                    report.push_str(format!("// {line}").trim_end());
                    report.push('\n');
                }
            }
        }
    }
    report
}

/// The shapes of the `results` of every tool.
fn shapes(input: &Value) -> Vec<Vec<ResultShape>> {
    let tools = |server: &Value| list(&server["tools"]).iter().map(shape).collect();
    list(&input["servers"]).iter().map(tools).collect()
}

fn shape(tool: &Value) -> ResultShape {
    let mut shape = ResultShape::new();
    for result in list(&tool["results"]) {
        shape.add(result);
    }
    shape
}

fn servers<'a>(input: &'a Value, shapes: &'a [Vec<ResultShape>]) -> Vec<ServerDecl<'a>> {
    let server = |(server, shapes): (&'a Value, &'a Vec<ResultShape>)| {
        let tools = list(&server["tools"]).iter().zip(shapes);
        ServerDecl {
            name: server["name"].as_str().expect("a server has a name"),
            tools: tools.map(|(decl, shape)| tool(decl, shape)).collect(),
            note: server["note"].as_str(),
        }
    };
    list(&input["servers"])
        .iter()
        .zip(shapes)
        .map(server)
        .collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A tool of a case. `"counted": true` shows the number of results.
fn tool<'a>(tool: &'a Value, shape: &'a ResultShape) -> ToolDecl<'a> {
    let calls = (tool["counted"] == true).then(|| shape.calls());
    ToolDecl {
        name: tool["name"].as_str().expect("a tool has a name"),
        title: tool["title"].as_str(),
        description: tool["description"].as_str(),
        input_schema: (&tool["inputSchema"]).into(),
        output_schema: tool.get("outputSchema").map(Into::into),
        observed: tool.get("results").map(|_| ObservedResult { shape, calls }),
    }
}
