//! Calls of a tool whose definition has changed are refused, whenever it changes.

use mux_tests::Agent;
use serde_json::json;

use super::{Home, POISON, poison};

#[test]
fn changed_tool_is_refused_and_its_new_definition_is_hidden() {
    let home = Home::poisoned("");
    home.echo_is_refused();
    let env = &home.env;
    let mut agent = Agent::legacy(env, &["--passthrough=fix"], json!({}));
    let listed = agent.ask("tools/list", json!({}));
    let refused = agent.call("echo", json!({ "text": "x" }));
    let code = "const found = [await mux.search('echo'), await mux.describe('fix.echo'), await mux.discover({ query: 'echo', includeSchemas: true })];\n\
        return [found, await mux.fix.echo({ text: 'x' }).catch(e => ({ ...e, message: e.message }))];";
    let seen = [
        env.mux(["types"]).ok().stdout,
        env.mux(["types", "fix.echo"]).ok().stdout,
        env.mux(["tools", "--json", "--schemas"]).ok().stdout,
        env.mux(["tools", "echo"]).ok().stdout,
        env.mux(["servers"]).ok().stdout,
        env.mux(["doctor"]).stdout,
        env.result(code).to_string(),
        listed.to_string(),
        refused.to_string(),
        env.mux(["call", "fix.echo", "text=x"]).stderr,
    ];
    for text in &seen {
        assert!(!text.contains(POISON), "{text}");
    }
    for text in &seen[..3] {
        assert!(text.contains("Refused: it has changed since"), "{text}");
        assert!(text.contains("Returns its text."), "{text}");
    }
    assert!(seen[3].contains("changed"), "{}", seen[3]);
    assert!(seen[5].contains("mux servers accept fix"), "{}", seen[5]);
    assert_eq!(refused["isError"], true);
    let warnings = home.warnings();
    assert!(
        warnings[0].contains("1 tool is not what was first trusted, and refused: echo"),
        "{warnings:?}"
    );
    // Other tools can still be called.
    env.mux(["call", "fix.add", "a=1", "b=2"]).ok();
    assert_eq!(
        home.called().iter().filter(|tool| *tool == "echo").count(),
        1
    );
}

#[test]
fn change_is_detected_during_a_run_and_after_server_or_daemon_restart() {
    let home = Home::new("");
    let changes = home.changes.to_str().unwrap();
    // In the middle of a program, by the server itself.
    let code = format!(
        "const before = await mux.fix.echo({{ text: 'hello' }});\n\
         await mux.fix.side_effect({{ file: {changes:?}, line: mux.input }});\n\
         await mux.fix.list_changed({{}});\n\
         const after = await mux.fix.echo({{ text: 'hello' }}).catch(error => error.kind);\n\
         return [before, after];"
    );
    let input = json!(poison().to_string()).to_string();
    let ran = home
        .env
        .mux(["--json", "run", "-e", &code, "--input", &input])
        .ok()
        .json();
    assert_eq!(ran["result"], json!(["hello", "denied"]));

    // The original definition is trusted again, and a restarted server is checked again.
    home.change(&json!({}));
    home.announce();
    home.echo().ok();
    home.change(&poison());
    home.env.mux(["servers", "restart", "fix"]).ok();
    home.echo_is_refused();
    // The next daemon checks it, too, and shows it as refused before it has listed the tools.
    home.env.stop();
    assert_eq!(home.standing("echo"), "refused");
    home.echo_is_refused();
    home.change(&json!({}));
    home.env.stop();
    home.echo().ok();
    assert_eq!(
        home.called().iter().filter(|tool| *tool == "echo").count(),
        3
    );
}

#[test]
fn reordered_members_and_reappearing_tools_are_no_change() {
    let home = Home::new("");
    home.echo().ok();
    let schema = json!({ "required": ["text"], "properties": { "text": { "type": "string" } }, "type": "object" });
    let same = json!({
        "description": "Returns its text.", "annotations": { "readOnlyHint": true }, "inputSchema": schema,
    });
    home.change(&json!({ "echo": { "list": same } }));
    home.announce();
    home.echo().ok();
    assert_eq!(home.standing("echo"), "trusted");
    home.change(&json!({ "echo": { "list": null } }));
    home.announce();
    home.echo().fails(1, &["not_found"]);
    home.change(&json!({}));
    home.announce();
    home.echo().ok();
    assert!(home.warnings().is_empty(), "{:?}", home.warnings());
}

#[test]
fn change_of_any_definition_member_is_detected() {
    let home = Home::new("");
    home.echo().ok();
    for member in [
        json!({ "title": "Echo" }),
        json!({ "description": "Returns its text!" }),
        json!({ "description": null }),
        json!({ "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } } }),
        json!({ "outputSchema": { "type": "object" } }),
        json!({ "annotations": { "readOnlyHint": false } }),
        json!({ "annotations": { "readOnlyHint": true, "openWorldHint": false } }),
        json!({ "icons": [{ "src": "https://example.com/i.png" }] }),
        json!({ "_meta": { "a/b": 1 } }),
    ] {
        home.change(&json!({ "echo": { "list": member } }));
        home.announce();
        home.echo_is_refused();
    }
    home.change(&json!({}));
    home.announce();
    home.echo().ok();
}

#[test]
fn no_call_is_sent_after_a_change_is_announced() {
    let home = Home::new("calls_at_once = 3");
    let changes = home.changes.to_str().unwrap();
    // Many calls are in flight or queued when the change is announced, and 200 follow right after it.
    let code = format!(
        "const echo = () => mux.fix.echo({{ text: 'hello' }}).then(() => 'ok', error => error.kind);\n\
         const early = Array.from({{ length: 40 }}, echo);\n\
         await mux.fix.side_effect({{ file: {changes:?}, line: mux.input }});\n\
         const told = mux.fix.list_changed({{}});\n\
         early.push(...Array.from({{ length: 40 }}, echo));\n\
         await told;\n\
         const late = await Promise.all(Array.from({{ length: 200 }}, echo));\n\
         return [await Promise.all(early), late];"
    );
    let input = json!(poison().to_string()).to_string();
    let ran = home
        .env
        .mux(["--json", "run", "-e", &code, "--input", &input])
        .ok()
        .json();
    let late = ran["result"][1].as_array().unwrap();
    assert_eq!(
        (late.len(), late.iter().all(|kind| kind == "denied")),
        (200, true),
        "{late:?}"
    );
    let early = ran["result"][0].as_array().unwrap();
    assert!(
        early.iter().all(|kind| kind == "denied" || kind == "ok"),
        "{early:?}"
    );
    let called = home.called();
    let told = called
        .iter()
        .position(|tool| tool == "list_changed")
        .unwrap();
    let after = called[told..].iter().filter(|tool| *tool == "echo").count();
    // Only calls that were sent before the announcement arrived: at most three at once, of which two may have been
    // answered, and replaced, while the server was about to announce the change.
    assert!(after <= 5, "{after} of {called:?}");
}

#[test]
fn new_tool_is_reported_until_it_is_accepted() {
    let home = Home::new("");
    home.echo().ok();
    let later = json!({ "description": "Came later.", "inputSchema": { "type": "object" } });
    let result = json!({ "content": [{ "type": "text", "text": "late" }] });
    home.change(&json!({ "later": { "list": later, "result": result } }));
    home.announce();
    home.env.mux(["call", "fix.later"]).ok();
    home.env.stop();
    home.env.mux(["call", "fix.later"]).ok();
    assert_eq!(home.standing("later"), "new");
    assert!(
        home.warnings()[0].contains("1 tool is new since its server was first trusted: later"),
        "{:?}",
        home.warnings()
    );
    let accepted = home.env.mux(["servers", "accept", "fix", "--yes"]).ok();
    assert!(accepted.stdout.contains("new since"), "{accepted:?}");
    assert_eq!(
        (home.standing("later").as_str(), home.warnings().len()),
        ("trusted", 0)
    );
    home.change(
        &json!({ "later": { "list": { "inputSchema": { "type": "object" } }, "result": result } }),
    );
    home.announce();
    home.env
        .mux(["call", "fix.later"])
        .fails(5, &["fix.later is not what it was"]);
}

#[test]
fn pins_setting_decides_what_happens_on_a_change() {
    let home = Home::poisoned("pins = \"warn\"");
    home.echo().ok();
    assert_eq!(home.standing("echo"), "changed");
    assert!(
        home.warnings()[0].contains("1 tool is not what was first trusted: echo"),
        "{:?}",
        home.warnings()
    );
    assert!(
        home.env
            .mux(["types", "fix.echo"])
            .ok()
            .stdout
            .contains(POISON)
    );

    let home = Home::poisoned("pins = \"off\"");
    home.echo().ok();
    assert_eq!(
        (home.standing("echo").as_str(), home.warnings().len()),
        ("unpinned", 0)
    );
    home.env.mux(["servers", "accept", "fix", "--yes"]).ok();
    assert!(!home.env.dirs.pins().exists(), "nothing is written down");

    let home = Home::poisoned("[pins]\non_change = \"off\"\n");
    home.echo().ok();
}

#[test]
fn changed_server_entry_gets_new_pins() {
    let home = Home::poisoned("");
    home.echo_is_refused();
    let config = std::fs::read_to_string(home.env.dirs.config_file()).unwrap();
    let other = config.replace("\"--call-log\"", "\"--name\", \"other\", \"--call-log\"");
    assert_ne!(config, other);
    home.env.write_config(&other);
    home.env.mux(["reload"]).ok();
    home.echo().ok();
    // With the original entry the original pins apply.
    home.env.write_config(&config);
    home.env.mux(["reload"]).ok();
    home.echo_is_refused();
}
