//! Whenever a definition changes, no call of it gets through.

use mux_tests::Agent;
use serde_json::json;

use super::{Home, POISON, poison};

#[test]
fn a_tool_that_changed_is_refused_and_nobody_reads_its_new_words() {
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
    // The others are as they were.
    env.mux(["call", "fix.add", "a=1", "b=2"]).ok();
    assert_eq!(
        home.called().iter().filter(|tool| *tool == "echo").count(),
        1
    );
}

#[test]
fn a_change_is_caught_whenever_it_comes() {
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

    // As it was, it is trusted; and a server that is started again is looked at again.
    home.change(&json!({}));
    home.announce();
    home.echo().ok();
    home.change(&poison());
    home.env.mux(["servers", "restart", "fix"]).ok();
    home.echo_is_refused();
    // So is one of the next daemon, which shows it as refused before it has asked.
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
fn the_order_of_names_is_no_change_and_what_goes_and_comes_back_is_none() {
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
fn every_part_of_a_definition_counts() {
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
fn no_call_slips_through() {
    let home = Home::new("calls_at_once = 3");
    let changes = home.changes.to_str().unwrap();
    // Many are on their way or in line when the change is told, and two hundred come right after it.
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
    // Three go at once: those that had left before the word was heard, and no others.
    assert!(after <= 3, "{after} of {called:?}");
}

#[test]
fn a_tool_that_comes_later_is_told_until_somebody_takes_note() {
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
fn the_configuration_says_what_becomes_of_a_change() {
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
fn a_server_that_is_started_in_another_way_is_a_new_acquaintance() {
    let home = Home::poisoned("");
    home.echo_is_refused();
    let config = std::fs::read_to_string(home.env.dirs.config_file()).unwrap();
    let other = config.replace("\"--call-log\"", "\"--name\", \"other\", \"--call-log\"");
    assert_ne!(config, other);
    home.env.write_config(&other);
    home.env.mux(["reload"]).ok();
    home.echo().ok();
    // As before, it is the old one with the old pins.
    home.env.write_config(&config);
    home.env.mux(["reload"]).ok();
    home.echo_is_refused();
}
