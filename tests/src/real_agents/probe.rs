//! Tries a profile with its agent: a session with servers whose texts have marks of their length.

use std::{fs, time::Duration};

use serde_json::{Value, json};

use super::{
    agent::{McpServer, RealAgent, Session},
    marks::Passed,
    model_api::{REPEAT, Step},
    model_request::strings,
    profiles::{Profile, Shows},
};
use crate::{TestEnv, env::binary};

const LONG_RESULT_CHARS: usize = 400_000;
/// A result that is so many times too long is not passed on whole.
const TOO_LONG: usize = 2;
/// The characters that a cut through a mark hides.
const MARK_CHARS: usize = 9;
/// The letters of the marks of two servers: one with long texts, one with texts as long as the profile allows.
const LONG: &str = "DPI";
const EXACT: &str = "dpi";
/// Longer waits for a list are not tried.
const MAX_LIST_SECONDS: u64 = 12;

/// The text that the agent passed on, and its statements about itself.
#[derive(Debug)]
pub struct Probe {
    /// `clientInfo`
    pub client: Value,
    pub capabilities: Value,
    pub description: Passed,
    pub parameter: Passed,
    pub instructions: Passed,
    /// Of a tool that the model has not loaded yet.
    pub preview: Passed,
    pub shows: Option<Shows>,
    pub shows_errors: Option<Shows>,
    /// Of a result that is too long for the profile.
    pub long_result: Passed,
    pub follows_list_changes: bool,
    exact: [Passed; 3],
    exact_result: Passed,
    /// The length of the result that should be whole.
    result_chars: usize,
    /// How many lines of a result were passed on that has as many as the profile allows, and of one with more.
    lines: [usize; 2],
    /// True if the model must search for a tool before it sees its definition.
    pub is_deferred: bool,
    session: Session,
}

/// A length of the profile beside the observed length.
struct Length {
    key: &'static str,
    expected: Option<usize>,
    long: Passed,
    exact: Passed,
}

impl Probe {
    /// The length of a text that is longer than an agent's limit.
    pub const LONG_CHARS: usize = 30_000;

    /// Has a session that tries every key but `list_seconds`.
    pub fn of(agent: &RealAgent, profile: &Profile) -> Self {
        let env = TestEnv::new();
        let log = env.path("probe.log");
        let mut long = probe_server(&env, profile, LONG);
        long.args(["--call-log", log.to_str().unwrap()]);
        let mut exact = probe_server(&env, profile, EXACT);
        for (option, chars) in [
            ("--description-chars", profile.description_chars),
            ("--parameter-chars", profile.parameter_chars),
            ("--instructions-chars", profile.instructions_chars),
        ] {
            exact.args([option, &chars.unwrap_or(Self::LONG_CHARS).to_string()]);
        }
        let fits = profile.result_bytes.unwrap_or(LONG_RESULT_CHARS);
        let probe = |tool: &str, input: Value| Step::call("probe", tool, input);
        let mut script = vec![
            probe("long_tool", json!({ "code": "1" })),
            Step::call("exact", "long_tool", json!({ "code": "1" })),
            probe("both", json!({})),
            probe("fails", json!({})),
            probe("big", json!({ "chars": fits })),
            probe("big", json!({ "chars": fits * TOO_LONG })),
            probe("grow", json!({})),
            // The agent gets the longer list while it waits.
            probe("sleep", json!({ "ms": 50, "why": REPEAT })).until_offered("new-1"),
        ];
        let lines = script.len();
        let counts = profile.result_lines.map(|count| [count, count * TOO_LONG]);
        for count in counts.into_iter().flatten() {
            script.push(probe("lines", json!({ "count": count })));
        }
        let servers = [
            McpServer::new("probe", &long),
            McpServer::new("exact", &exact),
        ];
        let session = agent.session(&servers, script);

        let log = fs::read_to_string(&log).unwrap_or_default();
        let mut log = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let initialize = log.find(|entry| entry["method"] == "initialize");
        let initialize = initialize.unwrap_or_else(|| panic!("no session: {:#?}", session.output));
        let text_with = |text: &str| session.transcript.first_text_with(text);
        let defined = |server: &str| {
            let definition = session.transcript.last_definition(server, "long_tool");
            definition.map(|it| strings(&it)).unwrap_or_default()
        };
        let long = defined("probe");
        let exact = defined("exact");
        let result = |step: usize| {
            let result = session.transcript.result(step);
            result.map(|it| it.text).unwrap_or_default()
        };
        let grown = text_with("new-1");
        let definition = session.transcript.first_definition("probe", "long_tool");
        let description = Passed::of('D', &long);
        let preview = Passed::of('D', &text_with("[D0"));
        Self {
            client: initialize["params"]["clientInfo"].clone(),
            capabilities: initialize["params"]["capabilities"].clone(),
            description,
            parameter: Passed::of('P', &long),
            instructions: Passed::of('I', &text_with("[I0")),
            preview,
            exact: [
                Passed::of('d', &exact),
                Passed::of('p', &exact),
                Passed::of('i', &text_with("[i0")),
            ],
            shows: shown(&result(2), "TEXT-ONE", "STRUCTURED"),
            shows_errors: shown(&result(3), "ERROR-TEXT-ONE", "ERROR-STRUCTURED"),
            result_chars: fits,
            lines: [0, 1].map(|more| passed_lines(&result(lines + more))),
            is_deferred: preview.chars < description.chars
                || definition.is_some_and(|it| it["defer_loading"] == true),
            exact_result: Passed::of('R', &result(4)),
            long_result: Passed::of('R', &result(5)),
            follows_list_changes: !grown.is_empty(),
            session,
        }
    }

    /// Every key of the profile that the program contradicts.
    pub fn contradictions(&self, agent: &RealAgent, profile: &Profile) -> Vec<String> {
        let mut found = Vec::new();
        let mut check = |key: &str, expected: String, seen: String| {
            if expected != seen {
                found.push(contradiction(profile, key, &expected, &seen));
            }
        };
        let text = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
        let name = text(&self.client["name"]);
        if !profile.is_of(&name) {
            check("clients", "a pattern that matches".to_owned(), name);
        }
        let version = profile.version.clone().unwrap_or_default();
        check("version", version, agent.version().unwrap_or_default());
        check(
            "shows",
            shows_text(Some(profile.shows)),
            shows_text(self.shows),
        );
        check(
            "shows_errors",
            shows_text(Some(profile.shows_errors)),
            shows_text(self.shows_errors),
        );
        let list_changed = self.follows_list_changes;
        check(
            "list_changed",
            profile.list_changed.to_string(),
            list_changed.to_string(),
        );
        let mut elicitation = profile.elicitation.clone();
        elicitation.sort();
        check(
            "elicitation",
            elicitation.join(", "),
            self.elicitation().join(", "),
        );
        let sampling = self.capabilities["sampling"].is_object();
        check(
            "sampling",
            profile.sampling.to_string(),
            sampling.to_string(),
        );
        let [description, parameter, instructions] = self.exact;
        for length in [
            Length {
                key: "description_chars",
                expected: profile.description_chars,
                long: self.description,
                exact: description,
            },
            Length {
                key: "parameter_chars",
                expected: profile.parameter_chars,
                long: self.parameter,
                exact: parameter,
            },
            Length {
                key: "instructions_chars",
                expected: profile.instructions_chars,
                long: self.instructions,
                exact: instructions,
            },
        ] {
            found.extend(length.contradiction(profile));
        }
        found.extend(self.result_contradiction(profile));
        let preview = self.preview.chars;
        if let Some(chars) = profile.preview_chars
            && preview.abs_diff(chars) > MARK_CHARS
        {
            let expected = chars.to_string();
            let seen = preview.to_string();
            found.push(contradiction(profile, "preview_chars", &expected, &seen));
        }
        if let Some(count) = profile.result_lines {
            let [exact, long] = self.lines;
            let seen = if exact < count {
                Some(format!("{exact} of {count}"))
            } else {
                (long == count * TOO_LONG).then(|| format!("{long} of {long}"))
            };
            let wrong = |seen| contradiction(profile, "result_lines", &count.to_string(), seen);
            found.extend(seen.as_deref().map(wrong));
        }
        found
    }

    fn result_contradiction(&self, profile: &Profile) -> Option<String> {
        let (sent, is_whole) = self.longest_result();
        let exact = self.exact_result.chars;
        let long = self.long_result.chars;
        let seen = match profile.result_bytes {
            _ if !is_whole => format!("{exact} of {sent}"),
            // A profile may be careful, but not so much that a result of twice the size is whole.
            Some(_) if long == sent * TOO_LONG => format!("{long} of {long}"),
            _ => return None,
        };
        Some(contradiction(
            profile,
            "result_bytes",
            &sent.to_string(),
            &seen,
        ))
    }

    /// The modes of elicitation that the agent declares. Without modes, it is the form.
    pub fn elicitation(&self) -> Vec<String> {
        let Some(declared) = self.capabilities["elicitation"].as_object() else {
            return Vec::new();
        };
        if declared.is_empty() {
            vec!["form".to_owned()]
        } else {
            declared.keys().cloned().collect()
        }
    }

    pub fn can_sample(&self) -> bool {
        self.capabilities["sampling"].is_object()
    }

    /// The longest result that was tried and should be whole, and whether it was.
    pub fn longest_result(&self) -> (usize, bool) {
        (
            self.result_chars,
            self.exact_result.chars == self.result_chars,
        )
    }

    /// The session, for a message of a failure.
    pub fn session(&self) -> &Session {
        &self.session
    }
}

impl Length {
    fn contradiction(&self, profile: &Profile) -> Option<String> {
        let Some(expected) = self.expected else {
            let seen = self.long.chars.to_string();
            let is_whole = self.long.chars == Probe::LONG_CHARS;
            return (!is_whole).then(|| contradiction(profile, self.key, "whole", &seen));
        };
        // A text of the length that the profile allows is whole, and of a longer one there is not much more.
        let seen = match (self.exact.chars, self.long.chars) {
            (exact, _) if exact < expected => format!("{exact} of {expected}"),
            (_, long) if long > expected + MARK_CHARS => long.to_string(),
            _ => return None,
        };
        Some(contradiction(
            profile,
            self.key,
            &expected.to_string(),
            &seen,
        ))
    }
}

/// Tries `list_seconds` with the agent's server list, if it can show one: the tools of a server whose list takes a
/// second less must arrive, and the tools of a server whose list takes longer must not.
pub fn list_contradiction(agent: &RealAgent, profile: &Profile) -> Option<String> {
    let seconds = profile.list_seconds.filter(|it| *it <= MAX_LIST_SECONDS)?;
    let env = TestEnv::new();
    let slow = |name: &str, seconds: u64| {
        let mut server = probe_server(&env, profile, LONG);
        let ms = Duration::from_secs(seconds).as_millis().to_string();
        server.args(["--slow-list", &ms]);
        McpServer::new(name, &server)
    };
    let less = seconds - 1;
    let more = seconds * 2;
    let list = agent.list(&[slow("early", less), slow("late", more)])?;
    let seen = match ["early", "late"].map(|name| list.is_connected(name)) {
        [true, false] => return None,
        [false, _] => format!("less than {less}"),
        [true, true] => format!("more than {more}"),
    };
    Some(contradiction(
        profile,
        "list_seconds",
        &seconds.to_string(),
        &seen,
    ))
}

fn contradiction(profile: &Profile, key: &str, expected: &str, seen: &str) -> String {
    format!(
        "profile {}, key {key}: expected {expected}, seen {seen}",
        profile.name
    )
}

/// The lines of the tool `lines` in a text.
fn passed_lines(text: &str) -> usize {
    let is_one = |line: &&str| {
        line.strip_prefix('L')
            .is_some_and(|rest| rest.len() == 6 && rest.parse::<usize>().is_ok())
    };
    text.lines().filter(is_one).count()
}

fn shown(result: &str, text: &str, structured: &str) -> Option<Shows> {
    match (result.contains(text), result.contains(structured)) {
        (true, false) => Some(Shows::Text),
        (false, true) => Some(Shows::Structured),
        (true, true) => Some(Shows::Both),
        (false, false) => None,
    }
}

fn shows_text(shows: Option<Shows>) -> String {
    shows.map_or("neither".to_owned(), |it| format!("{it:?}").to_lowercase())
}

fn probe_server(env: &TestEnv, profile: &Profile, letters: &str) -> std::process::Command {
    let mut command = std::process::Command::new(binary("mux-fixture-server"));
    command.env("PATH", "/usr/bin:/bin").current_dir(env.home());
    command.args(["--probe", letters]);
    if let Some(meta) = &profile.tool_meta {
        command.args(["--tool-meta", &meta.to_string()]);
    }
    command
}
