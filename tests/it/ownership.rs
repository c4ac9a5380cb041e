//! Ownership: runs, approvals and pending calls belong to the client and agent that made them. The user's own clients
//! reach all of them.
//!
//! `table` has a row for each method of the daemon and each tool of `mux mcp`. Invariant: a method or tool without a
//! row fails a test.

mod audience;
mod table;
mod upgraded;
mod work_of_others;

use std::{fs, path::PathBuf};

use mux_proto::service::MuxRequest;
use mux_tests::{Agent, TestEnv, frames::Wire};
use serde_json::{Value, json};

/// A text that is in all data of the user and `big`, and that no other agent may read.
const SECRET: &str = "payroll";
const CONFIG: &str = r#"
[approvals]
wait = "1s"
[[policy]]
match = "fix.counter"
action = "ask"
[agents.small]
exclude = ["*"]
policy = [{ match = "*", action = "deny" }]
"#;

/// A home with data of the user and the agent `big`: runs that succeeded, failed, still run or wait for an approval, a
/// call that waits for one, a stored value, and a permanent grant.
struct Home {
    env: TestEnv,
    log: PathBuf,
    /// Ids and handles that `big` and the user got.
    names: Vec<String>,
    /// The run of `big` that does not end.
    endless: String,
    /// The run of `big` that waits for an approval.
    pending: String,
    /// The name with which `big` can resume its call that waits for an approval.
    call: String,
    handle: String,
    grant: String,
}

impl Home {
    fn new() -> Self {
        let env = TestEnv::new();
        let log = env.path("calls");
        let fix = env.fixture("fix", &["--offers", "--call-log", log.to_str().unwrap()]);
        env.write_config(&format!("{fix}{CONFIG}"));
        let mine = env.mux(["--json", "run", "-e", &format!("return '{SECRET}'")]);
        let mut names = vec![mine.ok().json()["run"].as_str().unwrap().to_owned()];
        let mut big = Agent::legacy(&env, &["--agent", "big", "--structured"], json!({}));
        let mut run = |code: &str, detach: bool| {
            let asked = json!({ "code": code, "check": false, "detach": detach });
            let answer = big.call("run", asked)["structuredContent"].take();
            names.push(answer["run"].as_str().unwrap().to_owned());
            answer
        };
        run(
            &format!("console.log('{SECRET}'); return {{ {SECRET}: 1 }}"),
            false,
        );
        run(&format!("throw new Error('{SECRET}')"), false);
        let stored = run(&format!("return '{SECRET} '.repeat(100_000)"), false);
        let counter = format!("await mux.fix.counter({{ key: '{SECRET}' }})");
        let pending = run(&format!("return {counter}"), false);
        assert_eq!(pending["state"], "pending", "{pending}");
        let endless = run(
            &format!("console.log('{SECRET}'); await mux.fix.hang({{}})"),
            true,
        );
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let handle = text(&stored["stored"]["handle"]);
        let endless = text(&endless["run"]);
        let pending = text(&pending["error"]["details"]["resume"]);
        let call = json!({ "path": "fix.counter", "arguments": { "key": SECRET } });
        let call = big.call("call", call)["content"][0]["text"].take();
        // The name to resume with is in the text, because an agent reads only the text of a failed call.
        let call = call.as_str().unwrap().split('"').nth(1).unwrap().to_owned();
        assert_eq!(names[4], pending);
        names.extend([call.clone(), handle.clone()]);
        let grant = Self::allowed(&env);
        names.push(grant.clone());
        let home = Self {
            env,
            log,
            names,
            endless,
            pending,
            call,
            handle,
            grant,
        };
        assert_eq!(home.state(&home.endless), "running");
        home
    }

    /// Makes the user allow a tool permanently, and returns the id of the grant.
    fn allowed(env: &TestEnv) -> String {
        let code = "return await mux.fix.counter({ key: 'mine' })";
        env.mux(["run", "-e", code]).fails(5, &["A3"]);
        env.mux(["approve", "A3", "--always"]).ok();
        env.mux(["resume", "A3"]).ok();
        let granted = env.mux(["--json", "approvals", "--granted"]).ok().json();
        granted["granted"][0]["grant"].as_str().unwrap().to_owned()
    }

    /// The state of a run as the user sees it.
    fn state(&self, run: &str) -> String {
        let shown = self.env.mux(["--json", "runs", "show", run]).ok().json();
        shown["info"]["state"].as_str().unwrap().to_owned()
    }

    /// How often a tool of `fix` was called.
    fn called(&self, tool: &str) -> usize {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.matches(&format!("\"tool\":\"{tool}\"")).count()
    }

    /// Ids with which a client may try to reach data of others: ids that can be guessed by counting, and ids that
    /// others received.
    fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = (1..=200).map(|number| number.to_string()).collect();
        ids.extend((1..=50).map(|number| format!("A{number}")));
        ids.extend((1..=3).flat_map(|number| [format!("a{number}"), format!("login-{number}")]));
        ids.extend(self.names.iter().cloned());
        ids
    }

    /// Asserts that the answer to a request for `id` has no data of the user or of `big`.
    #[track_caller]
    fn hides(&self, what: &str, id: &str, answer: &Value) {
        let mut text = answer.to_string();
        if id == SECRET || self.names.iter().any(|name| name == id) {
            // Errors and searches without results repeat the request.
            text = text.replace(id, "");
        }
        assert!(!text.contains(SECRET), "{what} {id}: {text}");
        for name in &self.names {
            assert!(!text.contains(name), "{what} {id} names {name}: {text}");
        }
    }
}

/// An agent whose user cannot be asked.
fn agent(env: &TestEnv, name: &str) -> Agent {
    Agent::legacy(env, &["--agent", name], json!({}))
}

/// A client of the socket that identifies itself with these names.
fn client(env: &TestEnv, name: &str, agent: Option<&str>) -> Wire {
    let mut wire = Wire::connect(&env.dirs.socket());
    let hello = json!({
        "contract": mux_proto::version::CONTRACT,
        "build": "0",
        "client": { "name": name, "version": "0" },
        "agent": agent,
    });
    let answer = wire.call(&json!({ "Hello": { "hello": hello } }));
    assert!(
        answer["message"]["Ok"]["Hello"]["Ok"].is_object(),
        "{answer}"
    );
    wire
}

/// `Ok` or `Err` of the answer to a request.
fn asked(wire: &mut Wire, request: &MuxRequest) -> Value {
    let mut answer = wire.call(&serde_json::to_value(request).unwrap());
    let answer = answer["message"]["Ok"].take();
    let (_, answer) = answer.as_object().unwrap().iter().next().unwrap();
    answer.clone()
}
