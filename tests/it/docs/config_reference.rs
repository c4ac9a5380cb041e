//! The files that are generated from the configuration types: the tables of `config.md`, and
//! `config.schema.json`.

use std::{fmt::Write as _, fs};

use mux_config::schema;
use mux_tests::{TestEnv, golden};
use serde_json::{Map, Value};

use super::root;

const TABLE_START: &str = "<!-- keys of ";
const TABLE_END: &str = "<!-- end -->";
/// Tables that are shown as keys of the entry that has them.
const INLINED: [&str; 2] = ["ToolsEntry", "AnnotationsEntry"];

fn config_schema() -> Value {
    serde_json::to_value(schema::json_schema()).unwrap()
}

fn definition<'a>(schema: &'a Value, name: &str) -> &'a Value {
    let found = &schema["$defs"][name];
    assert!(found.is_object(), "no type {name}");
    found
}

/// The name of the type that a key has, if it has one.
fn type_name(key: &Value) -> Option<&str> {
    key["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// `1000` as `1,000`.
fn with_commas(number: &Value) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

fn type_text(key: &Value) -> String {
    if let Some(words) = key["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        return words.join(", ");
    }
    let named = key["x-type"].as_str().map(str::to_owned);
    let name = named.unwrap_or_else(|| {
        let name = match key["type"].as_str() {
            Some("string") => "string",
            Some("boolean") => "bool",
            Some("integer") => "number",
            Some("array") => "list",
            _ => "table",
        };
        name.to_owned()
    });
    let range = match (&key["x-range"], &key["minimum"], &key["maximum"]) {
        (Value::String(range), _, _) => range.clone(),
        (_, least @ Value::Number(_), most @ Value::Number(_)) => {
            format!("{} to {}", with_commas(least), with_commas(most))
        }
        _ => return name,
    };
    format!("{name}, {range}")
}

fn default_text(key: &Value, is_required: bool) -> String {
    match (&key["x-default"], &key["default"]) {
        _ if is_required => "required".into(),
        (Value::String(text), _) => text.clone(),
        (_, Value::Null) => "none".into(),
        (_, default) => format!("`{default}`"),
    }
}

fn rows(schema: &Value, of: &str, wanted: &[&str], prefix: &str, table: &mut String) {
    let of = definition(schema, of);
    let keys = of["properties"].as_object().unwrap();
    let required = of["required"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = match wanted {
        [] => keys.keys().map(String::as_str).collect(),
        wanted => wanted.to_vec(),
    };
    for name in names {
        let key = keys.get(name).unwrap_or_else(|| panic!("no key {name}"));
        if let Some(inlined) = type_name(key).filter(|name| INLINED.contains(name)) {
            rows(schema, inlined, &[], &format!("{name}."), table);
            continue;
        }
        let meaning = key["description"].as_str();
        let meaning = meaning.unwrap_or_else(|| panic!("{name} is not documented"));
        let is_required = required.iter().any(|required| required == name);
        _ = writeln!(
            table,
            "| `{prefix}{name}` | {} | {} | {} |",
            type_text(key),
            default_text(key, is_required),
            meaning.replace('\n', " ")
        );
    }
}

#[test]
fn tables_of_the_configuration_reference_are_current() {
    let schema = config_schema();
    let page = root().join("docs/reference/config.md");
    let written = fs::read_to_string(&page).unwrap();
    let mut text = String::new();
    let mut documented = Map::new();
    let mut lines = written.lines();
    while let Some(line) = lines.next() {
        _ = writeln!(text, "{line}");
        let Some(marker) = line.strip_prefix(TABLE_START) else {
            continue;
        };
        let words = marker.trim_end_matches("-->").split_whitespace();
        let words: Vec<&str> = words.collect();
        let (of, wanted) = words.split_first().unwrap();
        text += "| key | type | default | meaning |\n|---|---|---|---|\n";
        rows(&schema, of, wanted, "", &mut text);
        _ = writeln!(text, "{TABLE_END}");
        let keys = documented
            .entry((*of).to_owned())
            .or_insert_with(|| Value::Array(Vec::new()));
        let keys = keys.as_array_mut().unwrap();
        match wanted {
            [] => keys.push("every key".into()),
            wanted => keys.extend(wanted.iter().map(|key| Value::from(*key))),
        }
        lines
            .by_ref()
            .find(|line| *line == TABLE_END)
            .expect("the end of a table");
    }
    for (of, keys) in documented {
        if keys[0] == "every key" {
            continue;
        }
        for key in definition(&schema, &of)["properties"]
            .as_object()
            .unwrap()
            .keys()
        {
            assert!(
                keys.as_array().unwrap().iter().any(|known| known == key),
                "{of}: {key}"
            );
        }
    }
    golden::compare(&page, &text).unwrap();
}

#[test]
fn the_schema_of_the_configuration_is_current_and_printed() {
    let text = format!("{:#}\n", config_schema());
    golden::compare(&root().join("docs/reference/config.schema.json"), &text).unwrap();
    let printed = TestEnv::new().mux(["config", "schema"]).ok().stdout;
    assert!(
        printed == text,
        "`mux config schema` prints another text than the file has"
    );
}

/// The configurations in the documentation match the schema, and invalid configurations do not.
#[test]
fn configurations_are_validated_by_the_schema() {
    let validator = jsonschema::validator_for(&config_schema()).unwrap();
    let errors = |text: &str| {
        let table: toml::Table = toml::from_str(text).unwrap();
        let value = serde_json::to_value(table).unwrap();
        let errors = validator.iter_errors(&value).map(|error| error.to_string());
        errors.collect::<Vec<_>>()
    };
    let mut count = 0;
    for (page, text) in super::pages() {
        for block in text.split("```toml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            let Ok(_) = toml::from_str::<toml::Table>(block) else {
                continue;
            };
            // The files of others.
            if page.ends_with("CONTRIBUTING.md") {
                continue;
            }
            assert_eq!(
                errors(block),
                Vec::<String>::new(),
                "{}:\n{block}",
                page.display()
            );
            count += 1;
        }
    }
    assert!(count > 20, "{count} examples were found");
    for wrong in [
        "[server.a]\ncommand = \"x\"\n",
        "[servers.a]\ncomand = \"x\"\n",
        "[servers.a]\ncommand = \"x\"\nshare = \"all\"\n",
        "[limits]\ncalls = 0\n",
        "[limits]\nwall = 30\n",
        "[[policy]]\nmatch = \"a\"\n",
        "[agents.a]\nlimit = {}\n",
    ] {
        assert_ne!(errors(wrong), Vec::<String>::new(), "{wrong}");
    }
}
