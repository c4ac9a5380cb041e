//! Calls of a tool whose definition has changed are refused, whenever it changes.

use mux_tests::Agent;
use serde_json::json;

use super::{Home, POISON};

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

/// Both servers write a Python `set` into a description, in another order with each start.
#[test]
fn lists_in_another_order_are_no_change_and_keep_the_trusted_text() {
    let home = Home::new("");
    let described = |commands: &str, flags: &str| {
        let text = format!(
            "Runs a command in /srv\n\nAllowed commands: {commands}\nAvailable flags: {flags}\n\nNote: (&&, |) are not supported."
        );
        json!({ "echo": { "list": { "description": text } } })
    };
    home.change(&described("pwd, echo, ls, cat", "-l, --help, -a"));
    home.echo().ok();
    for (commands, flags) in [
        ("cat, ls, echo, pwd", "--help, -a, -l"),
        ("ls, pwd, cat, echo", "-a, -l, --help"),
    ] {
        home.change(&described(commands, flags));
        home.env.mux(["servers", "restart", "fix"]).ok();
        home.echo().ok();
        let shown = home.env.mux(["types", "fix.echo"]).ok().stdout;
        assert!(shown.contains("pwd, echo, ls, cat"), "{shown}");
        assert!(home.warnings().is_empty(), "{:?}", home.warnings());
    }
    let pins = home.env.mux(["servers", "pins", "fix"]).ok();
    let all = format!("{}{}", pins.stdout, pins.stderr);
    assert!(
        all.contains("echo: its lists are in another order"),
        "{all}"
    );
    let log = home.env.mux(["logs"]).ok().stdout;
    assert_eq!(
        log.matches("lists are in another order").count(),
        1,
        "{log}"
    );

    // One more command, or another meaning in the same words, is a change.
    for (commands, flags) in [
        ("pwd, echo, ls, cat, rm", "-l, --help, -a"),
        ("-l, --help, -a", "pwd, echo, ls, cat"),
    ] {
        home.change(&described(commands, flags));
        home.env.mux(["servers", "restart", "fix"]).ok();
        home.echo_is_refused();
    }
}

#[test]
fn stricter_hints_and_output_schemas_are_accepted_without_a_decision() {
    let home = Home::new("");
    home.echo().ok();
    let schema = json!({ "type": "object", "description": POISON });
    let stricter = json!({ "annotations": { "destructiveHint": true }, "outputSchema": schema });
    home.change(&json!({ "echo": { "list": stricter } }));
    home.announce();
    home.echo().ok();
    let seen = home.env.mux(["types", "fix.echo"]).ok().stdout;
    assert!(!seen.contains(POISON), "{seen}");
    let listed = home.env.mux(["tools", "--server", "fix"]).ok().stdout;
    let line = listed
        .lines()
        .find(|line| line.contains("fix.echo"))
        .unwrap();
    assert!(
        line.contains("destructive") && !line.contains("changed"),
        "{line}"
    );
    let shown = home.env.mux(["servers", "accept", "fix", "echo"]);
    shown.fails(
        5,
        &[
            "1 tool of `fix` still pending",
            "differs in annotations.readOnlyHint (gone), annotations.destructiveHint (added), outputSchema (added)",
        ],
    );

    // Text comes before hints that permit more.
    let hints = json!({ "readOnlyHint": true, "openWorldHint": false });
    let laxer = json!({ "annotations": hints, "description": POISON });
    home.change(&json!({ "echo": { "list": laxer } }));
    home.announce();
    home.echo_is_refused();
    home.env.mux(["servers", "accept", "fix", "echo"]).fails(
        5,
        &["differs in description, annotations.openWorldHint (added)"],
    );
    home.env
        .mux(["servers", "accept", "fix", "echo", "--yes"])
        .ok();
    home.change(&json!({}));
    home.announce();
    home.echo()
        .fails(5, &["`pins = \\\"warn\\\"` in the entry of fix"]);
}
