//! Finds the tool call that encloses a position in a program.
//!
//! Scans brackets, strings, templates, comments and, by the preceding token, regular expressions. It is not a parser:
//! if it is wrong, only a hint is missing.
//!
//! Invariant: one pass in linear time.

use mux_typegen::names::BUILTIN_NAMES;

/// Server and tool.
pub(super) type ToolCallPath = (String, String);

/// Words after which a slash begins a regular expression.
const KEYWORDS_BEFORE_EXPRESSION: &[&[u8]] = &[
    b"await", b"case", b"delete", b"do", b"else", b"in", b"of", b"return", b"throw", b"typeof",
    b"void", b"yield",
];

/// The innermost call whose arguments contain the byte at `at`, or, if `or_name` is set, whose name does.
pub(super) fn around(source: &str, at: usize, or_name: bool) -> Option<ToolCallPath> {
    let mut reader = ProgramScanner {
        text: source.as_bytes(),
        at: 0,
        open: Vec::new(),
        coming: None,
        last: PrecedingToken::Operator,
    };
    while reader.at < at.min(source.len()) {
        let began = reader.at;
        reader.step();
        if or_name
            && let Some((bracket, path)) = &reader.coming
            && (began..*bracket).contains(&at)
        {
            return Some(path.clone());
        }
    }
    // A skipped template or comment does not change the open brackets.
    reader.open.into_iter().rev().find_map(|open| open.call)
}

struct OpenBracket {
    /// Whether the closing `}` continues a template.
    template: bool,
    call: Option<ToolCallPath>,
}

/// The kind of the preceding token, which decides whether a slash begins a regular expression.
enum PrecedingToken {
    Operator,
    Value,
}

struct ProgramScanner<'a> {
    text: &'a [u8],
    at: usize,
    open: Vec<OpenBracket>,
    /// The call whose name was scanned last, with the offset of its opening bracket.
    coming: Option<(usize, ToolCallPath)>,
    last: PrecedingToken,
}

impl ProgramScanner<'_> {
    fn step(&mut self) {
        let byte = self.text[self.at];
        match byte {
            b'\'' | b'"' => {
                self.string(byte);
                self.last = PrecedingToken::Value;
            }
            b'`' => {
                self.at += 1;
                self.template();
            }
            b'/' if self.peek(1) == b'/' => self.skip_until(b"\n"),
            b'/' if self.peek(1) == b'*' => {
                self.at += 2;
                self.skip_until(b"*/");
            }
            b'/' if matches!(self.last, PrecedingToken::Operator) => {
                self.regular_expression();
                self.last = PrecedingToken::Value;
            }
            b'(' | b'[' | b'{' => {
                let call = match self.coming.take() {
                    Some((bracket, path)) if bracket == self.at => Some(path),
                    other => {
                        self.coming = other;
                        None
                    }
                };
                let template = false;
                self.open.push(OpenBracket { template, call });
                self.at += 1;
                self.last = PrecedingToken::Operator;
            }
            b')' | b']' | b'}' => {
                self.at += 1;
                self.last = PrecedingToken::Value;
                if self.open.pop().is_some_and(|open| open.template) {
                    self.template();
                }
            }
            byte if is_word(byte) => self.word(),
            byte => {
                self.at += 1;
                if !byte.is_ascii_whitespace() {
                    self.last = PrecedingToken::Operator;
                }
            }
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn word(&mut self) {
        let began = self.at;
        while is_word(self.peek(0)) {
            self.at += 1;
        }
        let word = &self.text[began..self.at];
        self.last = if KEYWORDS_BEFORE_EXPRESSION.contains(&word) {
            PrecedingToken::Operator
        } else {
            PrecedingToken::Value
        };
        let is_property = began > 0 && self.text[began - 1] == b'.';
        if word == b"mux" && !is_property {
            self.coming = name_after(self.text, self.at);
        }
    }

    fn string(&mut self, quote: u8) {
        self.at += 1;
        while self.at < self.text.len() {
            match self.peek(0) {
                b'\\' => self.at += 2,
                b'\n' => return,
                byte => {
                    self.at += 1;
                    if byte == quote {
                        return;
                    }
                }
            }
        }
    }

    /// Skips to the end of a template, or to the next expression in it.
    fn template(&mut self) {
        while self.at < self.text.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\\', _) => self.at += 2,
                (b'`', _) => {
                    self.at += 1;
                    self.last = PrecedingToken::Value;
                    return;
                }
                (b'$', b'{') => {
                    self.at += 2;
                    self.last = PrecedingToken::Operator;
                    let (template, call) = (true, None);
                    self.open.push(OpenBracket { template, call });
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    fn regular_expression(&mut self) {
        self.at += 1;
        let mut in_class = false;
        while self.at < self.text.len() {
            match self.peek(0) {
                b'\\' => self.at += 1,
                b'\n' => return,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => {
                    self.at += 1;
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn skip_until(&mut self, end: &[u8]) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found = rest.windows(end.len()).position(|window| window == end);
        self.at = found.map_or(self.text.len(), |found| self.at + found + end.len());
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

/// The call after `mux`, such as `.files.read(`, `["my-server"].read(` or `["files.read"](`.
fn name_after(text: &[u8], mut at: usize) -> Option<(usize, ToolCallPath)> {
    let blank = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
        at + blanks.count()
    };
    let mut names: Vec<String> = Vec::new();
    loop {
        at = blank(at);
        let has_dot = match text.get(at..)? {
            [b'?', b'.', ..] => {
                at = blank(at + 2);
                true
            }
            [b'.', ..] => {
                at = blank(at + 1);
                true
            }
            _ => false,
        };
        match text.get(at..)? {
            [b'(', ..] => return Some((at, path(&names)?)),
            [b'[', quote @ (b'"' | b'\''), rest @ ..] => {
                let end = rest.iter().position(|byte| byte == quote)?;
                names.push(String::from_utf8_lossy(&rest[..end]).into_owned());
                at = blank(at + 3 + end);
                if text.get(at) != Some(&b']') {
                    return None;
                }
                at += 1;
            }
            rest if has_dot => {
                let length = rest.iter().take_while(|byte| is_word(**byte)).count();
                if length == 0 {
                    return None;
                }
                names.push(String::from_utf8_lossy(&rest[..length]).into_owned());
                at += length;
            }
            _ => return None,
        }
    }
}

fn path(names: &[String]) -> Option<ToolCallPath> {
    let joined = names.join(".");
    let (server, tool) = joined.split_once('.')?;
    (!BUILTIN_NAMES.contains(&server)).then(|| (server.to_owned(), tool.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The call around the mark, which is removed from the program.
    fn at_mark(marked: &str, or_name: bool) -> Option<String> {
        let at = marked.find('¦').expect("a mark");
        let source = marked.replace('¦', "");
        around(&source, at, or_name).map(|(server, tool)| format!("{server}|{tool}"))
    }

    #[test]
    fn innermost_enclosing_call_is_found() {
        for (marked, expected) in [
            ("mux.a.b({ ¦x: 1 })", Some("a|b")),
            ("mux.a.b({ x: [1, { ¦y: 2 }] })", Some("a|b")),
            ("mux.a.b({ x: f(¦1) })", Some("a|b")),
            ("mux.a.b({ x: await mux.c.d({ ¦y: 1 }) })", Some("c|d")),
            (
                "mux.a.b({ x: await mux.c.d({ y: 1 }), ¦z: 1 })",
                Some("a|b"),
            ),
            ("mux.a.b({}); ¦x", None),
            (
                "mux[\"my-server\"]['get-thing'](¦1)",
                Some("my-server|get-thing"),
            ),
            ("mux[\"a.b.c\"](¦1)", Some("a|b.c")),
            ("mux.a.b.c({ ¦x: 1 })", Some("a|b.c")),
            ("mux.a[\"b.c\"].d({ ¦x: 1 })", Some("a|b.c.d")),
            ("mux\n  .a\n  ?.b?.(¦1)", Some("a|b")),
            ("mux.a.b.then(x => ¦x)", Some("a|b.then")),
            ("mux.a.b(x).then(x => ¦x)", None),
            ("mux.call(\"a.b\", { ¦x: 1 })", None),
            ("mux.emit.x(¦1)", None),
            ("other.mux.a.b(¦1)", None),
            ("mux.a.b(\"(\", ')', /[(]\\(/, ¦1)", Some("a|b")),
            ("\"mux.a.b(\"; ¦x", None),
            ("// mux.a.b(\n¦x", None),
            ("/* mux.a.b( */ ¦x", None),
            ("`${mux.a.b(¦1)}`", Some("a|b")),
            ("mux.a.b(`${1} ( ${`}`}`, ¦1)", Some("a|b")),
            ("const x = 1 / 2; mux.a.b(¦1); y / 2", Some("a|b")),
            ("return /mux.a.b(/; ¦x", None),
            ("mux.ä.b(¦1)", Some("ä|b")),
            ("¦mux.a.b", None),
        ] {
            assert_eq!(at_mark(marked, false).as_deref(), expected, "{marked}");
        }
    }

    #[test]
    fn call_is_found_from_its_name_if_requested() {
        assert_eq!(at_mark("await mux.a.¦b()", true).as_deref(), Some("a|b"));
        assert_eq!(at_mark("await mux.a.¦b()", false), None);
        assert_eq!(at_mark("mux.a.b(); ¦f()", true), None);
    }

    #[test]
    fn unterminated_tokens_end_with_the_program() {
        for source in [
            "`",
            "\"",
            "/*",
            "/x",
            "`${",
            "mux.a.b(\\",
            "mux.",
            "mux[\"",
            "'\\",
            "))}]",
        ] {
            let padded = format!("{source} ");
            let found = around(&padded, padded.len(), false);
            assert_eq!(found.is_some(), source.starts_with("mux.a.b("), "{source}");
        }
    }
}
