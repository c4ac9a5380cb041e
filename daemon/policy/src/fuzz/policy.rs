//! Conditions, globs, regular expressions and argument paths of rules.
//!
//! Above all: a call is never allowed because its argument is written in another way.

use std::fmt::Write as _;

use mux_chance::{
    broken,
    damage::{damage_of, damaged},
    holds, json,
};
use mux_config::Config;
use mux_text::glob::{Glob, glob, may_match_below};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};
use serde_json::{Value, json};

use crate::{
    GivenArguments, PolicyDecision, PolicyQuestion, PolicySet, RuleAction,
    argument_path::{ArgumentPath, PathTarget},
    tests::{HOME, call, policies},
};

/// The tool that every question is about.
const TOOL: &str = "files.read";
/// The paths at which the arguments of [`arguments`] contain the string.
const PLACES: &[&str] = &[
    "path",
    "files[*].name",
    "files[0].name",
    "deep[\"odd.key\"]",
];
const PATHS: &[&str] = &[
    "/srv/data/secret",
    "/srv/data/a b/x.txt",
    "/etc/passwd",
    "/home/me/.ssh/id",
    "/srv/d\u{e9}p\u{f4}t/x",
    "/a",
];
const NUMBERS: &[&str] = &[
    "100",
    "7",
    "0",
    "-12",
    "9007199254740993",
    "9223372036854775807",
    "100.5",
    "0.25",
];

fn arguments(text: &str) -> Value {
    json!({ "path": text, "files": [{ "name": text }], "deep": { "odd.key": text } })
}

fn toml_string(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A test of an argument as TOML, about one of these strings.
fn test(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    let cut = (select(texts), any::<Index>()).prop_map(|(text, cut)| {
        let cut = text.floor_char_boundary(cut.index(text.len() + 1));
        (text, cut)
    });
    let simple = prop_oneof![
        3 => select(texts).prop_map(toml_string),
        3 => cut.clone().prop_map(|(text, cut)| toml_string(&format!("{}*", &text[..cut]))),
        2 => cut.clone().prop_map(|(text, cut)| toml_string(&format!("*{}", &text[cut..]))),
        2 => cut.clone().prop_map(|(text, cut)| {
            let regex = format!("^{}", regex::escape(&text[..cut]));
            format!("{{ regex = {} }}", toml_string(&regex))
        }),
        2 => cut.prop_map(|(text, cut)| {
            let regex = format!("{}$", regex::escape(&text[cut..]));
            format!("{{ regex = {} }}", toml_string(&regex))
        }),
        1 => (select(texts)).prop_map(|text| match text.strip_prefix('/') {
            Some(_) => {
                let end = text.rfind('/').filter(|end| *end > 0).unwrap_or(text.len());
                format!("{{ below = {} }}", toml_string(&text[..end]))
            }
            None => format!("{{ over = {:?} }}", text.parse::<f64>().map_or(1.0, |n| n - 1.0)),
        }),
        1 => any::<bool>().prop_map(|is| format!("{{ present = {is} }}")),
    ];
    // A negated string test is about the string: `not = { regex = "00$" }` means 7 and not 7.00.
    let is_number = texts == NUMBERS;
    let negated = move |test: String| {
        if is_number && !test.starts_with("{ over") {
            test
        } else {
            format!("{{ not = {test} }}")
        }
    };
    simple.prop_recursive(2, 6, 3, move |inner| {
        prop_oneof![
            2 => inner.clone().prop_map(negated),
            1 => vec(inner.clone(), 1..3).prop_map(|tests| format!("[{}]", tests.join(", "))),
            1 => (inner.clone(), inner.prop_map(negated))
                .prop_map(|(one, other)| format!("{{ is = [{one}, {other}], present = true }}")),
        ]
    })
}

/// Rules about one of these strings.
fn rules(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    // An allowing glob or regular expression is also about the string: `*0` allows 7e0, which may be read as 7.
    let allowing = if texts == NUMBERS {
        let by_value = |text| format!("[{}, {{ over = {text} }}]", toml_string(text));
        select(texts).prop_map(by_value).boxed()
    } else {
        test(texts).boxed()
    };
    let action_and_test = prop_oneof![
        1 => (Just("allow"), allowing),
        2 => (select(&["ask", "deny"][..]), test(texts)),
    ];
    let rule = (action_and_test, select(PLACES));
    let rule = rule.prop_map(|((action, test), place)| {
        let place = toml_string(place);
        format!(
            "[[policy]]\nmatch = \"files.*\"\naction = \"{action}\"\narguments = {{ {place} = {test} }}\n"
        )
    });
    let most = if texts == NUMBERS { 2 } else { 4 };
    vec(rule, 1..most).prop_map(|rules| rules.concat())
}

fn question(arguments: &Value) -> PolicyQuestion<'_> {
    PolicyQuestion {
        given: GivenArguments::Values(arguments),
        ..call(TOOL)
    }
}

fn action(policies: &PolicySet, arguments: &Value) -> RuleAction {
    match policies.decide(&question(arguments), &[]) {
        PolicyDecision::Made(verdict) => verdict.action,
        other => panic!("{other:?}"),
    }
}

/// Another way to write the path of a file, which leads to the same file on some server.
#[derive(Clone, Debug)]
enum PathSpelling {
    /// A slash becomes this.
    Slash(Index, &'static str),
    /// A character is percent-encoded, and its percent sign, this many times.
    Percent(Index, u8, bool),
    Before(&'static str),
    After(&'static str),
}

fn path_spellings() -> impl Strategy<Value = Vec<PathSpelling>> {
    let slash = (
        any::<Index>(),
        select(&["//", "/./", "/x/../", "/x/y/../../", "///"][..]),
    );
    let percent = (any::<Index>(), 1..4_u8, any::<bool>());
    let slashes = vec(slash, 0..3).prop_map(|all| {
        let each = all.into_iter();
        each.map(|(at, text)| PathSpelling::Slash(at, text))
            .collect::<Vec<_>>()
    });
    let percents = vec(percent, 0..4).prop_map(|all| {
        let each = all.into_iter();
        each.map(|(at, times, upper)| PathSpelling::Percent(at, times, upper))
            .collect::<Vec<_>>()
    });
    let ends = prop_oneof![
        4 => Just(vec![]),
        1 => select(&["file://", "FILE:", "file://localhost", "file://a.example", " ", "\t", "/..", "../../.."][..])
            .prop_map(|text| vec![PathSpelling::Before(text)]),
        1 => select(&["/", " ", "\n", "/.", "/x/.."][..]).prop_map(|text| vec![PathSpelling::After(text)]),
    ];
    (slashes, percents, ends).prop_map(|(slashes, percents, ends)| {
        slashes.into_iter().chain(percents).chain(ends).collect()
    })
}

impl PathSpelling {
    fn apply(&self, path: &mut String) {
        match self {
            Self::Slash(place, text) => {
                let slashes: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
                if !slashes.is_empty() {
                    let at = slashes[place.index(slashes.len())];
                    path.replace_range(at..=at, text);
                }
            }
            Self::Percent(place, times, upper) => {
                let letters = unencoded(path);
                if letters.is_empty() {
                    return;
                }
                let (at, letter) = letters[place.index(letters.len())];
                let mut written = String::new();
                for byte in letter.to_string().bytes() {
                    let code = if *upper {
                        format!("{byte:02X}")
                    } else {
                        format!("{byte:02x}")
                    };
                    written.push('%');
                    written.push_str(&"25".repeat(usize::from(*times) - 1));
                    written.push_str(&code);
                }
                path.replace_range(at..at + letter.len_utf8(), &written);
            }
            Self::Before(text) => path.insert_str(0, text),
            Self::After(text) => path.push_str(text),
        }
    }
}

/// The characters outside of escapes. Each escape is `%`, then `25` for each further encoding, then two digits.
fn unencoded(path: &str) -> Vec<(usize, char)> {
    let mut letters = Vec::new();
    let mut at = 0;
    while let Some(letter) = path[at..].chars().next() {
        if letter == '%' {
            at += 1;
            while path[at..].starts_with("25") {
                at += 2;
            }
            at += 2;
            continue;
        }
        letters.push((at, letter));
        at += letter.len_utf8();
    }
    letters
}

#[test]
fn fuzz_no_spelling_of_a_path_gets_a_laxer_decision() {
    let values = (rules(PATHS), select(PATHS), path_spellings());
    holds("policy_paths", 1000, values, |(rules, path, spellings)| {
        let (policies, problems) = policies(&rules);
        prop_assert!(problems.is_empty(), "{problems:?}");
        let mut other = path.to_owned();
        for spelling in spellings {
            spelling.apply(&mut other);
        }
        let plain = action(&policies, &arguments(path));
        let spelled = action(&policies, &arguments(&other));
        prop_assert!(
            spelled >= plain,
            "{other:?} gets {spelled:?}, and {path:?} gets {plain:?}\n{rules}"
        );
        Ok(())
    });
}

/// A number as a string, written in another way that some server reads as the same number.
fn number_spelling(number: &str, which: u8, zeros: usize) -> String {
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", number),
    };
    let zeros = "0".repeat(zeros);
    let is_whole = !digits.contains('.');
    match which {
        0 => format!("{sign}{zeros}{digits}"),
        1 if sign.is_empty() => format!("+{digits}"),
        2 if is_whole => format!("{sign}{digits}.{zeros}"),
        3 if !is_whole => format!("{sign}{digits}{zeros}"),
        4 => format!(" {number}\n"),
        5 if is_whole && digits.len() > 1 => format!("{sign}{}_{}", &digits[..1], &digits[1..]),
        6 if is_whole => format!("{sign}{digits}e0"),
        7 if is_whole && digits.len() < 19 => {
            format!("{sign}0x{:x}", digits.parse::<u64>().unwrap())
        }
        8 if is_whole && digits.len() > 3 => {
            let (head, tail) = digits.split_at(digits.len() - 3);
            format!("{sign}{head},{tail}")
        }
        9 if !is_whole => {
            let (head, tail) = digits.split_once('.').unwrap();
            format!("{sign}{head}{tail}E-{}", tail.len())
        }
        _ => number.to_owned(),
    }
}

#[test]
fn fuzz_no_spelling_of_a_number_gets_a_laxer_decision() {
    let values = (rules(NUMBERS), select(NUMBERS), 0..10_u8, 1..4_usize);
    holds(
        "policy_numbers",
        1000,
        values,
        |(rules, number, which, zeros)| {
            let (policies, problems) = policies(&rules);
            prop_assert!(problems.is_empty(), "{problems:?}");
            let other = number_spelling(number, which, zeros);
            let plain = action(&policies, &arguments(number));
            let spelled = action(&policies, &arguments(&other));
            prop_assert!(
                spelled >= plain,
                "{other:?} gets {spelled:?}, and {number:?} gets {plain:?}\n{rules}"
            );
            Ok(())
        },
    );
}

const TOKENS: &[&str] = &[
    "not = ",
    "regex = ",
    "below = ",
    "present = ",
    "over = ",
    "\"*\"",
    "\"(\"",
    "[*]",
    "[",
    "]",
    "{",
    "}",
    "=",
    "\n",
    "match = ",
    "server = ",
    "[[policy]]\n",
    "1e999",
    "nan",
    "\"(a*)*b\"",
    "allow",
    "deny",
];

#[test]
fn fuzz_damaged_rules_decide_every_call_as_they_explain_it() {
    let values = (
        prop_oneof![rules(PATHS), rules(NUMBERS)],
        vec(damage_of(TOKENS), 0..3),
        prop_oneof![
            json::value(),
            select(PATHS).prop_map(arguments),
            // Long strings with many readings.
            (
                select(&["/..", "%25", "/x%2f", "a", "\u{e9}", "0"][..]),
                0..20_000_usize
            )
                .prop_map(|(piece, times)| arguments(&piece.repeat(times))),
        ],
    );
    holds(
        "policy_rules",
        400,
        values,
        |(rules, damages, arguments)| {
            let text = String::from_utf8_lossy(&damaged(rules, &damages)).into_owned();
            let Ok(config) = Config::parse(&text, "c") else {
                return Ok(());
            };
            let mut problems = Vec::new();
            let policies =
                PolicySet::resolve(&config.policy, &config.agents, HOME.as_ref(), &mut problems);
            let question = question(&arguments);
            let effective = policies.of(None, &[]);
            let PolicyDecision::Made(verdict) = effective.decide(&question) else {
                return Err(broken("it took too long"));
            };
            let explained = effective.explain(&question).verdict;
            let number = |rule: Option<&std::sync::Arc<crate::Rule>>| rule.map(|rule| rule.number);
            prop_assert_eq!(
                (explained.action, number(explained.rule.as_ref())),
                (verdict.action, number(verdict.rule.as_ref()))
            );
            if let Some(rule) = &verdict.rule
                && rule.mistake().is_some()
            {
                prop_assert_eq!(verdict.action, RuleAction::Deny, "a rule with a mistake");
            }
            let with_mistakes = effective.rules().filter(|rule| rule.mistake().is_some());
            prop_assert_eq!(with_mistakes.count(), problems.len());
            Ok(())
        },
    );
}

/// Returns true if the glob matches, by the definition.
fn matches(pattern: &[char], text: &[char]) -> bool {
    let mut reached: Vec<bool> = (0..=text.len()).map(|at| at == 0).collect();
    for letter in pattern {
        let mut next = vec![false; text.len() + 1];
        let mut is_reached = false;
        for at in 0..=text.len() {
            is_reached |= reached[at];
            next[at] = match letter {
                '*' => is_reached,
                '?' => at > 0 && reached[at - 1],
                letter => at > 0 && reached[at - 1] && text[at - 1] == *letter,
            };
        }
        reached = next;
    }
    reached[text.len()]
}

#[test]
fn fuzz_globs_match_by_their_definition() {
    let letters = select(&["a", "b", ".", "*", "?", "\u{e9}", "a*", "*a", "**", "ab"][..]);
    let pattern = vec(letters, 0..14).prop_map(|letters| letters.concat());
    let letters = select(&["a", "b", ".", "\u{e9}", "ab", "*", "?"][..]);
    let text = vec(letters, 0..14).prop_map(|letters| letters.concat());
    let times = prop_oneof![9 => Just(1_usize), 1 => 1..2000_usize];
    let values = (pattern, text, times, any::<Index>());
    holds(
        "policy_globs",
        2000,
        values,
        |(pattern, text, times, cut)| {
            let text = text.repeat(times);
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            let expected = matches(&chars(&pattern), &chars(&text));
            prop_assert_eq!(
                Glob::new(&pattern).matches(&text),
                expected,
                "{:?} {:?}",
                pattern,
                text
            );
            prop_assert_eq!(glob(&pattern, &text), expected, "{:?} {:?}", pattern, text);
            let head = &text[..text.floor_char_boundary(cut.index(text.len() + 1))];
            prop_assert!(
                !expected || may_match_below(&pattern, head),
                "{pattern:?} {text:?} {head:?}"
            );
            Ok(())
        },
    );
}

/// The path to a value in `value`, as a rule writes it, and the value.
fn path_to(value: &Value, steps: &[(Index, bool)]) -> (String, Value) {
    let mut path = String::new();
    let mut here = value;
    for (index, quoted) in steps {
        match here {
            Value::Object(members) if !members.is_empty() => {
                let (name, member) = members.iter().nth(index.index(members.len())).unwrap();
                let is_plain = !name.is_empty() && !name.contains(['.', '[', ']']);
                if is_plain && !quoted {
                    path.push_str(if path.is_empty() { "" } else { "." });
                    path.push_str(name);
                } else {
                    _ = write!(path, "[{}]", Value::from(name.as_str()));
                }
                here = member;
            }
            Value::Array(items) if !items.is_empty() => {
                let at = index.index(items.len());
                _ = write!(path, "[{at}]");
                here = &items[at];
            }
            _ => break,
        }
    }
    (path, here.clone())
}

#[test]
fn fuzz_argument_path_leads_to_its_value() {
    let steps = vec((any::<Index>(), any::<bool>()), 1..5);
    let any_path = prop_oneof![
        any::<String>(),
        vec(
            select(&["a", ".", "[", "]", "[*]", "[0]", "[\"a\"]", "\"", "\\", "*"][..]),
            0..8
        )
        .prop_map(|pieces| pieces.concat()),
    ];
    holds(
        "policy_argument_paths",
        1000,
        (json::value(), steps, any_path),
        |(value, steps, any_path)| {
            let (path, expected) = path_to(&value, &steps);
            if !path.is_empty() {
                let parsed = ArgumentPath::parse(&path).map_err(broken)?;
                let found = parsed.found(&value);
                let expected = match &expected {
                    Value::Null => PathTarget::Nothing,
                    value => PathTarget::Value(value),
                };
                prop_assert_eq!(found, vec![expected], "{}", path);
            }
            if let Ok(parsed) = ArgumentPath::parse(&any_path) {
                let found = parsed.found(&value).len();
                let most = value.to_string().len();
                prop_assert!((1..=most).contains(&found), "{found} values at {any_path}");
            }
            Ok(())
        },
    );
}
