//! A session with `mux mcp` in front of servers that hang and fail beside good ones.

use std::fmt::Write as _;

use serde_json::json;

use super::{
    agent::{McpServer, RealAgent, Session},
    model_api::Step,
    model_request::strings,
};
use crate::TestEnv;

const GOOD: [&str; 2] = ["harbor", "orchard"];
const BAD: [&str; 3] = ["unwell", "silent", "absent"];

#[derive(Debug)]
pub struct BadServers {
    pub session: Session,
    pub problems: Vec<String>,
}

impl BadServers {
    /// The daemon starts with the session, as it does for the first agent of a day.
    pub fn of(agent: &RealAgent) -> Self {
        let config = |env: &TestEnv| {
            let [unwell, silent, absent] = BAD;
            let mut config: String = GOOD.iter().map(|name| env.fixture(name, &[])).collect();
            config.push_str(&env.fixture(unwell, &["--exit-at-start", "3"]));
            config.push_str(&env.fixture(silent, &["--mute"]));
            _ = write!(
                config,
                "[servers.{absent}]\nurl = \"http://127.0.0.1:9/mcp\"\n"
            );
            env.write_config(&config);
        };
        let env = TestEnv::new();
        config(&env);
        let code = r#"return await mux.harbor.echo({ text: "ALIVE-" + (40 + 2) })"#;
        let script = vec![Step::call("mux", "run", json!({ "code": code }))];
        let session = agent.session(&[McpServer::mux(&env)], script);

        let mut problems = Vec::new();
        match session.transcript.first_definition("mux", "run") {
            Some(run) => {
                let text = strings(&run);
                let names = GOOD.iter().chain(&BAD);
                let missing: Vec<&str> = names.copied().filter(|it| !text.contains(it)).collect();
                if !missing.is_empty() {
                    problems.push(format!("without {}: {text}", missing.join(", ")));
                }
            }
            None => problems.push("the tools of mux did not arrive".to_owned()),
        }
        let result = session
            .transcript
            .result(0)
            .map(|it| it.text)
            .unwrap_or_default();
        if !result.contains("ALIVE-42") {
            problems.push(format!("a good server does not answer: {result:?}"));
        }

        let env = TestEnv::new();
        config(&env);
        let list = agent.list(&[McpServer::mux(&env)]);
        if let Some(list) = list.filter(|list| !list.is_connected("mux")) {
            problems.push(format!("mux is not connected: {}", list.0.stdout));
        }
        Self { session, problems }
    }
}
