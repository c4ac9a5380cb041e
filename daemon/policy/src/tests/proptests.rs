//! However a call is spelled, the decision on it is the same or a stricter one.

use proptest::{collection::vec, prelude::*, sample::select};

use super::*;
use mux_text::sanitize;
use mux_typegen::names::{tool_paths, tool_spellings};

/// Server names with one and with several spellings.
const SERVERS: &[&str] = &["files", "my-files"];
const TOOLS: &[&str] = &[
    "read",
    "get-thing",
    "repos.get-one",
    "2fa",
    "op\u{200b}en",
    "a--b_-c",
];
const AGENTS: &[Option<&str>] = &[None, Some("small")];

/// Paths and tests of argument conditions.
const TESTS: &[(&str, &str)] = &[
    ("n", "100"),
    ("n", "\"100\""),
    ("n", "\"1*\""),
    ("n", "{ over = 99 }"),
    ("n", "{ under = 101 }"),
    ("n", "{ not = { over = 100 } }"),
    ("n", "{ regex = \"^100$\" }"),
    ("n", "[7, \"100\"]"),
    ("path", "{ below = \"/srv/data\" }"),
    ("path", "{ not = { below = \"/srv/data\" } }"),
    ("path", "\"/srv/data/*\""),
    ("path", "\"*/secret\""),
    ("path", "{ regex = \"^/srv/data/\" }"),
    ("path", "{ not = \"/srv/data/*\" }"),
    ("uri", "\"file:///srv/*\""),
    ("uri", "\"https://a.example/*\""),
    ("uri", "{ not = \"https://a.example/*\" }"),
    ("uri", "{ regex = \"^file:///srv/data/secret$\" }"),
    ("list[*]", "{ over = 99 }"),
    ("missing", "{ present = false }"),
];

/// Groups of spellings of one value, the plainest first.
const NUMBERS: &[&[&str]] = &[
    &["100", "100.0", "1e2", "1.0E+2", "0.1e3"],
    &["101", "101.0", "1.01e2"],
    &["7", "7.0", "70e-1"],
    &["-0", "0", "0.0", "-0.0", "0e5"],
    &["9007199254740992", "9007199254740992.0"],
];
const NUMBERS_AS_TEXT: &[&[&str]] = &[
    &[
        "100",
        "+100",
        "0x64",
        "1e2",
        "100.0",
        " 100",
        "1_00",
        "0b1100100",
        "100.",
    ],
    &["101", "0x65", "+101", "101.0", "1.01e2"],
    &["7", "007", "+7", "7.0", "0o7"],
];
const PATHS: &[&[&str]] = &[
    &[
        "/srv/data/secret",
        "/srv//data/secret",
        "/srv/./data/secret",
        "/tmp/../srv/data/secret",
        "/srv/data/x/../secret",
        "/srv/%64ata/secret",
        "/srv/data/%2e/secret",
        "/tmp/%2e%2e/srv/data/secret",
        " /srv/data/secret",
        "../srv/data/secret",
        "~/../srv/data/secret",
        "file:///srv/data/secret",
        "FILE:///srv/tmp/..%2fdata/secret",
        "/SRV/Data/Secret",
        "/srv/data/SECRET",
        "/proc/self/root/srv/data/secret",
        "/proc/17/root//srv/data/secret",
        "/proc/self/cwd/../../../srv/data/secret",
        "/dev/fd/3/srv/data/secret",
        "file:///proc/self/root/srv/data/secret",
        "/.vol/1/2/srv/data/secret",
        "/System/Volumes/Data/srv/data/secret",
    ],
    &[
        "/etc/passwd",
        "/srv/data/../../etc/passwd",
        "/srv/data/%2e%2e/%2e%2e/etc/passwd",
        "/srv/data/%252e%252e/../../etc/passwd",
        "//etc/passwd",
        "../../etc/passwd",
        "file:///etc/passwd",
        "/etc/PASSWD",
        "/proc/self/root/etc/passwd",
    ],
];
const URIS: &[&[&str]] = &[
    &[
        "file:///srv/data/secret",
        "file:/srv/data/secret",
        "FILE:///srv/data/secret",
        "file://localhost/srv/data/secret",
        "file:///srv/./data//secret",
        "file:///etc/../srv/data/secret",
        "file:///etc/%2e%2e/srv/data/secret",
        "file:///srv/d%61ta/secret",
        "/srv/data/secret",
        "file:///SRV/data/secret",
        "file:///proc/self/root/srv/data/secret",
        "/proc/self/root/srv/data/secret",
    ],
    &[
        "file:///etc/passwd",
        "file:///srv/../etc/passwd",
        "file:///srv/%2E%2e/etc/passwd",
        "file:///srv/%252e%252e/etc/passwd",
        "/srv/../etc/passwd",
    ],
    &[
        "https://a.example/x",
        "https://A.Example/x",
        "HTTPS://a.example:443/x",
        "https:a.example/x",
        "https:\\\\a.example\\x",
        "https://a.example/y/../x",
        "https://a.example/%78",
        "https://a.example/X",
    ],
];

/// The plainest spelling of a value and another one.
fn words(groups: &'static [&'static [&'static str]]) -> impl Strategy<Value = [&'static str; 2]> {
    select(groups).prop_flat_map(|group| select(group).prop_map(move |other| [group[0], other]))
}

fn tool() -> impl Strategy<Value = (&'static str, &'static str)> {
    (select(SERVERS), select(TOOLS))
}

/// A rule as TOML. Its glob is one of the spellings of a tool, perhaps cut off.
fn rule() -> impl Strategy<Value = String> {
    let glob = tool().prop_flat_map(|(server, name)| {
        let all = tool_paths(server, name);
        (select(all), 0_usize..4).prop_map(|(path, cut)| match cut {
            0 => "*".to_owned(),
            1 => {
                let head = path.rfind(['.', '-', '_']).unwrap_or(0);
                format!("{}*", &path[..=head])
            }
            _ => path,
        })
    });
    let agent = select(&["", "agent = \"small\"\n", "agent = \"big\"\n"][..]);
    let tests = vec(select(TESTS), 0..3);
    (glob, select(&["allow", "ask", "deny"][..]), agent, tests).prop_map(
        |(glob, action, agent, tests)| {
            let mut seen = BTreeSet::new();
            let tests = tests.into_iter().filter(|(place, _)| seen.insert(*place));
            let tests = tests.map(|(place, test)| format!("\"{place}\" = {test}"));
            let tests: Vec<String> = tests.collect();
            let arguments = if tests.is_empty() {
                String::new()
            } else {
                format!("arguments = {{ {} }}\n", tests.join(", "))
            };
            let glob = toml::Value::String(glob);
            format!("[[policy]]\nmatch = {glob}\naction = {action:?}\n{agent}{arguments}")
        },
    )
}

fn rules() -> impl Strategy<Value = PolicySet> {
    vec(rule(), 1..6).prop_map(|rules| policies(&rules.concat()).0)
}

/// The tool for this spelling.
fn tool_named(written: &str) -> &'static str {
    let is_meant = |name: &&&str| {
        sanitize::clean(name) == written || tool_spellings(name).contains(&written.into())
    };
    TOOLS.iter().find(is_meant).unwrap()
}

/// The action for a call that writes its tool this way.
fn action(
    policies: &PolicySet,
    server: &str,
    written: &str,
    agent: Option<&str>,
    arguments: &str,
) -> RuleAction {
    let name = tool_named(written);
    let path = format!("{server}.{name}");
    let arguments = serde_json::from_str(arguments).unwrap();
    let question = PolicyQuestion {
        spellings: &spellings(server, name, &sanitize::clean(name)),
        agent,
        given: GivenArguments::Values(&arguments),
        ..call(&path)
    };
    match policies.decide(&question, &[]) {
        PolicyDecision::Made(verdict) => verdict.action,
        other => panic!("{other:?}"),
    }
}

fn strictness(action: RuleAction) -> usize {
    action as usize
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Numbers are compared by value, members have no order, and of duplicate members the last counts.
    #[test]
    fn equivalent_json_gets_the_same_decision(
        policies in rules(), (server, name) in tool(), agent in select(AGENTS),
        [n, other_n] in words(NUMBERS), [path, _] in words(PATHS), [uri, _] in words(URIS),
        written in 0_usize..3,
    ) {
        let plain = format!(r#"{{"n":{n},"path":{path:?},"uri":{uri:?},"list":[{n}]}}"#);
        let other = format!(
            r#"{{"path":"/","uri":"x:","list":[ {other_n} ], "uri":{uri:?},"n":5,"path":{path:?},"n":{other_n}}}"#
        );
        let all = tool_paths(server, name);
        let written = &all[written.min(all.len() - 1)][server.len() + 1..];
        let expected = action(&policies, server, name, agent, &plain);
        prop_assert_eq!(action(&policies, server, written, agent, &other), expected);
    }

    /// A spelling that a server may read as the same path, URL or number is never allowed if the plain spelling is
    /// not.
    #[test]
    fn other_spelling_of_a_text_never_gets_a_laxer_decision(
        policies in rules(), (server, name) in tool(), agent in select(AGENTS),
        [n, other_n] in words(NUMBERS_AS_TEXT), [path, other_path] in words(PATHS),
        [uri, other_uri] in words(URIS),
    ) {
        let of = |n: &str, path: &str, uri: &str| {
            let arguments = json!({ "n": n, "path": path, "uri": uri, "list": [n] });
            action(&policies, server, name, agent, &arguments.to_string())
        };
        let plain = of(n, path, uri);
        let other = of(other_n, other_path, other_uri);
        prop_assert!(strictness(other) >= strictness(plain), "{other:?}, and {plain:?} in plain words");
    }

    /// A deny or ask rule matches a tool by any of its spellings.
    #[test]
    fn rule_matches_a_tool_in_any_spelling(
        (server, name) in tool(), asks in any::<bool>(), which in any::<prop::sample::Index>(),
    ) {
        let written = which.get(&tool_paths(server, name)).clone();
        let word = if asks { RuleAction::Ask } else { RuleAction::Deny };
        let glob = toml::Value::String(written);
        let text = format!("[[policy]]\nmatch = {glob}\naction = {:?}\n", word.as_str());
        let (policies, _) = policies(&text);
        prop_assert_eq!(action(&policies, server, name, None, "{}"), word, "{}", glob);
    }
}
