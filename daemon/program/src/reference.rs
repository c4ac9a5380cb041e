//! Parses references: the name and path between `{{` and `}}`.
//!
//! ```text
//! {{list}}  {{list.result}}           the result of the step `list`
//! {{list.items.0.name}}               a path in the result; `.result` may be left out
//! {{list.result.items[0]["odd key"]}} an index, and a name that must be quoted
//! {{list.args.path}}  {{list.tool}}   the arguments of the step, and its tool
//! {{input.dir}}                       the input of the program
//! ```
//!
//! Invariant: parsing is total and takes linear time.

/// The name that refers to the program's input.
pub(super) const INPUT_NAME: &str = "input";

/// A resolved reference to a value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueReference {
    pub root: ReferenceRoot,
    pub path: Vec<PathKey>,
    /// The reference as written between the braces.
    pub text: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReferenceRoot {
    Input,
    Step { index: usize, part: StepPart },
}

/// The parts of a successful step that a reference can use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StepPart {
    Result,
    /// The arguments as sent.
    Args,
}

/// One segment of a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PathKey {
    Name(String),
    /// Digits as written: an array index, or the name of a member.
    Index(String),
}

impl PathKey {
    /// The segment as a member name.
    pub fn name(&self) -> &str {
        match self {
            Self::Name(name) | Self::Index(name) => name,
        }
    }
}

/// A reference whose name is not yet resolved.
#[derive(Debug, PartialEq)]
pub(super) struct ParsedReference {
    pub(super) name: String,
    pub(super) path: Vec<PathKey>,
    /// Bytes up to and including the closing braces.
    pub(super) length: usize,
}

/// Parses the source after `{{`. The error is a message.
pub(super) fn parse_reference(text: &str) -> Result<ParsedReference, String> {
    let mut rest = ReferenceScanner { text, at: 0 };
    rest.skip_whitespace();
    let name = rest.read_word();
    if name.is_empty() {
        return Err(match rest.peek() {
            None => "`{{` is not closed".into(),
            Some('}') => "`{{}}` names nothing".into(),
            Some(other) => format!("{other:?} cannot begin a reference"),
        });
    }
    let name = name.to_owned();
    let mut path = Vec::new();
    loop {
        rest.skip_whitespace();
        if rest.consume("}}") {
            break;
        }
        match rest.next() {
            None => return Err("`{{` is not closed".into()),
            Some('.') => {
                let word = rest.read_word();
                if word.is_empty() {
                    return Err("a dot must be followed by a name or an index".into());
                }
                path.push(path_key(word));
            }
            Some('[') => path.push(rest.read_bracket()?),
            Some(other) => {
                return Err(format!("{other:?} is not allowed in a reference"));
            }
        }
    }
    Ok(ParsedReference {
        name,
        path,
        length: rest.at,
    })
}

fn path_key(word: &str) -> PathKey {
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        PathKey::Index(word.to_owned())
    } else {
        PathKey::Name(word.to_owned())
    }
}

struct ReferenceScanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> ReferenceScanner<'a> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn consume(&mut self, what: &str) -> bool {
        let there = self.text[self.at..].starts_with(what);
        if there {
            self.at += what.len();
        }
        there
    }

    fn skip_whitespace(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.next();
        }
    }

    /// Reads letters of any script, digits, `_`, `-` and `$`.
    fn read_word(&mut self) -> &'a str {
        let from = self.at;
        while self
            .peek()
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
        {
            self.next();
        }
        &self.text[from..self.at]
    }

    /// An index or a quoted name, up to the closing bracket.
    fn read_bracket(&mut self) -> Result<PathKey, String> {
        self.skip_whitespace();
        let key = match self.peek() {
            Some(quote @ ('"' | '\'')) => {
                self.next();
                PathKey::Name(self.read_quoted(quote)?)
            }
            _ => match path_key(self.read_word()) {
                PathKey::Index(index) if !index.is_empty() => PathKey::Index(index),
                PathKey::Name(name) if name.starts_with('-') => {
                    return Err(format!("[{name}]: an index counts from 0"));
                }
                PathKey::Name(name) => {
                    return Err(format!("a name in brackets must be quoted: [\"{name}\"]"));
                }
                PathKey::Index(_) => {
                    return Err("brackets must hold an index or a name in quotes".into());
                }
            },
        };
        self.skip_whitespace();
        if self.consume("]") {
            Ok(key)
        } else {
            Err("a `]` is missing".into())
        }
    }

    fn read_quoted(&mut self, quote: char) -> Result<String, String> {
        let mut name = String::new();
        loop {
            match self.next() {
                None => return Err(format!("a name is not closed with {quote}")),
                Some('\\') => name.extend(self.next()),
                Some(c) if c == quote => return Ok(name),
                Some(c) => name.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_every_form_are_parsed() {
        let name = |name: &str| PathKey::Name(name.into());
        let index = |index: &str| PathKey::Index(index.into());
        for (text, root, path) in [
            ("a}}", "a", vec![]),
            ("a.result.b}}", "a", vec![name("result"), name("b")]),
            ("a.0.b[1]}}", "a", vec![index("0"), name("b"), index("1")]),
            (
                "a[0][\"x y\"]['}}']}}",
                "a",
                vec![index("0"), name("x y"), name("}}")],
            ),
            ("a[\"q\\\"\\\\\"]}}", "a", vec![name("q\"\\")]),
            ("my-step.größe}}", "my-step", vec![name("größe")]),
            ("1.2}}", "1", vec![index("2")]),
        ] {
            let parsed = parse_reference(text).unwrap();
            assert_eq!((parsed.name.as_str(), parsed.path), (root, path), "{text}");
            assert_eq!(parsed.length, text.len(), "{text}");
        }
        assert_eq!(parse_reference(" a }} rest").unwrap().length, 5);
    }

    #[test]
    fn invalid_reference_error_names_the_reason() {
        for (text, word) in [
            ("", "not closed"),
            ("a", "not closed"),
            ("a}", "'}'"),
            ("}}", "names nothing"),
            ("#each x}}", "'#'"),
            ("a..b}}", "a dot must"),
            ("a.}}", "a dot must"),
            ("a. b}}", "a dot must"),
            ("a b}}", "'b'"),
            ("a[b]}}", "[\"b\"]"),
            ("a[-1]}}", "counts from 0"),
            ("a[]}}", "an index or a name"),
            ("a[0}}", "`]` is missing"),
            ("a[\"x}}", "not closed with"),
            ("a | upper}}", "'|'"),
        ] {
            let said = parse_reference(text).unwrap_err();
            assert!(said.contains(word), "{text}: {said}");
        }
    }
}
