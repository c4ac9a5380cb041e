//! How deep a program nests, counted before anything recurses into it.
//!
//! Brackets are counted; chains without any (`a ? b : c ? …`, `!!!…`) are left to the parser, whose stack
//! is large and whose overflow ends this process with words that the daemon knows.
//!
//! Invariant: one pass, no recursion, and at worst a wrong count: text in a regular expression that is
//! taken for code counts a few brackets too many or too few.

/// Brackets within each other that a program may have.
pub(crate) const MOST: usize = 500;

/// What the brackets of a program tell.
pub(crate) struct Nesting {
    /// The line and column (in UTF-16 code units), both from 1, of the bracket that is one too many.
    pub(crate) too_deep: Option<(u32, u32)>,
    /// Whether every bracket certainly closes one that the program opened. What `/` means is a guess here,
    /// so that nothing is certain of a program that divides or has regular expressions.
    pub(crate) balanced: bool,
}

pub(crate) fn of(source: &str) -> Nesting {
    let mut scan = Scan {
        rest: source,
        open: Vec::new(),
        operand: false,
        balanced: true,
    };
    while let Some(next) = scan.rest.chars().next() {
        scan.step(next);
        if scan.open.len() > MOST {
            let before = &source[..source.len() - scan.rest.len()];
            let line = before.split('\n').count();
            let column = before
                .split('\n')
                .next_back()
                .map_or(0, |line| line.encode_utf16().count());
            let place = |number| u32::try_from(number).unwrap_or(u32::MAX);
            return Nesting {
                too_deep: Some((place(line), place(column))),
                balanced: false,
            };
        }
    }
    Nesting {
        too_deep: None,
        balanced: scan.balanced && scan.open.is_empty(),
    }
}

/// What an open bracket is closed by.
#[derive(PartialEq)]
enum Open {
    Bracket,
    /// `${` in a template, whose text goes on after the `}`.
    Template,
}

struct Scan<'a> {
    rest: &'a str,
    open: Vec<Open>,
    /// Whether a value has just ended, so that `/` divides.
    operand: bool,
    balanced: bool,
}

impl Scan<'_> {
    fn step(&mut self, next: char) {
        match next {
            '(' | '[' | '{' => self.enter(1, Open::Bracket),
            ')' | ']' | '}' => {
                self.skip(1);
                self.operand = true;
                match self.open.pop() {
                    Some(Open::Template) => self.template(),
                    Some(Open::Bracket) => {}
                    None => self.balanced = false,
                }
            }
            '"' | '\'' => {
                self.skip(1);
                self.until(|c| c == next || c == '\n');
                self.operand = true;
            }
            '`' => {
                self.skip(1);
                self.template();
            }
            '/' if self.rest.starts_with("//") => self.until(|c| c == '\n'),
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
                    self.regular_expression();
                }
            }
            c if c.is_whitespace() => self.skip(c.len_utf8()),
            c if is_word(c) => {
                let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
                self.operand = !BEFORE_A_VALUE.contains(&&self.rest[..end]);
                self.skip(end);
            }
            c => {
                self.skip(c.len_utf8());
                self.operand = false;
            }
        }
    }

    fn enter(&mut self, length: usize, open: Open) {
        self.skip(length);
        self.open.push(open);
        self.operand = false;
    }

    fn skip(&mut self, length: usize) {
        self.rest = &self.rest[length..];
    }

    /// Past the first character that ends it, with `\` before a character taking its meaning away.
    fn until(&mut self, ends: impl Fn(char) -> bool) {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices() {
            if !escaped && ends(c) {
                return self.skip(at + c.len_utf8());
            }
            escaped = !escaped && c == '\\';
        }
        self.rest = "";
    }

    /// The text of a template up to its end or its next `${`.
    fn template(&mut self) {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices() {
            if !escaped && c == '`' {
                self.skip(at + 1);
                self.operand = true;
                return;
            }
            if !escaped && self.rest[at..].starts_with("${") {
                return self.enter(at + 2, Open::Template);
            }
            escaped = !escaped && c == '\\';
        }
        self.rest = "";
    }

    fn regular_expression(&mut self) {
        self.skip(1);
        let class = std::cell::Cell::new(false);
        self.until(|c| {
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

/// Words after which `/` begins a regular expression.
const BEFORE_A_VALUE: &[&str] = &[
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
    fn brackets_count_where_they_are_code() {
        let nested = |open: &str, close: &str, n: usize| open.repeat(n) + "1" + &close.repeat(n);
        for (open, close) in [
            ("(", ")"),
            ("[", "]"),
            ("{", "}"),
            ("`${", "}`"),
            ("f({a:[", "]})"),
        ] {
            let brackets = if open.starts_with('f') { 3 } else { 1 };
            let most = MOST / brackets;
            assert_eq!(of(&nested(open, close, most)).too_deep, None, "{open}");
            assert!(
                of(&nested(open, close, most + 1)).too_deep.is_some(),
                "{open}"
            );
        }
    }

    #[test]
    fn text_does_not_count() {
        let many = "(".repeat(MOST + 1);
        for text in [
            format!("'{many}'"),
            format!("\"\\\"{many}\""),
            format!("`{many}`"),
            format!("`\\${{{many}`"),
            format!("// {many}\n1"),
            format!("/* {many} */"),
            format!("return /[/{many}]/.test(x)"),
            "f(1)\n".repeat(10 * MOST),
        ] {
            assert_eq!(of(&text).too_deep, None, "{text}");
        }
        assert!(of(&format!("a / b; {many} / c")).too_deep.is_some());
    }

    #[test]
    fn the_place_is_that_of_the_bracket() {
        let source = format!("/* 𝒳 */\n{}", "[".repeat(MOST + 5));
        assert_eq!(of(&source).too_deep, Some((2, 501)));
    }
}
