//! The output of `mux resources` and `mux prompts`.

use std::process::ExitCode;

use comfy_table::Cell;
use mux_proto::{Held, OfferList};
use serde_json::{Value, json};

use super::{
    SavedParts, call_result, output_exit_code, print_data,
    style::{STRONG, escape_text, one_line, paint},
    table::ListTable,
    terminal::{eprintln, println},
    warn,
};

const MAX_TEXT_CHARS: usize = 200;

pub(crate) fn resources(list: &OfferList, server: Option<&str>) {
    let mut table = ListTable::new(["SERVER", "URI", "TYPE", "DESCRIPTION"]).leaving_out(["TYPE"]);
    for offered in &list.offers {
        let offer = &offered.offer;
        // A template has placeholders: {NAME}.
        let uri = offer["uri"].as_str().or(offer["uriTemplate"].as_str());
        table.add_row([
            Cell::new(&offered.server),
            Cell::new(one_line(uri.unwrap_or_default(), MAX_TEXT_CHARS)),
            Cell::new(text(offer, "mimeType")),
            Cell::new(description(offer)),
        ]);
    }
    print_list(list, table, server, "resources");
}

pub(crate) fn prompts(list: &OfferList, server: Option<&str>) {
    let mut table = ListTable::new(["SERVER", "PROMPT", "ARGUMENTS", "DESCRIPTION"]);
    for offered in &list.offers {
        let offer = &offered.offer;
        let arguments = offer["arguments"].as_array().into_iter().flatten();
        let arguments = arguments.map(|argument| {
            if argument["required"] == json!(true) {
                text(argument, "name")
            } else {
                format!("[{}]", text(argument, "name"))
            }
        });
        table.add_row([
            Cell::new(&offered.server),
            Cell::new(text(offer, "name")),
            Cell::new(arguments.collect::<Vec<_>>().join(" ")),
            Cell::new(description(offer)),
        ]);
    }
    print_list(list, table, server, "prompts");
}

fn print_list(list: &OfferList, table: ListTable, server: Option<&str>, what: &str) {
    match (list.offers.is_empty(), server) {
        (true, Some(server)) if list.missing.is_empty() => eprintln!("{server} has no {what}"),
        (true, Some(_)) => {}
        (true, None) => eprintln!("no server has {what}"),
        (false, _) => println!("{}", table.text()),
    }
    for missing in &list.missing {
        warn(format!("{}: {}", missing.server, missing.error.message));
    }
}

/// Prints the contents of a resource: texts as they are.
pub(crate) fn resource(parts: &[Held], saved: Option<&SavedParts>) -> ExitCode {
    let texts = parts.iter().map(|part| match part {
        Held::Value(block) => block.to_value()["resource"]["text"]
            .as_str()
            .map(str::to_owned),
        Held::Stored(_) => None,
    });
    let texts: Option<Vec<String>> = texts.collect();
    let value = texts.map_or(Value::Null, |texts| texts.join("\n").into());
    call_result(&value, parts, saved)
}

/// Prints the messages of a prompt.
pub(crate) fn prompt(prompt: &Value) -> ExitCode {
    let messages = prompt["messages"].as_array().into_iter().flatten();
    for message in messages {
        println!("{}", paint(STRONG, format!("{}:", text(message, "role"))));
        let content = &message["content"];
        let written = match content["text"].as_str() {
            Some(text) => print_data(&format!("{text}\n")),
            None => print_data(&format!("{content:#}\n")),
        };
        if written.is_err() {
            return output_exit_code(written);
        }
    }
    ExitCode::SUCCESS
}

fn description(offer: &Value) -> String {
    let described = ["description", "title", "name"]
        .iter()
        .find_map(|key| offer[*key].as_str());
    one_line(described.unwrap_or_default(), MAX_TEXT_CHARS)
}

fn text(value: &Value, key: &str) -> String {
    let text = value[key].as_str().unwrap_or_default();
    escape_text(&one_line(text, MAX_TEXT_CHARS)).into_owned()
}
