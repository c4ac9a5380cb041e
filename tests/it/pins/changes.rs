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
