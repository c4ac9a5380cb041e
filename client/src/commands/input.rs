//! Reads the input that a user passes to a program or a tool: JSON, a file, standard input, or pairs.
//!
//! Invariant: JSON is also accepted in JavaScript's notation: names without quotes, single quotes, comments and
//! trailing commas.

use std::{
    fs::File,
    io::{self, Read},
};

use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::UsageMistake;

/// Maximum bytes of a file or of standard input.
const MAX_INPUT_BYTES: u64 = 4 << 20;
/// Maximum characters of a word that an error quotes.
const MAX_QUOTED_CHARS: usize = 60;

const STDIN_WORD: &str = "-";
const FILE_MARK: char = '@';

/// JSON in JavaScript's notation. A missing comma is an error.
fn lenient_json() -> ParseOptions {
    ParseOptions {
        allow_missing_commas: false,
        allow_non_finite_numbers: false,
        ..ParseOptions::default()
    }
}

/// The input that was passed.
#[derive(Debug, PartialEq)]
pub(super) enum GivenInput {
    Nothing,
    Json(Value),
    /// Names with strings, which are not converted yet.
    Pairs(Vec<(String, String)>),
}

/// How errors name the input.
pub(super) struct InputWording {
    /// `--input is` or `the arguments are`.
    pub(super) subject: &'static str,
    /// The accepted forms, with examples.
    pub(super) hint: &'static str,
}

/// Returns true if these words refer to standard input.
pub(super) fn takes_stdin(words: &[String]) -> bool {
    words.iter().any(|word| word == STDIN_WORD)
}

/// Reads words, each of which is one argument of the command line.
pub(super) fn read_input(
    words: &[String],
    wording: &InputWording,
) -> Result<GivenInput, UsageMistake> {
    let mistake = |message: String| UsageMistake::new(message, wording.hint);
    match words {
        [] => Ok(GivenInput::Nothing),
        [only] => read_word(only, wording),
        several => {
            let pair = |word: &String| {
                let why = "several arguments are all pairs";
                let error = || mistake(format!("{} is not key=value; {why}", quote(word)));
                parse_pair(word).ok_or_else(error)
            };
            several.iter().map(pair).collect::<Result<_, _>>()
        }
        .map(GivenInput::Pairs),
    }
}

fn read_word(word: &str, wording: &InputWording) -> Result<GivenInput, UsageMistake> {
    let mistake = |message: String| UsageMistake::new(message, wording.hint);
    if word == STDIN_WORD {
        let text = read_limited_text(io::stdin(), MAX_INPUT_BYTES)
            .map_err(|why| mistake(format!("cannot read standard input: {why}")))?;
        return parse_json(&text, "on standard input", wording).map(GivenInput::Json);
    }
    if let Some(file) = word.strip_prefix(FILE_MARK) {
        let text = File::open(file).and_then(|file| read_limited_text(file, MAX_INPUT_BYTES));
        let text = text.map_err(|why| mistake(format!("cannot read {}: {why}", quote(file))))?;
        let origin = format!("in {}", quote(file));
        return parse_json(&text, &origin, wording).map(GivenInput::Json);
    }
    if let Some(pair) = parse_pair(word) {
        return Ok(GivenInput::Pairs(vec![pair]));
    }
    let quoted = quote(word);
    let parsed = parse_json(word, &format!("in {quoted}"), wording).map(GivenInput::Json);
    parsed.map_err(|why| {
        if begins_as_json(word) {
            why
        } else {
            mistake(format!("{quoted} is not key=value, JSON, @FILE or -"))
        }
    })
}

/// `key=value`. A string that begins like a JSON object, array or string is not a pair.
fn parse_pair(word: &str) -> Option<(String, String)> {
    let (key, value) = word.split_once('=')?;
    let is_pair = !key.is_empty() && !begins_as_json(word) && !word.starts_with(FILE_MARK);
    is_pair.then(|| (key.to_owned(), value.to_owned()))
}

fn begins_as_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"', '\''])
}

/// Parses JSON, or the same in JavaScript's notation. `origin` says where the input is, for errors.
fn parse_json(text: &str, origin: &str, wording: &InputWording) -> Result<Value, UsageMistake> {
    let strict = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let why = match parse_to_ast(text, &CollectOptions::default(), &lenient_json()) {
        Ok(parsed) => match parsed.value {
            Some(value) => return Ok(value.into()),
            None => strict.to_string(),
        },
        Err(error) => error.to_string(),
    };
    let message = format!("{} not JSON: {why} {origin}", wording.subject);
    Err(UsageMistake::new(message, wording.hint))
}

/// An object of pairs without declared types: valid JSON becomes its value, everything else a string.
pub(super) fn guess_types(
    pairs: Vec<(String, String)>,
    wording: &InputWording,
) -> Result<Value, UsageMistake> {
    let mut object = Map::new();
    for (key, text) in pairs {
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        if object.contains_key(&key) {
            let message = format!("{} is given twice; a list is {key}='[1, 2]'", quote(&key));
            return Err(UsageMistake::new(message, wording.hint));
        }
        object.insert(key, value);
    }
    Ok(Value::Object(object))
}

/// All bytes of a source. The error is [`io::ErrorKind::FileTooLarge`] if there are more than `most`.
pub(super) fn read_limited(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let limit = format!("it exceeds the limit of {} MiB", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, limit));
    }
    Ok(bytes)
}

/// Like [`read_limited`], for text.
pub(super) fn read_limited_text(source: impl Read, most: u64) -> io::Result<String> {
    let text = String::from_utf8(read_limited(source, most)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// The beginning of a string in quotes.
pub(super) fn quote(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_QUOTED_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('\u{2026}');
    }
    format!("{shown:?}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const WORDING: InputWording = InputWording {
        subject: "the input is",
        hint: "the forms",
    };

    fn read(words: &[&str]) -> Result<GivenInput, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        read_input(&words, &WORDING).map_err(|mistake| {
            assert_eq!(mistake.hint, "the forms");
            mistake.message
        })
    }

    #[test]
    fn one_word_is_json_or_a_pair() {
        for (word, value) in [
            ("{\"a\": 1}", json!({ "a": 1 })),
            ("  [1, 2]\n", json!([1, 2])),
            ("5", json!(5)),
            ("-1.5", json!(-1.5)),
            ("null", json!(null)),
            ("\"a=b\"", json!("a=b")),
            (
                "{a: 'x=y', b: [1,], /* c */}",
                json!({ "a": "x=y", "b": [1] }),
            ),
            (
                "{a: 0x10, b: +1, c: .5}",
                json!({ "a": 16, "b": 1, "c": 0.5 }),
            ),
        ] {
            assert_eq!(read(&[word]), Ok(GivenInput::Json(value)), "{word}");
        }
        let pairs = |pairs: &[(&str, &str)]| {
            let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            Ok(GivenInput::Pairs(pairs.iter().map(owned).collect()))
        };
        assert_eq!(read(&["a=b=c"]), pairs(&[("a", "b=c")]));
        assert_eq!(read(&["a="]), pairs(&[("a", "")]));
        assert_eq!(read(&["a=1", "b={}"]), pairs(&[("a", "1"), ("b", "{}")]));
        assert_eq!(read(&[]), Ok(GivenInput::Nothing));
    }

    #[test]
    fn mistake_says_what_was_read() {
        let long = "x".repeat(100);
        let missing = std::fs::read("/no/such/file").unwrap_err();
        for (words, expected) in [
            (
                &["undefined"][..],
                "\"undefined\" is not key=value, JSON, @FILE or -",
            ),
            (&[""], "\"\" is not key=value"),
            (&["=1"], "\"=1\" is not key=value"),
            (
                &["{a: 1 b: 2}"],
                "the input is not JSON: Expected comma on line 1 column 6 in \"{a: 1 b: 2}\"",
            ),
            (&["[1"], "the input is not JSON: Unterminated array"),
            (
                &["{} {}"],
                "the input is not JSON: Text cannot contain more than one",
            ),
            (
                &["a=1", "{}"],
                "\"{}\" is not key=value; several arguments are all pairs",
            ),
            (
                &["@/no/such/file"],
                &format!("cannot read \"/no/such/file\": {missing}"),
            ),
            (&[&long], "x\u{2026}\" is not"),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.contains(expected), "{words:?}: {error}");
        }
    }

    #[test]
    fn files_are_read_up_to_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("input.json");
        let word = format!("@{}", file.display());
        std::fs::write(&file, "{ a: 1 } // one").unwrap();
        assert_eq!(read(&[&word]), Ok(GivenInput::Json(json!({ "a": 1 }))));
        std::fs::write(
            &file,
            " ".repeat(usize::try_from(MAX_INPUT_BYTES).unwrap() + 1),
        )
        .unwrap();
        assert!(read(&[&word]).unwrap_err().contains("limit of 4 MiB"));
    }

    #[test]
    fn types_of_pairs_are_guessed() {
        let pairs = |pairs: &[&str]| {
            let pairs = pairs.iter().map(|pair| parse_pair(pair).unwrap());
            guess_types(pairs.collect(), &WORDING)
        };
        assert_eq!(
            pairs(&["n=3", "s=three", "l=[1, \"a\"]", "e=", "t=true", "q=\"3\""]),
            Ok(json!({ "n": 3, "s": "three", "l": [1, "a"], "e": "", "t": true, "q": "3" }))
        );
        assert!(
            pairs(&["n=1", "n=2"])
                .unwrap_err()
                .message
                .contains("given twice")
        );
    }
}
