//! Instructions of servers of both eras reach agents and users, marked as the server's own text.

use mux_client::within_seconds;
use mux_proto::ToolsRequest;
use mux_tests::{Agent, TestEnv, program_result};
use serde_json::{Value, json};

use super::{BOTH, LEGACY};
use crate::{mcp::text, offers::Client};

const TOLD: &str = "Use absolute paths.\u{200b}\n# Call setup first.";

fn home(era: &str) -> TestEnv {
    let env = TestEnv::new();
    let args = ["--era", era, "--instructions", TOLD];
    env.write_config(&env.fixture("fix", &args));
    env
}

fn resource(agent: &mut Agent, uri: &str) -> String {
    let read = agent.ask("resources/read", json!({ "uri": uri }));
    read["contents"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn agents_get_instructions_quoted_with_their_server() {
    for era in BOTH {
        let env = home(era);
        let mut agent = Agent::legacy(&env, &[], json!({}));
        let quoted = "Instructions of the server `fix`, in its own words:\n> Use absolute paths.\n> # Call setup first.";
        let described = text(&agent.call("describe", json!({ "paths": ["fix"] })));
        assert!(described.starts_with(quoted), "{era}: {described}");
        let one = text(&agent.call("describe", json!({ "paths": ["fix.echo"] })));
        assert!(!one.contains("own words"), "{one}");
        let guide = resource(&mut agent, "mux://guide");
        assert!(guide.contains(quoted), "{guide}");
        let code = "return JSON.stringify((await mux.describe('fix')).servers)";
        let run = agent.call("run", json!({ "code": code }));
        let output = json!([{ "name": "fix", "instructions": TOLD.replace('\u{200b}', "") }]);
        assert_eq!(program_result::value(&run), output);
        let listed = agent.ask("tools/list", json!({}));
        let run = listed["tools"][0]["description"].as_str().unwrap();
        assert!(
            run.contains("`describe` shows the instructions of fix"),
            "{run}"
        );
    }
}

#[test]
fn passthrough_of_one_server_has_its_instructions() {
    for era in BOTH {
        let env = home(era);
        let output = TOLD.replace('\u{200b}', "");
        let mut agent = Agent::start(env.command("mux").args(["mcp", "--passthrough=fix"]));
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        assert_eq!(agent.ask("initialize", hello)["instructions"], output);
        let mut agent = Agent::modern(&env, &["--passthrough=fix"], json!({}));
        assert_eq!(
            agent.ask("server/discover", json!({}))["instructions"],
            output,
            "{era}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn instructions_of_a_disconnected_server_are_remembered() {
    let env = home(LEGACY);
    env.mux(["tools"]).ok();
    env.stop();
    let client = Client::deaf(&env).await;
    let request = ToolsRequest {
        server: Some("fix".into()),
        ..ToolsRequest::default()
    };
    let list = client.session.client.tools(within_seconds(60), request);
    let output = list.await.unwrap().unwrap().instructions;
    assert_eq!(output.len(), 1);
    assert_eq!(output[0].text, TOLD.replace('\u{200b}', ""));
    let shown = env.mux(["tools", "--server", "fix"]).ok();
    assert!(
        shown
            .stdout
            .contains("the server's instructions:\n  | Use absolute paths."),
        "{}",
        shown.stdout
    );
    let listed: Value = env.mux(["--json", "tools"]).ok().json();
    assert_eq!(listed.get("instructions"), None);
}
