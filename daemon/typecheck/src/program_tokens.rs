//! The tokens of a program, with their nesting.
//!
//! Scans strings, templates, comments and, by the preceding token, regular expressions. This is not a parser: the
//! modules that read tokens must stay on the safe side where the source is ambiguous.
//!
//! Invariant: the scan is one pass in linear time. Every read of a token counts. After [`MAX_STEPS`] reads, no token
//! has a neighbor: each search ends, and its answer must not be trusted.

use std::{cell::Cell, collections::HashMap};

/// The maximum number of tokens that are read to judge one program.
const MAX_STEPS: usize = 5_000_000;
/// The number of bytes of the types that are searched in the time of one step.
const BYTES_PER_STEP: usize = 100;

/// Characters that end a line beside `\n` and `\r`.
const LINE_SEPARATORS: &[char] = &['\u{2028}', '\u{2029}'];
const LINE_BREAKS: &[char] = &['\n', '\r', '\u{2028}', '\u{2029}'];
/// Words after which a slash begins a regular expression, and an expression continues.
const KEYWORDS_BEFORE_EXPRESSION: &[&str] = &[
    "await",
    "case",
    "delete",
    "do",
    "else",
    "extends",
    "in",
    "instanceof",
    "new",
    "of",
    "return",
    "throw",
    "typeof",
    "void",
    "yield",
];

/// Keywords before brackets that are not a call.
pub(super) const BLOCK_HEADS: &[&str] = &["if", "for", "while", "switch", "catch", "with"];

/// Words that continue the statement before them.
const CONTINUING_WORDS: &[&str] = &[
    "in",
    "of",
    "instanceof",
    "as",
    "satisfies",
    "else",
    "catch",
    "finally",
    "while",
];

/// Operators of several characters, the longest first.
const OPERATORS: &[&str] = &[
    ">>>=", "===", "!==", "**=", "...", "??=", "||=", "&&=", "=>", "==", "!=", "<=", "++", "--",
    "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "??", "||", "&&", "?.", "**",
];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TokenKind {
    /// An identifier or a keyword.
    Word,
    Number,
    String,
    /// A template without expressions.
    Template,
    RegularExpression,
    /// `(`, `[`, `{`, or the part of a template before an expression.
    Open,
    /// `)`, `]`, `}`, or the part of a template after an expression. If another expression follows, an `Open` with the
    /// same start precedes it.
    Close,
    Operator,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The innermost bracket around this token.
    pub(super) parent: Option<usize>,
    /// The matching bracket.
    pub(super) partner: Option<usize>,
    /// The first token of its line.
    pub(super) begins_line: bool,
}

/// A program as tokens. Positions are indices of tokens.
pub(super) struct ProgramTokens<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    /// The positions of each word and of each string without its quotes.
    occurrences: HashMap<&'a str, Vec<usize>>,
    /// The first token of the statement, list element or argument that contains each token.
    starts: Vec<usize>,
    is_balanced: bool,
    steps: Cell<usize>,
}

impl<'a> ProgramTokens<'a> {
    pub(super) fn of(source: &'a str) -> Self {
        let mut scanner = TokenScanner {
            source,
            text: source.as_bytes(),
            at: 0,
            tokens: Vec::new(),
            open: Vec::new(),
            is_balanced: true,
            begins_line: true,
        };
        while scanner.at < source.len() {
            scanner.step();
        }
        let mut occurrences: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, token) in scanner.tokens.iter().enumerate() {
            let text = &source[token.start..token.end];
            let name = match token.kind {
                TokenKind::Word => text,
                TokenKind::String => text.trim_matches(['"', '\'']),
                _ => continue,
            };
            occurrences.entry(name).or_default().push(at);
        }
        let mut program = Self {
            source,
            is_balanced: scanner.is_balanced && scanner.open.is_empty(),
            starts: Vec::with_capacity(scanner.tokens.len()),
            tokens: scanner.tokens,
            occurrences,
            steps: Cell::new(0),
        };
        for at in 0..program.len() {
            let before = program.sibling_before(at).filter(|before| {
                !matches!(program.text(*before), ";" | ",") && !program.is_boundary(*before, at)
            });
            let start = before.map_or(at, |before| program.starts[before]);
            program.starts.push(start);
            program.steps.set(0);
        }
        program
    }

    /// Returns true if each bracket has a matching one.
    pub(super) fn is_balanced(&self) -> bool {
        self.is_balanced
    }

    /// Returns true if too many tokens were read. Then no answer about the program is certain.
    pub(super) fn is_exhausted(&self) -> bool {
        self.steps.get() > MAX_STEPS
    }

    /// Counts a search in the types.
    pub(super) fn count_search(&self, types: &str) {
        self.count(types.len() / BYTES_PER_STEP);
    }

    fn count(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }

    /// The first token of the statement, list element or argument that contains `at`.
    pub(super) fn expression_start(&self, at: usize) -> usize {
        self.starts.get(at).copied().unwrap_or(at)
    }

    /// Returns true if a statement ends before `next`, the sibling after `last`.
    pub(super) fn is_boundary(&self, last: usize, next: usize) -> bool {
        let end = match self.kind(last) {
            Some(TokenKind::Open) => self.partner(last).unwrap_or(last),
            _ => last,
        };
        if self.text(end) == ")" && BLOCK_HEADS.contains(&self.before(last)) {
            return false;
        }
        let begins = match self.kind(next) {
            Some(TokenKind::Word) => !CONTINUING_WORDS.contains(&self.text(next)),
            Some(TokenKind::Open) => self.text(next) == "{",
            Some(TokenKind::String | TokenKind::Number | TokenKind::Template) => true,
            _ => false,
        };
        let on_new_line = self.get(next).is_some_and(|token| token.begins_line);
        if on_new_line && self.text(last) == "return" && !self.is_property(last) {
            return true;
        }
        let ends = match self.kind(end) {
            Some(TokenKind::Close) => true,
            _ => self.ends_value(end),
        };
        let after_block = self.text(end) == "}" && self.text(next) != "{";
        begins && ends && (on_new_line || after_block)
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at)
    }

    pub(super) fn kind(&self, at: usize) -> Option<TokenKind> {
        self.count(1);
        self.tokens.get(at).map(|token| token.kind)
    }

    /// The text of a token. Empty beyond the end.
    pub(super) fn text(&self, at: usize) -> &'a str {
        self.count(1);
        self.tokens
            .get(at)
            .map_or("", |token| &self.source[token.start..token.end])
    }

    /// The text of the token before `at`. Empty at the beginning.
    pub(super) fn before(&self, at: usize) -> &'a str {
        at.checked_sub(1).map_or("", |before| self.text(before))
    }

    /// The token that contains the byte, or the first one after it.
    pub(super) fn at_byte(&self, byte: usize) -> usize {
        self.tokens.partition_point(|token| token.end <= byte)
    }

    pub(super) fn is_open(&self, at: usize, text: &str) -> bool {
        self.kind(at) == Some(TokenKind::Open) && self.text(at) == text
    }

    pub(super) fn is_word(&self, at: usize) -> bool {
        self.kind(at) == Some(TokenKind::Word)
    }

    pub(super) fn parent(&self, at: usize) -> Option<usize> {
        self.count(1);
        let token = self.tokens.get(at).filter(|_| !self.is_exhausted())?;
        token.parent
    }

    pub(super) fn partner(&self, at: usize) -> Option<usize> {
        self.count(1);
        let token = self.tokens.get(at).filter(|_| !self.is_exhausted())?;
        token.partner
    }

    /// The token before `at` in the same brackets. A bracketed group counts as its opening bracket.
    pub(super) fn sibling_before(&self, at: usize) -> Option<usize> {
        self.count(1);
        let before = at.checked_sub(1).filter(|_| !self.is_exhausted())?;
        match self.tokens.get(before)?.kind {
            TokenKind::Open => None,
            TokenKind::Close => self.tokens[before].partner,
            _ => Some(before),
        }
    }

    /// The token after `at` in the same brackets. A group counts as its opening bracket.
    pub(super) fn sibling_after(&self, at: usize) -> Option<usize> {
        self.count(1);
        let token = self.tokens.get(at).filter(|_| !self.is_exhausted())?;
        let next = match token.kind {
            TokenKind::Open => token.partner? + 1,
            _ => at + 1,
        };
        (self.kind(next)? != TokenKind::Close).then_some(next)
    }

    /// All positions of a word, and of strings with this content.
    pub(super) fn occurrences(&self, name: &str) -> impl Iterator<Item = usize> {
        let positions = self.occurrences.get(name).map_or(&[][..], Vec::as_slice);
        let positions = positions.iter().copied();
        positions.take_while(|_| !self.is_exhausted())
    }

    /// All positions of a name, other than as a property after a dot.
    pub(super) fn names(&self, name: &str) -> impl Iterator<Item = usize> {
        self.occurrences(name)
            .filter(|at| self.is_word(*at) && !self.is_property(*at))
    }

    /// Returns true if the word at `at` names a member after a dot.
    pub(super) fn is_property(&self, at: usize) -> bool {
        matches!(self.before(at), "." | "?.")
    }

    /// Returns true if a value ends with this token.
    pub(super) fn ends_value(&self, at: usize) -> bool {
        match self.kind(at) {
            Some(TokenKind::Word) => {
                self.is_property(at) || !KEYWORDS_BEFORE_EXPRESSION.contains(&self.text(at))
            }
            Some(TokenKind::Open) | None => false,
            Some(TokenKind::Operator) => matches!(self.text(at), "++" | "--"),
            Some(_) => true,
        }
    }
}

struct TokenScanner<'a> {
    source: &'a str,
    text: &'a [u8],
    at: usize,
    tokens: Vec<Token>,
    /// The open brackets.
    open: Vec<usize>,
    is_balanced: bool,
    begins_line: bool,
}

impl TokenScanner<'_> {
    fn step(&mut self) {
        let start = self.at;
        let byte = self.text[start];
        match byte {
            b'\n' | b'\r' => {
                self.at += 1;
                self.begins_line = true;
            }
            _ if let Some(blank) = self.blank() => {
                self.at += blank.len_utf8();
                self.begins_line |= LINE_SEPARATORS.contains(&blank);
            }
            b'\'' | b'"' => {
                self.string(byte);
                self.push(TokenKind::String, start);
            }
            b'`' => {
                self.at += 1;
                self.template(start);
            }
            b'/' if self.peek(1) == b'/' => {
                let end = self.source[start..].find(LINE_BREAKS);
                self.at = end.map_or(self.text.len(), |end| start + end);
            }
            b'/' if self.peek(1) == b'*' => {
                let end = self.source[start + 2..].find("*/");
                self.at = end.map_or(self.text.len(), |end| start + end + 4);
                self.begins_line |= self.source[start..self.at].contains(LINE_BREAKS);
            }
            b'/' if !self.follows_value() => {
                self.regular_expression();
                self.push(TokenKind::RegularExpression, start);
            }
            b'(' | b'[' | b'{' => {
                self.at += 1;
                self.push(TokenKind::Open, start);
            }
            b')' | b']' | b'}' => {
                self.at += 1;
                let continues_template = byte == b'}'
                    && self.open.last().is_some_and(|open| {
                        matches!(self.text[self.tokens[*open].start], b'`' | b'}')
                    });
                if continues_template {
                    self.template(start);
                } else {
                    self.push(TokenKind::Close, start);
                }
            }
            byte if byte.is_ascii_digit() => {
                while self.continues_word() || (self.peek(0) == b'.' && self.peek(1) != b'.') {
                    self.at += 1;
                }
                self.push(TokenKind::Number, start);
            }
            byte if is_word(byte) => {
                while self.continues_word() {
                    self.at += 1;
                }
                self.push(TokenKind::Word, start);
            }
            _ => {
                let rest = &self.source[start..];
                let known = OPERATORS
                    .iter()
                    .find(|operator| rest.starts_with(**operator));
                self.at += known.map_or(1, |operator| operator.len());
                self.push(TokenKind::Operator, start);
            }
        }
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        self.at = self.at.min(self.text.len());
        let at = self.tokens.len();
        let mut partner = None;
        if kind == TokenKind::Close
            && let Some(open) = self.open.pop()
        {
            self.tokens[open].partner = Some(at);
            partner = Some(open);
            self.is_balanced &= match self.text[self.tokens[open].start] {
                b'(' => self.text[start] == b')',
                b'[' => self.text[start] == b']',
                _ => self.text[start] == b'}',
            };
        }
        self.is_balanced &= kind != TokenKind::Close || partner.is_some();
        self.tokens.push(Token {
            kind,
            start,
            end: self.at,
            parent: self.open.last().copied(),
            partner,
            begins_line: std::mem::take(&mut self.begins_line),
        });
        if kind == TokenKind::Open {
            self.open.push(at);
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn follows_value(&self) -> bool {
        let Some(last) = self.tokens.last() else {
            return false;
        };
        let text = &self.source[last.start..last.end];
        let before = self.tokens.iter().rev().nth(1);
        let is_property =
            before.is_some_and(|dot| matches!(&self.source[dot.start..dot.end], "." | "?."));
        match last.kind {
            TokenKind::Word => is_property || !KEYWORDS_BEFORE_EXPRESSION.contains(&text),
            TokenKind::Open => false,
            TokenKind::Operator => matches!(text, "++" | "--"),
            _ => true,
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

    /// Reads a template up to its end or its next expression. `start` is at its quote, or at the bracket that ends an
    /// expression.
    fn template(&mut self, start: usize) {
        let continues = self.text[start] == b'}';
        while self.at < self.text.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\\', _) => self.at += 2,
                (b'`', _) => {
                    self.at += 1;
                    let kind = if continues {
                        TokenKind::Close
                    } else {
                        TokenKind::Template
                    };
                    return self.push(kind, start);
                }
                (b'$', b'{') => {
                    self.at += 2;
                    if continues {
                        self.push(TokenKind::Close, start);
                    }
                    return self.push(TokenKind::Open, start);
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

    /// The blank or line separator here.
    fn blank(&self) -> Option<char> {
        let next = self.source.get(self.at..)?.chars().next()?;
        (next.is_whitespace() || next == '\u{feff}').then_some(next)
    }

    fn continues_word(&self) -> bool {
        is_word(self.peek(0)) && self.blank().is_none()
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#') || !byte.is_ascii()
}
