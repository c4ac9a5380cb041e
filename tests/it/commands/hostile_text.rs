//! Every command escapes control characters in texts from servers, programs and agents.
//!
//! A fake daemon answers with every recorded message of the protocol, with terminal control sequences in each of its
//! texts. Then it answers every request with an error that contains them.
//!
//! Invariant: a new command is one row here, and new fields are covered automatically.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use mux_proto::{
    service::MuxResponse,
    version::{BUILD, CONTRACT, FEATURES},
};
use mux_tests::{Answers, FakeDaemon, Output, TestEnv};
use serde_json::{Value, json};

/// Sets the title, clears the screen, moves the cursor back, reverses the text direction, and has invisible characters.
const HOSTILE: &str = " \u{1b}]0;t\u{7}\u{1b}[2J\r\u{8}\u{9b}31m\u{202e}\u{2066}\u{200b}\u{ad}";

/// Added to free text: a line that imitates an error of `mux`. The protocol limits names and ids to one line.
const FORGED: &str = "\nerror: FORGED";

/// The fields with free text from servers, programs and agents.
const FREE_TEXT: &[&str] = &[
    "message",
    "hint",
    "reason",
    "description",
    "title",
    "problem",
    "problems",
    "warning",
    "warnings",
    "summary",
    "preview",
    "share_reason",
    "unchecked",
    "arguments",
    "still_denied",
    "comment",
];

/// Characters that must not be in any output.
const OBEYED: &[char] = &[
    '\u{1b}', '\u{7}', '\r', '\u{8}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{200b}', '\u{ad}',
];

/// Every command that prints data of the daemon. Each is also run with `--json`.
const COMMANDS: &[&[&str]] = &[
    &["status"],
    &["servers"],
    &["servers", "restart", "fix"],
    &["servers", "pins", "fix"],
    &["servers", "accept", "fix"],
    &["servers", "logout", "fix"],
    &["sources"],
    &["sources", "refresh", "fix"],
    &["tools"],
    &["tools", "--all"],
    &["tools", "some words"],
    &["tools", "fix.get_thing"],
    &["types"],
    &["types", "fix.get_thing"],
    &["runs"],
    &["runs", "show", "2"],
    &["runs", "cancel", "2"],
    &["runs", "read", "h_1"],
    &["resume", "2"],
    &["approvals"],
    &["approvals", "A7"],
    &["approvals", "--granted"],
    &["approvals", "revoke", "g5f0c93a1"],
    &["approve", "A7"],
    &["deny", "A7", "--reason", "no"],
    &["check", "program.ts"],
    &["call", "fix.get_thing"],
    &["call", "fix.get_thing", "id=1"],
    &["project"],
    &["project", "show"],
    &["project", "approve"],
    &["project", "revoke"],
    &["policy"],
    &["policy", "explain", "fix.get_thing"],
    &["config", "show"],
    &["config", "check"],
    &["secrets"],
    &["secrets", "remove", "name"],
    &["metrics"],
    &["top", "--once"],
    &["doctor"],
    &["reload"],
];

/// Commands whose standard output is raw data if it is not a terminal.
const PRINTS_DATA: &[&str] = &[
    "call",
    "types",
    "metrics",
    "resume",
    "runs read",
    "runs show",
];

#[test]
fn no_command_prints_terminal_control_characters_of_others() {
    let recorded = recorded();
    let most = recorded.values().map(Vec::len).max().unwrap();
    let mut problems = Vec::new();
    for round in 0..most {
        let answers = recorded.iter();
        let answers = answers.map(|(method, messages)| {
            let message = messages[round % messages.len()].clone();
            (method.clone(), json!({ "Ok": message }))
        });
        play(&format!("answer {round}"), answers.collect(), &mut problems);
    }
    let free = format!("{HOSTILE}{FORGED}");
    let refusal = json!({ "Err": {
        "kind": "tool", "message": &free, "hint": &free, "path": HOSTILE, "line": 3, "column": 7,
        "recoverable": false, "details": { "text": &free },
    } });
    let refusals = recorded.keys();
    let refusals = refusals.map(|method| (method.clone(), refusal.clone()));
    play("refusal", refusals.collect(), &mut problems);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn play(what: &str, mut answers: Answers, problems: &mut Vec<String>) {
    let welcome =
        json!({ "contract": CONTRACT, "build": BUILD, "pid": 4711, "features": FEATURES });
    answers.insert("Hello".into(), json!({ "Ok": welcome }));
    let env = TestEnv::new();
    fs::write(env.path("program.ts"), "return 1").unwrap();
    let _daemon = FakeDaemon::start(&env.dirs, answers);
    for command in COMMANDS {
        for json in [false, true] {
            let mut args = command.to_vec();
            args.extend(json.then_some("--json"));
            if let Err(problem) = check(&args, &env.mux(&args)) {
                problems.push(format!("{what}: mux {}: {problem}", args.join(" ")));
            }
        }
    }
}

fn check(args: &[&str], output: &Output) -> Result<(), String> {
    let name = args.join(" ");
    let is_data = PRINTS_DATA.iter().any(|prefix| name.starts_with(prefix));
    let is_json = args.contains(&"--json");
    for (stream, text) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let exact = stream == "stdout" && is_data && !is_json;
        if !exact && let Some(at) = text.find(OBEYED) {
            let from = text.floor_char_boundary(at.saturating_sub(80));
            let to = text.floor_char_boundary(at + 40);
            return Err(format!("{stream} has {:?}", &text[from..to]));
        }
        if !exact && text.lines().any(|line| line.starts_with("error: FORGED")) {
            return Err(format!("{stream} has a line that is not ours: {text}"));
        }
    }
    // The command must print something, and must not panic.
    if output.stdout.is_empty() && output.stderr.is_empty() {
        return Err("nothing was shown".into());
    }
    match output.code {
        101 => Err(format!("it panicked: {}", output.stderr)),
        _ => Ok(()),
    }
}

/// The successful responses of each method, by its name on the wire, with [`HOSTILE`] in every text that may have it.
fn recorded() -> BTreeMap<String, Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/frames");
    let files = fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut recorded = BTreeMap::<String, Vec<Value>>::new();
    for file in files {
        if !file.to_str().unwrap().ends_with(".response.json") {
            continue;
        }
        let mut frame: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let Some((method, answer)) = frame["message"]["Ok"].as_object().unwrap().iter().next()
        else {
            continue;
        };
        let method = method.clone();
        if answer.get("Ok").is_none() {
            continue;
        }
        let mut places = Vec::new();
        texts(&answer["Ok"], &mut String::new(), &mut places);
        let mut count = 0;
        for place in places {
            let at = format!("/message/Ok/{method}/Ok{place}");
            let text = frame.pointer_mut(&at).unwrap();
            let before = text.clone();
            let mut names = place
                .rsplit('/')
                .filter(|name| name.parse::<usize>().is_err());
            let is_free = names.next().is_some_and(|name| FREE_TEXT.contains(&name));
            let forged = if is_free { FORGED } else { "" };
            *text = format!("{}{HOSTILE}{forged}", before.as_str().unwrap()).into();
            // A text of an enum cannot be changed.
            if serde_json::from_value::<MuxResponse>(frame["message"]["Ok"].clone()).is_ok() {
                count += 1;
            } else {
                *frame.pointer_mut(&at).unwrap() = before;
            }
        }
        let mut answer = frame["message"]["Ok"][&method]["Ok"].take();
        if let Some(events) = answer.pointer_mut("/events").and_then(Value::as_array_mut) {
            // A command reads events until the run has ended.
            let outcome = json!({ "result": format!("{HOSTILE}{FORGED}") });
            events.push(
                json!({ "seq": 99, "at_ms": 99, "event": { "ended": { "outcome": outcome } } }),
            );
        }
        // A response without a text is only used if there is no other response.
        let answers = recorded.entry(method).or_default();
        if count > 0 || answers.is_empty() {
            answers.push(answer);
        }
    }
    assert!(recorded.len() > 50, "{:?}", recorded.keys());
    recorded
}

/// Collects JSON pointers to all texts of a value.
fn texts(value: &Value, at: &mut String, places: &mut Vec<String>) {
    let length = at.len();
    match value {
        Value::String(_) => places.push(at.clone()),
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                _ = write!(at, "/{n}");
                texts(item, at, places);
                at.truncate(length);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                _ = write!(at, "/{}", name.replace('~', "~0").replace('/', "~1"));
                texts(member, at, places);
                at.truncate(length);
            }
        }
        _ => {}
    }
}
