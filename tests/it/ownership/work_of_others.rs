//! The information that crosses from the work of one caller into the output for another.
//!
//! Invariant: an agent whose policy denies every tool gets the same bytes with and without the work of others, and any
//! other agent the same except for the strings in [`CROSSINGS`]. Types learned from results reach other agents as
//! kinds, and as names only within a fence.

use mux_tests::{Agent, TestEnv};
use regex::Regex;
use serde_json::{Value, json};

use super::{agent, table::CROSSINGS};

const CONFIG: &str = r#"
[agents.small]
policy = [{ match = "*", action = "deny" }]
[agents.careful]
policy = [{ match = "*", arguments = { text = "no" }, action = "deny" }]
"#;

fn home() -> TestEnv {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &["--offers"]);
    env.write_config(&format!("{fix}{CONFIG}"));
    env
}

/// Has the tool `echo` return this value for a call of this agent.
fn returned(agent: &mut Agent, value: &Value, call: usize) {
    // White space makes other arguments and the same value.
    let text = json!(format!("{}{value}", " ".repeat(call)));
    let code = format!("return await mux.fix.echo({{ text: {text} }})");
    let ran = agent.call("run", json!({ "code": code }));
    assert_eq!(ran["isError"], false, "{ran}");
}

/// The declaration of `echo` for the user, once it contains `part`: types are learned concurrently with the call.
#[track_caller]
fn until_learned(env: &TestEnv, part: &str) {
    for _ in 0..200 {
        if env.mux(["types", "fix.echo"]).ok().stdout.contains(part) {
            return;
        }
    }
    panic!("{part} is not learned");
}

/// All that an agent gets without asking, and by asking for everything that it may ask for.
fn texts_of(env: &TestEnv, name: &str) -> Vec<(String, String)> {
    let mut agent = Agent::start(env.command("mux").args(["mcp", "--agent", name]));
    let mut texts = Vec::new();
    let mut add = |what: &str, answer: &Value| texts.push((what.to_owned(), normal(answer)));
    add("initialize", &agent.initialize(json!({})));
    let calls = [
        ("search", json!({ "query": "" })),
        ("search", json!({ "query": "text", "limit": 3 })),
        ("search", json!({ "query": "nothing at all" })),
        ("describe", json!({ "paths": ["fix"] })),
        ("describe", json!({ "paths": ["fix.echo", "fix.none"] })),
        (
            "call",
            json!({ "path": "fix.echo", "args": { "text": "{}" } }),
        ),
        ("call", json!({ "path": "fix.none", "args": {} })),
        ("read", json!({ "handle": format!("h_{}", "0".repeat(32)) })),
        ("resume", json!({ "run": "1", "wait_seconds": 0 })),
        ("resume", json!({ "run": "A1", "wait_seconds": 0 })),
        (
            "run_program",
            json!({ "steps": [{ "id": "a", "tool": "fix.echo", "args": { "text": "{}" } }] }),
        ),
    ];
    for (tool, arguments) in calls {
        let what = format!("{tool} {arguments}");
        add(&what, &agent.call(tool, arguments));
    }
    for code in [
        "return await mux.search('')",
        "return await mux.describe('fix.echo')",
        "return await mux.discover({ query: 'text', includeSchemas: true })",
        "return await mux.catalog.tools({})",
        "return await mux.catalog.namespaces({})",
        "return Object.keys(mux)",
        "return (await mux.fix.echo({ text: '{}' })).id",
        "const { id } = await mux.fix.echo({ text: 1 }); return id",
    ] {
        add(code, &agent.call("run", json!({ "code": code })));
    }
    for (method, params) in [
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "mux://guide" })),
        ("resources/read", json!({ "uri": "fix://text/a" })),
        ("resources/read", json!({ "uri": "none://" })),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "mux_guide" })),
        ("prompts/get", json!({ "name": "none" })),
        (
            "completion/complete",
            json!({
                "ref": { "type": "ref/prompt", "name": "mux_guide" },
                "argument": { "name": "a", "value": "" },
            }),
        ),
    ] {
        let what = format!("{method} {params}");
        let id = agent.begin(method, params);
        add(&what, &agent.answer(id));
    }
    texts
}

/// The answer without what differs between any two answers: request ids, numbers of fences, ids of runs, times.
fn normal(answer: &Value) -> String {
    let mut answer = answer.clone();
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("id");
    }
    let numbers = [
        (r"untrusted data of ([^>]*) \d+>", "untrusted data of $1 N>"),
        (r"</untrusted \d+>", "</untrusted N>"),
        (r"\b[0-9a-f]{8,}-\d+\b", "RUN"),
        (r"\b[0-9.]+ m?s\b", "TIME"),
    ];
    numbers
        .iter()
        .fold(answer.to_string(), |text, (pattern, shown)| {
            Regex::new(pattern)
                .unwrap()
                .replace_all(&text, *shown)
                .into_owned()
        })
}

#[test]
fn work_of_others_changes_only_what_the_table_has_and_nothing_for_an_agent_that_may_call_nothing() {
    let env = home();
    // Connects the server, regardless of what the agents may call.
    env.mux(["tools", "--server", "fix"]).ok();
    let agents = ["small", "careful"];
    // The first time, the agent's own answers are stored and its program is new.
    for name in agents {
        texts_of(&env, name);
    }
    let before = agents.map(|name| texts_of(&env, name));
    let mut big = agent(&env, "big");
    for call in 0..4 {
        returned(&mut big, &json!({ "payroll": { "salary": 1 } }), call);
    }
    let call = |path: &str, args: Value| json!({ "path": path, "args": args });
    for _ in 0..3 {
        big.call("call", call("fix.counter", json!({ "key": "payroll" })));
        big.call("call", call("fix.fail", json!({ "message": "payroll" })));
        big.call("search", json!({ "query": "payroll" }));
        big.call(
            "run",
            json!({ "code": "return 'payroll '.repeat(100_000)" }),
        );
        big.ask("prompts/get", json!({ "name": "mux_guide" }));
        let read = big.begin("resources/read", json!({ "uri": "fix://text/payroll" }));
        big.answer(read);
    }
    env.mux(["call", "fix.echo", "text={\"payroll\":{\"salary\":1}}"])
        .ok();
    until_learned(&env, "salary");
    let after = agents.map(|name| texts_of(&env, name));
    for ((name, before), after) in agents.iter().zip(&before).zip(&after) {
        assert_eq!(before.len(), after.len());
        for ((what, before), (_, after)) in before.iter().zip(after) {
            let mut rows = CROSSINGS.iter();
            let may_differ = *name != "small" && rows.any(|(row, _)| what.starts_with(row));
            assert!(
                before == after || may_differ,
                "{name}, {what} differs:\n{before}\n{after}"
            );
        }
    }
}

#[test]
fn learned_names_reach_another_agent_once_confirmed_and_within_a_fence() {
    let env = home();
    let value = json!({ "id": 1, "employee_name": "x" });
    let names = |texts: &[(String, String)]| -> Vec<String> {
        let named = texts
            .iter()
            .filter(|(_, text)| text.contains("employee_name"));
        named.map(|(what, _)| what.clone()).collect()
    };
    let mut big = agent(&env, "big");
    returned(&mut big, &value, 0);
    until_learned(&env, "employee_name");
    // The agent whose result it was.
    let own = names(&texts_of(&env, "big"));
    let describes = |what: &String| what.starts_with("describe");
    assert!(own.iter().any(describes), "{own:?}");
    assert_eq!(names(&texts_of(&env, "careful")), Vec::<String>::new());
    for call in 1..3 {
        returned(&mut big, &value, call);
    }
    // The third result confirms the name. It is learned concurrently with the call.
    let mut careful = agent(&env, "careful");
    let mut described = || careful.call("describe", json!({ "paths": ["fix.echo"] }));
    let is_confirmed = |answer: Value| answer.to_string().contains("employee_name");
    assert!((0..200).any(|_| is_confirmed(described())));
    let texts = texts_of(&env, "careful");
    let shown = names(&texts);
    assert!(shown.iter().any(describes), "{shown:?}");
    for (what, text) in &texts {
        let Some(place) = text.find("employee_name") else {
            continue;
        };
        // The checker's message about the agent's own program names the type that it was checked against.
        if what.starts_with("const { id }") || what.starts_with("return (await") {
            continue;
        }
        assert!(describes(what), "{what}: {text}");
        let open = text[..place].rfind("<untrusted data of fix N>");
        let close = text[..place].rfind("</untrusted N>");
        assert!(open.is_some() && close < open, "{what}: {text}");
    }
    let listed = texts
        .iter()
        .find(|(what, _)| what.starts_with("tools/list"));
    let (_, listed) = listed.unwrap();
    assert!(
        listed.contains("echo(args: { text: string }): Promise</* observed */ { … }>"),
        "{listed}"
    );
}

#[test]
fn last_output_of_a_server_is_for_the_user() {
    let env = home();
    let mut big = agent(&env, "big");
    big.call(
        "call",
        json!({ "path": "fix.stderr", "args": { "lines": 3 } }),
    );
    let mut careful = agent(&env, "careful");
    let died = careful.call("call", json!({ "path": "fix.die_before", "args": {} }));
    let text = died["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("unknown_outcome"), "{text}");
    assert!(!text.contains("last output:"), "{text}");
    assert!(text.contains("`mux servers logs fix`"), "{text}");
    big.call(
        "call",
        json!({ "path": "fix.stderr", "args": { "lines": 3 } }),
    );
    let mine = env.mux(["call", "fix.die_before"]);
    assert!(mine.stderr.contains("its last output:"), "{mine:?}");
}
