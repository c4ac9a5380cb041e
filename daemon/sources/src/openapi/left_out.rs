//! Operations that did not become functions, for the user.
//!
//! Invariant: a named line is always the operation's. If the line would be a guess, none is named.

use std::collections::{BTreeMap, HashMap};

/// The number of operations that are listed individually.
const MAX_LISTED: usize = 20;
/// The number of listed operations with the same reason.
const MAX_LISTED_OF_REASON: usize = 3;

/// An operation that did not become a function.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SkippedOperation {
    /// Verb and path, such as `GET /pets`. Only the path, if none of its operations can be read.
    pub operation: String,
    pub why: String,
    /// The line in the description, counted from 1, if the operation is listed and the line is certain.
    pub line: Option<usize>,
}

/// Finds the lines of the operations that [`notes`] lists.
pub(super) fn find_lines(left_out: &mut [SkippedOperation], text: &str) {
    let listed = listed(left_out);
    let operations = listed
        .iter()
        .map(|index| left_out[*index].operation.as_str());
    let lines = lines_of(&operations.collect::<Vec<_>>(), text);
    for (index, line) in listed.into_iter().zip(lines) {
        left_out[index].line = line;
    }
}

/// A note for each of a few operations, and the number of the rest.
pub(super) fn notes(left_out: &[SkippedOperation]) -> Vec<String> {
    let listed = listed(left_out);
    let mut more = BTreeMap::<&str, usize>::new();
    for it in left_out {
        *more.entry(&it.why).or_default() += 1;
    }
    let mut notes = Vec::new();
    for SkippedOperation {
        operation,
        why,
        line,
    } in listed.into_iter().map(|index| &left_out[index])
    {
        let line = line.map(|line| format!(" (line {line})"));
        let line = line.unwrap_or_default();
        notes.push(format!("{operation}{line} is left out: {why}"));
        more.entry(why).and_modify(|count| *count -= 1);
    }
    more.retain(|_, count| *count > 0);
    if more.len() > MAX_LISTED {
        let count: usize = more.values().sum();
        notes.push(format!("{count} more operations are left out"));
        return notes;
    }
    notes.extend(more.into_iter().map(|(why, count)| match count {
        1 => format!("1 more operation is left out: {why}"),
        count => format!("{count} more operations are left out: {why}"),
    }));
    notes
}

/// The positions of the operations that are listed individually.
fn listed(left_out: &[SkippedOperation]) -> Vec<usize> {
    let mut of_reason = HashMap::<&str, usize>::new();
    let mut listed = Vec::new();
    for (index, it) in left_out.iter().enumerate() {
        let count = of_reason.entry(&it.why).or_default();
        if *count < MAX_LISTED_OF_REASON && listed.len() < MAX_LISTED {
            *count += 1;
            listed.push(index);
        }
    }
    listed
}

/// The lines of operations in block YAML and in JSON that is indented by depth. Keys are recognized by their
/// indentation: nothing within a value is indented like the keys around it.
fn lines_of(operations: &[&str], text: &str) -> Vec<Option<usize>> {
    let wanted: Vec<(Option<&str>, &str)> = operations.iter().map(|it| parts(it)).collect();
    let mut found: Vec<Vec<usize>> = vec![Vec::new(); operations.len()];
    // The indentation of the keys of the root, of `paths` and of the current path.
    let mut root = None;
    let mut paths = None;
    let mut item = None;
    let mut in_paths = false;
    let mut path = String::new();
    for (index, line) in text.lines().enumerate() {
        let Some((indent, key)) = key_of(line) else {
            continue;
        };
        let root = *root.get_or_insert(indent);
        if indent <= root {
            in_paths = indent == root && key == "paths";
            continue;
        }
        if !in_paths {
            continue;
        }
        let paths = *paths.get_or_insert(indent);
        let is_verb = indent > paths && *item.get_or_insert(indent) == indent;
        if !is_verb && indent != paths {
            continue;
        }
        for (place, (verb, wanted_path)) in wanted.iter().enumerate() {
            let is_it = match verb {
                Some(verb) => is_verb && *wanted_path == path && verb.eq_ignore_ascii_case(&key),
                None => !is_verb && *wanted_path == key,
            };
            if is_it {
                found[place].push(index + 1);
            }
        }
        if !is_verb {
            (path, item) = (key, None);
        }
    }
    let certain = |lines: Vec<usize>| match lines[..] {
        [line] => Some(line),
        _ => None,
    };
    found.into_iter().map(certain).collect()
}

/// The verb of an operation, if any, and the path.
fn parts(operation: &str) -> (Option<&str>, &str) {
    match operation.split_once(' ') {
        Some((verb, path)) if verb.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            (Some(verb), path)
        }
        _ => (None, operation),
    }
}

/// The indentation and the key of a line that begins with a key.
fn key_of(line: &str) -> Option<(usize, String)> {
    let rest = line.trim_start_matches([' ', '\t']);
    let indent = line.len() - rest.len();
    let (key, behind) = match rest.chars().next()? {
        '"' => {
            let mut keys = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let key = keys.next()?.ok()?;
            (key, &rest[keys.byte_offset()..])
        }
        '\'' => {
            let end = rest[1..].find('\'')? + 1;
            (rest[1..end].to_owned(), &rest[end + 1..])
        }
        '-' | '#' | '?' | '{' | '[' | '&' | '*' | '!' | '|' | '>' | '%' => return None,
        _ => {
            let end = rest
                .find(": ")
                .or_else(|| rest.trim_end().strip_suffix(':').map(str::len))?;
            (rest[..end].trim_end().to_owned(), &rest[end..])
        }
    };
    behind
        .trim_start()
        .starts_with(':')
        .then_some((indent, key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const YAML: &str = "openapi: 3.0.0
info:
  description: |
    paths:
      /a:
        get: no
# a comment: /a
paths:
  /a:
    summary: >-
      get: this is text
    parameters:
    - name: get
      in: query
    get:
      description: |
        /b:
          get: text
    post: {}
  '/b c':
    get: { responses: {} }
  /twice:
    get: {}
  \"/twice\":
    get: {}
  /flow: { get: {} }
components:
  /a:
    get: {}
";

    #[test]
    fn lines_are_those_of_operations_or_unknown() {
        for (operation, line) in [
            ("GET /a", Some(15)),
            ("POST /a", Some(19)),
            ("PUT /a", None),
            ("GET /b c", Some(21)),
            ("GET /b", None),
            ("/a", Some(9)),
            ("GET /twice", None),
            ("GET /flow", None),
            ("/flow", Some(26)),
        ] {
            assert_eq!(lines_of(&[operation], YAML), [line], "{operation}");
        }
        let value = json!({
            "openapi": "3.0.0",
            "x": { "paths": { "/a": { "get": {} } } },
            "paths": { "/a": { "put": {}, "get": { "get": 1 } }, "/\"b": { "get": [] } },
        });
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        let lines = lines_of(&["GET /a", "GET /\"b"], &pretty);
        let line_of = |text: &str| pretty.lines().position(|line| line == text).unwrap() + 1;
        assert_eq!(lines[0], Some(line_of("      \"get\": {")));
        assert_eq!(lines[1], Some(line_of("      \"get\": []")));
        assert_eq!(lines_of(&["GET /a"], &value.to_string()), [None]);
        let flat: Vec<_> = pretty.lines().map(str::trim).collect();
        assert_eq!(lines_of(&["GET /a"], &flat.join("\n")), [None]);
    }

    #[test]
    fn operations_with_one_reason_are_folded() {
        let skipped = |number: usize, why: &str| SkippedOperation {
            operation: format!("GET /{number}"),
            why: why.to_owned(),
            line: (number == 0).then_some(7),
        };
        let mut left_out: Vec<_> = (0..40).map(|number| skipped(number, "the limit")).collect();
        left_out.push(skipped(40, "it is not an object"));
        assert_eq!(
            notes(&left_out),
            [
                "GET /0 (line 7) is left out: the limit",
                "GET /1 is left out: the limit",
                "GET /2 is left out: the limit",
                "GET /40 is left out: it is not an object",
                "37 more operations are left out: the limit",
            ]
        );
        let many: Vec<_> = (0..50)
            .map(|number| skipped(number, &number.to_string()))
            .collect();
        let notes = notes(&many);
        assert_eq!(notes.len(), 21);
        assert_eq!(notes[20], "30 more operations are left out");
    }
}
