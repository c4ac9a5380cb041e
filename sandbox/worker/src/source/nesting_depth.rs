//! Measures how deep a program nests, before the parser recurses into it.
//!
//! Only brackets are counted. Chains without brackets (`a ? b : c ? …`, `!!!…`) are left to the parser, whose stack is
//! large. A stack overflow ends this process with a message that the daemon recognizes.
//!
//! Invariant: one pass without recursion. The count may be wrong by a few brackets where a regular expression is taken
//! for code.

/// The maximum nesting depth of brackets.
pub(crate) const MAX_NESTING_DEPTH: usize = 500;

/// The nesting of a program's brackets.
pub(crate) struct BracketNesting {
    /// The line and column (in UTF-16 code units), both from 1, of the first bracket that is too deep.
    pub(crate) too_deep: Option<(u32, u32)>,
    /// Whether every closing bracket certainly matches one that the program opened. False in a program with divisions
    /// or regular expressions, because the meaning of `/` is a guess.
    pub(crate) balanced: bool,
}

pub(crate) fn measure_nesting(source: &str) -> BracketNesting {
    let mut scan = BracketScanner {
        rest: source,
        open: Vec::new(),
        operand: false,
        balanced: true,
    };
    while let Some(next) = scan.rest.chars().next() {
        scan.scan_token(next);
        if scan.open.len() > MAX_NESTING_DEPTH {
            let before = &source[..source.len() - scan.rest.len()];
            let line = before.split('\n').count();
            let column = before
                .split('\n')
                .next_back()
                .map_or(0, |line| line.encode_utf16().count());
            let place = |number| u32::try_from(number).unwrap_or(u32::MAX);
            return BracketNesting {
                too_deep: Some((place(line), place(column))),
                balanced: false,
            };
        }
    }
    BracketNesting {
        too_deep: None,
        balanced: scan.balanced && scan.open.is_empty(),
    }
}

/// The kind of an open bracket, which decides what its closing bracket means.
#[derive(PartialEq)]
enum OpenBracketKind {
    Bracket,
    /// `${` in a template literal, which continues after the `}`.
    Template,
}

struct BracketScanner<'a> {
    rest: &'a str,
    open: Vec<OpenBracketKind>,
    /// Whether a value has just ended, after which `/` divides.
    operand: bool,
    balanced: bool,
}

impl BracketScanner<'_> {
    fn scan_token(&mut self, next: char) {
        match next {
            '(' | '[' | '{' => self.open_bracket(1, OpenBracketKind::Bracket),
            ')' | ']' | '}' => {
                self.skip(1);
                self.operand = true;
                match self.open.pop() {
                    Some(OpenBracketKind::Template) => self.skip_template_text(),
                    Some(OpenBracketKind::Bracket) => {}
                    None => self.balanced = false,
                }
            }
            '"' | '\'' => {
                self.skip(1);
                self.skip_until(|c| c == next || c == '\n');
                self.operand = true;
            }
            '`' => {
                self.skip(1);
                self.skip_template_text();
            }
            '/' if self.rest.starts_with("//") => self.skip_until(|c| c == '\n'),
            '/' if self.rest.starts_with("/*") => {
                let end = self.rest.find("*/").map_or(self.rest.len(), |at| at + 2);
                self.skip(end);
            }
            '/' => {
                self.balanced = false;
                if self.operand {
                    self.skip(1);
                    self.operand = false;
                } else {
                    self.skip_regular_expression();
                }
            }
            c if c.is_whitespace() => self.skip(c.len_utf8()),
            c if is_word(c) => {
                let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
                self.operand = !KEYWORDS_BEFORE_REGEX.contains(&&self.rest[..end]);
                self.skip(end);
            }
            c => {
                self.skip(c.len_utf8());
                self.operand = false;
            }
        }
    }

    fn open_bracket(&mut self, length: usize, open: OpenBracketKind) {
        self.skip(length);
        self.open.push(open);
        self.operand = false;
    }

    fn skip(&mut self, length: usize) {
        self.rest = &self.rest[length..];
    }

    /// Skips past the first character for which `ends` is true. `\` escapes the next character.
    fn skip_until(&mut self, ends: impl Fn(char) -> bool) {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices() {
            if !escaped && ends(c) {
                return self.skip(at + c.len_utf8());
            }
            escaped = !escaped && c == '\\';
        }
        self.rest = "";
    }

    /// Skips the text of a template literal up to its end or its next `${`.
    fn skip_template_text(&mut self) {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices() {
            if !escaped && c == '`' {
                self.skip(at + 1);
                self.operand = true;
                return;
            }
            if !escaped && self.rest[at..].starts_with("${") {
                return self.open_bracket(at + 2, OpenBracketKind::Template);
            }
            escaped = !escaped && c == '\\';
        }
        self.rest = "";
    }

    fn skip_regular_expression(&mut self) {
        self.skip(1);
        let class = std::cell::Cell::new(false);
        self.skip_until(|c| {
            match c {
                '[' => class.set(true),
                ']' => class.set(false),
                _ => {}
            }
            c == '\n' || (c == '/' && !class.get())
        });
        self.operand = true;
    }
}

/// Keywords after which `/` begins a regular expression.
const KEYWORDS_BEFORE_REGEX: &[&str] = &[
    "return",
    "typeof",
    "case",
    "in",
    "of",
    "delete",
    "void",
    "throw",
    "new",
    "do",
    "else",
    "yield",
    "await",
    "instanceof",
];

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_code_are_counted() {
        let nested = |open: &str, close: &str, n: usize| open.repeat(n) + "1" + &close.repeat(n);
        for (open, close) in [
            ("(", ")"),
            ("[", "]"),
            ("{", "}"),
            ("`${", "}`"),
            ("f({a:[", "]})"),
        ] {
            let brackets = if open.starts_with('f') { 3 } else { 1 };
            let most = MAX_NESTING_DEPTH / brackets;
            assert_eq!(
                measure_nesting(&nested(open, close, most)).too_deep,
                None,
                "{open}"
            );
            assert!(
                measure_nesting(&nested(open, close, most + 1))
                    .too_deep
                    .is_some(),
                "{open}"
            );
        }
    }

    #[test]
    fn brackets_in_text_are_not_counted() {
        let many = "(".repeat(MAX_NESTING_DEPTH + 1);
        for text in [
            format!("'{many}'"),
            format!("\"\\\"{many}\""),
            format!("`{many}`"),
            format!("`\\${{{many}`"),
            format!("// {many}\n1"),
            format!("/* {many} */"),
            format!("return /[/{many}]/.test(x)"),
            "f(1)\n".repeat(10 * MAX_NESTING_DEPTH),
        ] {
            assert_eq!(measure_nesting(&text).too_deep, None, "{text}");
        }
        assert!(
            measure_nesting(&format!("a / b; {many} / c"))
                .too_deep
                .is_some()
        );
    }

    #[test]
    fn position_is_that_of_the_first_bracket_that_is_too_deep() {
        let source = format!("/* 𝒳 */\n{}", "[".repeat(MAX_NESTING_DEPTH + 5));
        assert_eq!(measure_nesting(&source).too_deep, Some((2, 501)));
    }
}
