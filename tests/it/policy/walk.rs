//! Policy decides the same for every way of calling a tool.
//!
//! Invariant: a new way of calling a tool is added to [`WAYS`] or to [`Walk`].

use mux_tests::{Agent, TestEnv, mux_snapshot};
use serde_json::{Value, json};

/// Every way to write a call of `my-server.get-thing` in a program. `ID` is its argument.
const WAYS: &[&str] = &[
    "mux.my_server.get_thing({ id: ID })",
    "mux['my-server']['get-thing']({ id: ID })",
    "mux['my-server'].get_thing({ id: ID })",
    "mux['my-server.get-thing']({ id: ID })",
    "mux.call('my-server.get-thing', { id: ID })",
    "mux.call('my_server.get_thing', { id: ID })",
    "mux.call.raw('my-server.get-thing', { id: ID })",
    // A second read gives another value: the value that was decided on is sent.
    "mux.my_server.get_thing({ n: 0, get id() { return this.n++ ? 'public' : ID } })",
];
const PATH: &str = "my-server.get-thing";

/// All ways that are not a program: the command line, and those of agents.
struct Walk {
    env: TestEnv,
    server: String,
    agent: Agent,
    /// Agents with `--passthrough` for all servers (`all`) and for `my-server` (`through`).
    all: Agent,
    through: Agent,
}

impl Walk {
    fn new() -> Self {
        let env = TestEnv::new();
        let log = env.path("calls");
        let server = env.fixture("my-server", &["--call-log", log.to_str().unwrap()]);
        let server = format!("{server}tools = {{ direct = [\"get-thing\"] }}\n");
        env.write_config(&server);
        let agent = |args: &[&str]| Agent::legacy(&env, args, json!({}));
        let one = agent(&["--agent", "small"]);
        let all = agent(&["--passthrough"]);
        let through = agent(&["--passthrough=my-server"]);
        Self {
            agent: one,
            all,
            through,
            server,
            env,
        }
    }

    fn rules(&self, rules: &str) {
        self.env.write_config(&format!("{}{rules}", self.server));
        self.env.mux(["reload"]).ok();
    }

    /// The outcome of each way, with its name: `ok`, or the kind of the error.
    fn all(&mut self, id: &str) -> Vec<(String, String)> {
        let mut outcomes = self.without_agent(id);
        outcomes.extend(self.of_agent(id));
        outcomes
    }

    fn without_agent(&mut self, id: &str) -> Vec<(String, String)> {
        let mut outcomes = Vec::new();
        for way in WAYS {
            let code = format!("return await {}", way.replace("ID", &format!("{id:?}")));
            let output = self
                .env
                .mux(["--json", "run", "--no-check", "-e", &code])
                .json();
            let kind = output["error"]["kind"].as_str().unwrap_or("ok");
            outcomes.push(((*way).to_owned(), kind.to_owned()));
        }
        let typed = format!("id={id}");
        let object = json!({ "id": id }).to_string();
        for arguments in [
            &["--json", "call", PATH, &typed][..],
            &["--json", "call", "my_server.get_thing", &object],
            &["--json", "call", "--raw", PATH, &object],
        ] {
            let output = self.env.mux(arguments).json();
            let kind = output["error"]["kind"].as_str().unwrap_or("ok");
            outcomes.push((arguments.join(" "), kind.to_owned()));
        }
        let object = json!({ "id": id });
        let result = self.all.call("my-server__get-thing", object.clone());
        outcomes.push(("--passthrough".into(), kind(&result)));
        let result = self.through.call("get-thing", object);
        outcomes.push(("--passthrough=my-server".into(), kind(&result)));
        let step = json!({ "id": "only", "tool": PATH, "args": { "id": id } });
        let program = json!({ "steps": [step] }).to_string();
        let output = self.env.mux(["--json", "program", "-e", &program]).json();
        let kind = output["error"]["kind"].as_str().unwrap_or("ok");
        outcomes.push(("a program of steps".into(), kind.to_owned()));
        outcomes
    }

    fn of_agent(&mut self, id: &str) -> Vec<(String, String)> {
        let object = json!({ "id": id });
        let code = format!("return await {}", WAYS[0].replace("ID", &format!("{id:?}")));
        let called = json!({ "path": PATH, "arguments": object.clone() });
        [
            ("call", called),
            ("run", json!({ "code": code })),
            ("my-server__get-thing", object),
        ]
        .map(|(tool, arguments)| {
            let result = self.agent.call(tool, arguments);
            (format!("mcp {tool}"), kind(&result))
        })
        .into()
    }
}

/// `ok`, or the beginning of a failed result's text.
fn kind(result: &Value) -> String {
    if result["isError"] != true {
        return "ok".into();
    }
    let text = result["content"][0]["text"].as_str().unwrap();
    text.split(':').next().unwrap_or_default().to_owned()
}

#[track_caller]
fn same(outcomes: &[(String, String)], expected: &str, what: &str) {
    for (way, outcome) in outcomes {
        assert_eq!(outcome, expected, "{what}: {way}");
    }
}

#[test]
fn policy_decides_the_same_for_every_way_of_calling() {
    let mut walk = Walk::new();
    let rule = |conditions: &str| {
        format!("[[policy]]\nmatch = \"my-server.get-*\"\naction = \"deny\"\n{conditions}")
    };
    same(&walk.all("secret-1"), "ok", "no rule");
    walk.rules(&rule(""));
    same(&walk.all("secret-1"), "denied", "a rule");
    walk.rules(&rule(
        "arguments = { id = \"secret*\" }\nreason = \"it is mine\"\n",
    ));
    let sent = |walk: &Walk| {
        let log = std::fs::read_to_string(walk.env.path("calls")).unwrap();
        log.matches("secret-2").count()
    };
    same(&walk.all("secret-2"), "denied", "an argument");
    assert_eq!(sent(&walk), 0);
    same(&walk.all("public"), "ok", "another argument");
    let output = walk.env.mux(["call", PATH, "id=secret-2"]);
    mux_snapshot!(output, @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    ----- stderr -----
    error[denied]: my_server.get_thing is denied by the policy "my-server.get-*": it is mine
      hint: it is rule 1 of [[policy]] in config.toml; see `mux policy explain my_server.get_thing`
    "#);
    // A call that the rule does not match fails for its own reason. Arguments that are not an object might be
    // denied.
    mux_snapshot!(walk.env.mux(["call", PATH, "wrong=1"]), @r#"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: the arguments of my_server.get_thing do not fit: there is no argument "wrong"
      hint: my_server.get_thing(args: { id: string })
    "#);

    // Tools that an agent does not see do not exist for it, regardless of the rules.
    walk.rules(&format!(
        "[agents.small]\nexclude = [\"my-server.get-*\"]\n{}",
        rule("")
    ));
    let mut small = Agent::legacy(&walk.env, &["--agent", "small"], json!({}));
    let tools = small.tools();
    assert!(
        !tools.iter().any(|tool| tool.contains("thing")),
        "{tools:?}"
    );
    let named = json!({ "path": PATH, "arguments": { "id": "x" } });
    assert_eq!(kind(&small.call("call", named)), "not_found");
    for way in WAYS {
        let code = format!("return await {}", way.replace("ID", "'x'"));
        let result = small.call("run", json!({ "code": code }));
        assert_ne!(kind(&result), "ok", "{way}");
        assert_ne!(kind(&result), "denied", "{way}");
    }
    small.refused(
        "tools/call",
        json!({ "name": "my-server__get-thing", "arguments": {} }),
    );
    assert_eq!(walk.env.starts("my-server").len(), 1);
}

#[test]
fn policy_applies_to_resources_and_prompts() {
    let env = TestEnv::new();
    let server = env.fixture("fix", &["--offers"]);
    env.write_config(&format!(
        "{server}[[policy]]\nmatch = \"fix.resources/read\"\narguments = {{ uri = \"fix://text/secret*\" }}\naction = \"deny\"\n\
         [[policy]]\nmatch = \"fix.prompts/get\"\narguments = {{ \"arguments.name\" = \"Eve\" }}\naction = \"deny\"\n"
    ));
    let mut agent = Agent::legacy(&env, &[], json!({}));
    for (code, expected) in [
        ("mux.resources.fix.read('fix://text/secret-1')", "denied"),
        ("mux.resources.fix.read('fix://text/hello')", "ok"),
        ("mux.prompts.fix.get('greet', { name: 'Eve' })", "denied"),
        ("mux.prompts.fix.get('greet', { name: 'Ada' })", "ok"),
    ] {
        let code = format!("return await {code}.then(() => 'ok', (error) => error.kind)");
        assert_eq!(env.result(&code), expected, "{code}");
        assert_eq!(agent.run(&code), expected, "{code}");
    }
    let error = agent.refused(
        "resources/read",
        json!({ "uri": "mux://fix/fix://text/secret-1" }),
    );
    assert!(
        error["message"].as_str().unwrap().contains("denied"),
        "{error}"
    );
    let error = agent.refused(
        "prompts/get",
        json!({ "name": "fix__greet", "arguments": { "name": "Eve" } }),
    );
    assert!(
        error["message"].as_str().unwrap().contains("denied"),
        "{error}"
    );
}
