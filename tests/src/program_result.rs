//! Takes apart the text that a model gets as the result of `run`, `resume` or `run_program`.

use serde_json::Value;

/// The sections that may follow the value.
const SECTIONS: [&str; 4] = [
    "\nsteps:\n",
    "\nconsole:\n",
    "\nfailed calls:\n",
    "\nwarnings:\n",
];

/// The value: JSON is parsed, everything else is a string.
#[track_caller]
pub fn value(result: &Value) -> Value {
    let text = first_text(result);
    let text = match text.strip_prefix("<untrusted data of ") {
        Some(rest) => {
            let (line, rest) = rest.split_once(">\n").unwrap();
            let number = line.rsplit(' ').next().unwrap();
            let end = format!("\n</untrusted {number}>");
            rest.split_once(&end).unwrap_or_else(|| panic!("{text}")).0
        }
        None => text,
    };
    let ends = SECTIONS.iter().filter_map(|section| text.find(section));
    let text = &text[..ends.min().unwrap_or(text.len())];
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// The id of a run that has not ended.
#[track_caller]
pub fn running(result: &Value) -> String {
    let text = first_text(result);
    let id = text
        .strip_prefix("Run ")
        .and_then(|rest| rest.split_once(" is still running"));
    id.unwrap_or_else(|| panic!("{result}")).0.to_owned()
}

/// The handle of a result that was stored.
#[track_caller]
pub fn handle(result: &Value) -> String {
    let text = first_text(result);
    let rest = text
        .split_once("stored as ")
        .unwrap_or_else(|| panic!("{result}"))
        .1;
    rest.chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect()
}

#[track_caller]
fn first_text(result: &Value) -> &str {
    assert!(result.get("structuredContent").is_none(), "{result}");
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{result}"))
}
