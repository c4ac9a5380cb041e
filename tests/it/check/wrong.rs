//! Programs with one error each, which a checker that knows the tools' types can find. The programs in `wrong`
//! certainly fail, which is an error. The programs in `doubtful` may run anyway, which is a warning.
//!
//! The first line of each is the position: `// mistake: line 6, column 10: what it is`. The second lists what a good
//! message contains: `// says: some words, others`.

use std::{fs, path::Path};

use serde_json::Value;

use super::{errors, files_of, findings, home, name, none, programs};

/// The error in a program, and the words that its message must contain.
struct Mistake {
    line: u64,
    words: Vec<String>,
}

#[test]
fn check_wrong_programs_have_an_error_at_their_mistake() {
    let env = home();
    let programs = programs("wrong");
    let failures: Vec<String> = programs
        .iter()
        .filter_map(|program| {
            let mistake = mistake(program);
            let output = judge(&mistake, &errors(&env, program)).err()?;
            Some(format!("{}: {output}", name(program)))
        })
        .collect();
    none(&failures, programs.len());
}

#[test]
fn check_doubtful_programs_have_a_warning_at_their_mistake() {
    let env = home();
    let programs = files_of("doubtful");
    let failures: Vec<String> = programs
        .iter()
        .filter_map(|program| {
            let mistake = mistake(program);
            let (errors, warnings) = findings(&env, program);
            let warning = judge(&mistake, &warnings).err();
            let error = errors
                .first()
                .map(|error| format!("it is rejected: {error}"));
            Some(format!("{}: {}", name(program), error.or(warning)?))
        })
        .collect();
    none(&failures, programs.len());
}

/// Checks that a diagnostic names the error, and that no diagnostic is on another line.
fn judge(mistake: &Mistake, errors: &[Value]) -> Result<(), String> {
    let found = errors.iter().any(|error| {
        let text = ["message", "hint"]
            .map(|part| error[part].as_str().unwrap_or_default())
            .join(" ");
        error["line"] == mistake.line
            && (error["kind"] == "type" || error["kind"] == "syntax")
            && mistake.words.iter().all(|word| text.contains(word))
    });
    let line = mistake.line;
    let words = &mistake.words;
    if !found {
        return Err(format!("nothing on line {line} says {words:?}: {errors:?}"));
    }
    let other = errors.iter().find(|error| error["line"] != line);
    other.map_or(Ok(()), |error| Err(format!("not on line {line}: {error}")))
}

fn mistake(program: &Path) -> Mistake {
    let text = fs::read_to_string(program).unwrap();
    let mut lines = text.lines();
    let mut after = |start: &str| {
        let line = lines.next().unwrap_or_default().strip_prefix(start);
        line.unwrap_or_else(|| panic!("{}: no {start:?}", program.display()))
    };
    let place = after("// mistake: line ");
    let (line, _) = place.split_once([',', ':']).unwrap();
    let words = after("// says: ").split(", ").map(str::to_owned).collect();
    let line = line.parse().unwrap();
    assert!((3..=text.lines().count() as u64).contains(&line));
    Mistake { line, words }
}

#[test]
fn check_verdict_requires_line_and_words() {
    let mistake = Mistake {
        line: 3,
        words: vec!["nme".into(), "name".into()],
    };
    let error = |line: u64, kind: &str, message: &str| serde_json::json!({ "kind": kind, "line": line, "message": message });
    let good = error(3, "type", "no nme, but name");
    assert!(judge(&mistake, std::slice::from_ref(&good)).is_ok());
    for errors in [
        vec![],
        vec![error(4, "type", "no nme, but name")],
        vec![error(3, "runtime", "no nme, but name")],
        vec![error(3, "type", "no nme")],
        vec![good, error(4, "type", "something else")],
    ] {
        assert!(judge(&mistake, &errors).is_err(), "{errors:?}");
    }
}
