//! The tokens of a program, with their nesting.
//!
//! Scans strings, templates, comments and, by the preceding token, regular expressions. It is not a parser: the modules
//! that read tokens must stay on the safe side where the text is ambiguous.
//!
//! Invariant: one pass in linear time.

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

/// Keywords before brackets that are no call.
pub(super) const BLOCK_HEADS: &[&str] = &["if", "for", "while", "switch", "catch", "with"];

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
    /// `(`, `[`, `{`, or the text of a template before an expression.
    Open,
    /// `)`, `]`, `}`, or the text of a template after an expression. If another expression follows, an `Open` with the
    /// same start precedes that one.
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
}

impl<'a> ProgramTokens<'a> {
    pub(super) fn of(source: &'a str) -> Self {
        let mut scanner = TokenScanner {
            source,
            text: source.as_bytes(),
            at: 0,
            tokens: Vec::new(),
            open: Vec::new(),
            begins_line: true,
        };
        while scanner.at < source.len() {
            scanner.step();
        }
        Self {
            source,
            tokens: scanner.tokens,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at)
    }

    pub(super) fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// The text of a token; empty beyond the end.
    pub(super) fn text(&self, at: usize) -> &'a str {
        self.tokens
            .get(at)
            .map_or("", |token| &self.source[token.start..token.end])
    }

    /// The text of the token before `at`; empty at the beginning.
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
        self.tokens.get(at)?.parent
    }

    pub(super) fn partner(&self, at: usize) -> Option<usize> {
        self.tokens.get(at)?.partner
    }

    /// The token before `at` in the same brackets; a bracketed group counts as its opening bracket.
    pub(super) fn sibling_before(&self, at: usize) -> Option<usize> {
        let before = at.checked_sub(1)?;
        match self.tokens[before].kind {
            TokenKind::Open => None,
            TokenKind::Close => self.tokens[before].partner,
            _ => Some(before),
        }
    }

    /// The token after `at` in the same brackets; a group counts as its opening bracket.
    pub(super) fn sibling_after(&self, at: usize) -> Option<usize> {
        let next = match self.tokens.get(at)?.kind {
            TokenKind::Open => self.tokens[at].partner? + 1,
            _ => at + 1,
        };
        (self.kind(next)? != TokenKind::Close).then_some(next)
    }

    /// All positions of a word or a name, other than as a property after a dot.
    pub(super) fn names(&self, name: &str) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(move |at| {
            self.is_word(*at) && self.text(*at) == name && !matches!(self.before(*at), "." | "?.")
        })
    }

    /// Returns true if a value ends with this token.
    pub(super) fn ends_value(&self, at: usize) -> bool {
        match self.kind(at) {
            Some(TokenKind::Word) => !KEYWORDS_BEFORE_EXPRESSION.contains(&self.text(at)),
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
    begins_line: bool,
}

impl TokenScanner<'_> {
    fn step(&mut self) {
        let start = self.at;
        let byte = self.text[start];
        match byte {
            b'\n' => {
                self.at += 1;
                self.begins_line = true;
            }
            byte if byte.is_ascii_whitespace() => self.at += 1,
            b'\'' | b'"' => {
                self.string(byte);
                self.push(TokenKind::String, start);
            }
            b'`' => {
                self.at += 1;
                self.template(start);
            }
            b'/' if self.peek(1) == b'/' => self.skip_until("\n"),
            b'/' if self.peek(1) == b'*' => {
                self.at += 2;
                self.skip_until("*/");
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
                while is_word(self.peek(0)) || (self.peek(0) == b'.' && self.peek(1) != b'.') {
                    self.at += 1;
                }
                self.push(TokenKind::Number, start);
            }
            byte if is_word(byte) => {
                while is_word(self.peek(0)) {
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
        }
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
        match last.kind {
            TokenKind::Word => !KEYWORDS_BEFORE_EXPRESSION.contains(&text),
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

    /// Reads the text of a template up to its end or its next expression; `start` is at its quote, or at the bracket
    /// that ends an expression.
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

    fn skip_until(&mut self, end: &str) {
        let rest = &self.text[self.at.min(self.text.len())..];
        let found = rest
            .windows(end.len())
            .position(|window| window == end.as_bytes());
        // The line break after a comment is left for the next step.
        let after = end.trim_start().len();
        self.at += found.map_or(rest.len(), |found| found + after);
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#') || !byte.is_ascii()
}
