//! Servers with one or two faults, from valid messages and a seed.
//!
//! Invariant: the seed and the number of a mutation determine it, regardless of the mutation count.

use std::ops::Range;

use strum::VariantArray as _;

use super::{
    case::{Case, Framing, Habit, Subject, Transport},
    json_tree::{Member, Node},
    messages::{self, QUOTA, REVISIONS},
};
use crate::dice::Dice;

/// With the method, the number and the transport, a name is shorter than a file system allows.
const MAX_NAME_BYTES: usize = 180;
/// Long for a word, short enough for a message.
const LONG: usize = 20_000;

/// Texts that replace a value, by the name of the change.
const REPLACEMENTS: [(&str, &str); 24] = [
    ("null", "null"),
    ("empty-object", "{}"),
    ("empty-array", "[]"),
    ("empty-string", r#""""#),
    ("number", "7"),
    ("negative", "-1"),
    ("fraction", "1.5"),
    ("whole-fraction", "1.0"),
    ("exponent", "1e2"),
    ("beyond-double", "1e400"),
    ("big-integer", "9223372036854775808123"),
    ("true", "true"),
    ("false", "false"),
    ("string", r#""x""#),
    ("text-true", r#""true""#),
    ("text-false", r#""False""#),
    ("nan", "NaN"),
    ("infinity", "Infinity"),
    ("minus-infinity", "-Infinity"),
    ("lone-surrogate", r#""\ud83d""#),
    ("zero-character", r#""a\u0000b""#),
    ("array-of-null", "[null]"),
    ("array-of-numbers", "[1,2]"),
    ("object-of-null", r#"{"x":null}"#),
];

/// A change of one value, or of the member or element that contains it.
#[derive(Clone, Copy)]
enum Change {
    Replace(&'static str, &'static str),
    Drop,
    /// The value as a string that contains its JSON.
    Quote,
    WrapInArray,
    LongString,
    /// The first half of a surrogate pair at the end of a string.
    HighSurrogate,
    /// The second half at the beginning of a string.
    LowSurrogate,
    /// Half an escape for a character outside of the BMP, between others.
    SwappedSurrogates,
    RepeatSame,
    RepeatNullFirst,
    RepeatNullLast,
    UpperCaseName,
    CapitalizedName,
    SnakeCaseName,
    EmptyName,
    ExtraMember,
    ExtraNullMember,
    ExtraSurrogateName,
    ExtraNull,
    ExtraNumber,
    ExtraEmptyObject,
    RepeatElement,
    Reverse,
    UnknownType,
}

const STRUCTURAL: [Change; 23] = [
    Change::Drop,
    Change::Quote,
    Change::WrapInArray,
    Change::LongString,
    Change::HighSurrogate,
    Change::LowSurrogate,
    Change::SwappedSurrogates,
    Change::RepeatSame,
    Change::RepeatNullFirst,
    Change::RepeatNullLast,
    Change::UpperCaseName,
    Change::CapitalizedName,
    Change::SnakeCaseName,
    Change::EmptyName,
    Change::ExtraMember,
    Change::ExtraNullMember,
    Change::ExtraSurrogateName,
    Change::ExtraNull,
    Change::ExtraNumber,
    Change::ExtraEmptyObject,
    Change::RepeatElement,
    Change::Reverse,
    Change::UnknownType,
];

/// The mutations of these numbers.
pub fn mutations(seed: u64, numbers: Range<u64>) -> Vec<Subject> {
    numbers.map(|number| mutation(seed, number)).collect()
}

fn mutation(seed: u64, number: u64) -> Subject {
    let mut dice = Dice::new(seed, number);
    let revision = *dice.pick(&REVISIONS);
    let method = weighted(
        &mut dice,
        &[
            ("initialize", 6),
            ("tools/list", 7),
            ("tools/call", 8),
            ("resources/list", 1),
            ("prompts/list", 1),
            ("server/discover", 1),
            ("ping", 1),
        ],
    );
    let transport = weighted(
        &mut dice,
        &[
            (Transport::Json, 8),
            (Transport::EventStream, 7),
            (Transport::Sse, 3),
            (Transport::Stdio, 3),
        ],
    );
    let mut mutant = Mutant::new(&mut dice, method, revision, transport);
    let faults = if mutant.dice.one_in(3) { 2 } else { 1 };
    for _ in 0..faults {
        mutant.add_fault();
    }
    mutant.finish(number, revision)
}

/// A server on its way to be faulty.
struct Mutant<'a> {
    dice: &'a mut Dice,
    method: &'static str,
    transport: Transport,
    answer: Node,
    before: Vec<String>,
    after: Vec<String>,
    framing: Vec<Framing>,
    habits: Vec<Habit>,
    is_pretty: bool,
    labels: Vec<String>,
}

impl<'a> Mutant<'a> {
    fn new(dice: &'a mut Dice, method: &'static str, revision: &str, transport: Transport) -> Self {
        let mut answer = messages::answer(method, revision);
        let mut labels = Vec::new();
        if method == "tools/call" {
            answer["result"] = dice.pick(&messages::call_results(revision)).clone();
        }
        let fails_often = matches!(method, "tools/call" | "resources/list" | "prompts/list");
        if fails_often && dice.one_in(6) {
            answer = messages::error(-32000, QUOTA);
            answer["error"]["data"] = serde_json::json!({ "limit": 1 });
            labels.push("error".to_owned());
        }
        let habits = if dice.one_in(2) {
            vec![Habit::Sessions]
        } else {
            Vec::new()
        };
        Self {
            answer: Node::from(&answer),
            method,
            transport,
            before: Vec::new(),
            after: Vec::new(),
            framing: Vec::new(),
            habits,
            is_pretty: false,
            labels,
            dice,
        }
    }

    fn add_fault(&mut self) {
        match self.dice.below(20) {
            0..3 => self.add_framing(),
            3..5 if self.transport.is_stream() => self.add_unasked(),
            _ => {
                let label = change_one(&mut self.answer, self.dice);
                self.labels.push(label);
            }
        }
    }

    fn add_framing(&mut self) {
        let mut fitting: Vec<_> = Framing::VARIANTS
            .iter()
            .filter(|framing| framing.applies_to(self.transport))
            .map(Some)
            .collect();
        // Not a separate framing, because it changes the message.
        if self.transport != Transport::Stdio {
            fitting.push(None);
        }
        if let Some(framing) = self.dice.pick(&fitting) {
            self.labels.push(framing.as_str().to_owned());
            self.framing.push(**framing);
        } else {
            self.labels.push("pretty".to_owned());
            self.is_pretty = true;
        }
    }

    fn add_unasked(&mut self) {
        let (name, message) = messages::unasked(self.dice);
        let mut message = Node::from(&message);
        let label = if self.dice.one_in(3) {
            format!("plain-{name}")
        } else {
            format!("{name}-{}", change_one(&mut message, self.dice))
        };
        self.labels.push(label);
        if self.dice.one_in(3) {
            self.after.push(message.text());
        } else {
            self.before.push(message.text());
        }
    }

    fn finish(self, number: u64, revision: &str) -> Subject {
        let answer = if self.is_pretty {
            pretty(&self.answer.text())
        } else {
            self.answer.text()
        };
        let short = self
            .method
            .rsplit_once('/')
            .map_or("init", |(_, short)| short);
        let messages = [self.before, vec![answer], self.after].concat();
        let case = Case {
            name: format!("{short}-{number}-{}", file_name(&self.labels.join("-and-"))),
            expected: "At least what an SDK reaches.".to_owned(),
            transports: vec![self.transport],
            revision: Some(revision.to_owned()),
            answers: [(self.method.to_owned(), messages)].into(),
            framing: self.framing,
            habits: self.habits,
            at_least: None,
        };
        Subject {
            transport: self.transport,
            case,
        }
    }
}

/// A text as a part of file names and URLs.
fn file_name(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let mut name = text.replace(|letter| !is_plain(letter), "_");
    name.truncate(MAX_NAME_BYTES);
    name
}

/// Changes one place of a message, and returns the name of the change.
fn change_one(message: &mut Node, dice: &mut Dice) -> String {
    let positions = message.positions();
    loop {
        let position = dice.pick(&positions);
        let kind = if dice.one_in(2) {
            let (label, text) = *dice.pick(&REPLACEMENTS);
            Change::Replace(label, text)
        } else {
            *dice.pick(&STRUCTURAL)
        };
        let path = message.path(position);
        if let Some(label) = kind.apply(message, position) {
            return format!("{label}-{path}");
        }
    }
}

impl Change {
    /// Changes the value at a position. `None` if the change does not apply there.
    fn apply(self, message: &mut Node, position: &[usize]) -> Option<&'static str> {
        let (last, above) = position.split_last()?;
        let value = message.at_mut(position);
        match self {
            Self::Replace(label, text) => {
                *value = Node::raw(text);
                return Some(label);
            }
            Self::Quote => {
                *value = Node::Raw(quoted(&value.text()));
                return Some("quote");
            }
            Self::WrapInArray => {
                *value = Node::Array(vec![value.clone()]);
                return Some("wrap");
            }
            Self::LongString => {
                *value = Node::Raw(quoted(&"long ".repeat(LONG / 5)));
                return Some("long");
            }
            Self::HighSurrogate => {
                return edit_string(value, |t| format!("{t}\\ud83d")).then_some("high-surrogate");
            }
            Self::LowSurrogate => {
                return edit_string(value, |t| format!("\\udc00{t}")).then_some("low-surrogate");
            }
            Self::SwappedSurrogates => {
                return edit_string(value, |t| format!("{t}\\ude00\\ud83d{t}"))
                    .then_some("swapped-surrogates");
            }
            Self::Reverse => return reverse(value).then_some("reverse"),
            Self::ExtraMember => {
                return add_member(value, Member::new("unknown", Node::raw(r#"{"a":[1]}"#)))
                    .then_some("extra");
            }
            Self::ExtraNullMember => {
                return add_member(value, Member::new("unknown", Node::raw("null")))
                    .then_some("extra-null");
            }
            Self::ExtraSurrogateName => {
                let name = r#""odd\udc00""#.to_owned();
                return add_member(
                    value,
                    Member {
                        name,
                        value: Node::raw("1"),
                    },
                )
                .then_some("extra-surrogate");
            }
            Self::ExtraNull => return add_element(value, Node::raw("null")).then_some("add-null"),
            Self::ExtraNumber => return add_element(value, Node::raw("5")).then_some("add-number"),
            Self::ExtraEmptyObject => {
                return add_element(value, Node::raw("{}")).then_some("add-empty");
            }
            _ => {}
        }
        match message.at_mut(above) {
            Node::Object(members) => self.apply_to_member(members, *last),
            Node::Array(elements) => self.apply_to_element(elements, *last),
            Node::Raw(_) => None,
        }
    }

    fn apply_to_member(self, members: &mut Vec<Member>, index: usize) -> Option<&'static str> {
        let member = &mut members[index];
        let null = Member {
            name: member.name.clone(),
            value: Node::raw("null"),
        };
        match self {
            Self::Drop => {
                members.remove(index);
                Some("drop")
            }
            Self::RepeatSame => {
                members.push(members[index].clone());
                Some("repeat")
            }
            Self::RepeatNullFirst => {
                members.insert(0, null);
                Some("null-before")
            }
            Self::RepeatNullLast => {
                members.push(null);
                Some("null-after")
            }
            Self::UpperCaseName => {
                member.name = member.name.to_uppercase();
                Some("upper")
            }
            Self::CapitalizedName => {
                member.name = format!(
                    "\"{}{}",
                    member.name[1..2].to_uppercase(),
                    &member.name[2..]
                );
                Some("capital")
            }
            Self::SnakeCaseName => snake_case(&member.name).map(|name| {
                member.name = name;
                "snake"
            }),
            Self::EmptyName => {
                "\"\"".clone_into(&mut member.name);
                Some("unnamed")
            }
            Self::UnknownType => (member.name == "\"type\"").then(|| {
                member.value = Node::raw(r#""hologram""#);
                "unknown-type"
            }),
            _ => None,
        }
    }

    fn apply_to_element(self, elements: &mut Vec<Node>, index: usize) -> Option<&'static str> {
        match self {
            Self::Drop => {
                elements.remove(index);
                Some("drop")
            }
            Self::RepeatElement => {
                elements.push(elements[index].clone());
                Some("repeat")
            }
            _ => None,
        }
    }
}

fn edit_string(value: &mut Node, edit: impl FnOnce(&str) -> String) -> bool {
    if let Node::Raw(text) = value
        && let Some(inner) = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'))
    {
        *text = format!("\"{}\"", edit(inner));
        return true;
    }
    false
}

fn reverse(value: &mut Node) -> bool {
    match value {
        Node::Object(members) if members.len() > 1 => members.reverse(),
        Node::Array(elements) if elements.len() > 1 => elements.reverse(),
        _ => return false,
    }
    true
}

fn add_member(value: &mut Node, member: Member) -> bool {
    if let Node::Object(members) = value {
        members.push(member);
        return true;
    }
    false
}

fn add_element(value: &mut Node, element: Node) -> bool {
    if let Node::Array(elements) = value {
        elements.push(element);
        return true;
    }
    false
}

/// `"inputSchema"` as `"input_schema"`. `None` if the name is the same in both.
fn snake_case(name: &str) -> Option<String> {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    (snake != name).then_some(snake)
}

/// A string that contains this text.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The message over several lines: a line break after each comma and bracket outside of strings.
fn pretty(text: &str) -> String {
    let mut lines = String::new();
    let mut is_string = false;
    let mut is_escaped = false;
    for letter in text.chars() {
        if letter == '"' && !is_escaped {
            is_string = !is_string;
        }
        is_escaped = letter == '\\' && !is_escaped;
        lines.push(letter);
        if !is_string && matches!(letter, ',' | '{' | '[') {
            lines.push_str("\n  ");
        }
    }
    lines
}

fn weighted<T: Copy>(dice: &mut Dice, from: &[(T, usize)]) -> T {
    let total = from.iter().map(|(_, weight)| weight).sum();
    let mut drawn = dice.below(total);
    for (value, weight) in from {
        if drawn < *weight {
            return *value;
        }
        drawn -= weight;
    }
    from[0].0
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::mutations;

    #[test]
    fn seed_and_number_determine_a_mutation() {
        let texts = |seed, numbers| -> Vec<String> {
            let subjects = mutations(seed, numbers);
            subjects
                .iter()
                .map(|subject| format!("{subject:?}"))
                .collect()
        };
        let all = texts(5, 0..300);
        let part = texts(5, 100..200);
        assert_eq!(all[100..200], part);
        let other = texts(6, 0..300);
        assert!(all.iter().zip(&other).all(|(one, other)| one != other));
    }

    #[test]
    fn names_of_mutations_are_unique_parts_of_urls() {
        let names: HashSet<_> = mutations(5, 0..2000)
            .iter()
            .map(super::Subject::name)
            .collect();
        assert_eq!(names.len(), 2000);
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.@".contains(letter);
        assert!(
            names
                .iter()
                .all(|name| name.len() < 250 && name.chars().all(is_plain))
        );
    }
}
