//! The schemas of the tools in `tests/data`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// Every schema with the file and the tool that it is from.
pub(crate) fn schemas() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    let mut files = Vec::new();
    find(&folder, &mut files);
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a readable file");
        let name = file.strip_prefix(&folder).unwrap_or(&file).display();
        if file
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            let tools = text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok());
            for tool in tools {
                let tool: Value = tool;
                found.extend(of_parameters(&format!("{name}"), &tool));
            }
        } else if let Ok(value) = serde_json::from_str::<Value>(&text) {
            collect(&value, &format!("{name}"), &mut found);
        }
    }
    found
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the test data") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            find(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json" || extension == "jsonl")
        {
            files.push(path);
        }
    }
}

fn collect(value: &Value, name: &str, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect(value, name, found)),
        Value::Object(members) => {
            for keyword in ["inputSchema", "outputSchema"] {
                if let Some(schema @ Value::Object(_)) = members.get(keyword) {
                    let tool = &value["name"];
                    found.push((format!("{name} {tool} {keyword}"), schema.clone()));
                }
            }
            members
                .values()
                .for_each(|value| collect(value, name, found));
        }
        _ => {}
    }
}

/// A tool of which only the parameter names are known.
fn of_parameters(name: &str, tool: &Value) -> Option<(String, Value)> {
    let server = tool.get("server")?;
    let properties: Map<String, Value> = tool["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|parameter| (parameter.to_owned(), json!({ "type": "string" })))
        .collect();
    let schema = json!({ "type": "object", "properties": properties });
    Some((format!("{name} {}.{}", server, tool["name"]), schema))
}
