//! A session of an agent with the real `mux mcp`, in front of servers that answer.

use std::{fmt::Write as _, fs, sync::Arc};

use serde_json::{Value, json};

use super::{
    agent::{McpServer, RealAgent, Session},
    inventory::Inventory,
    model_api::{HANDLE, REPEAT, Step},
    model_request::strings,
    profiles::Profile,
};
use crate::{TestEnv, env::compiler};

/// The servers, whose names are in no other text.
const SERVERS: [(&str, &[&str]); 4] = [
    ("harbor", &["--offers"]),
    ("lantern", &["--tools", "10"]),
    ("meadow", &["--tools", "4"]),
    ("orchard", &[]),
];
/// The server that is added while the session lives.
const NEWCOMER: &str = "newcomer";
/// The lines of the long result, of 60 characters each.
const LONG_LINES: usize = 5_000;

/// A call in the session.
struct Scenario {
    name: &'static str,
    code: String,
    /// The texts that reach the model with the result, each once.
    once: Vec<String>,
    has_image: bool,
}

/// The session, and its problems.
#[derive(Debug)]
pub struct MuxSession {
    pub session: Session,
    pub inventory: Inventory,
    /// The definition of `run` that reached the model first.
    pub run: Option<Value>,
    /// True if an image reached the model.
    pub has_image: bool,
    /// The names of scenarios that went well.
    pub passed: Vec<&'static str>,
    pub problems: Vec<String>,
}

impl MuxSession {
    pub fn of(agent: &RealAgent, profile: &Profile) -> Self {
        let env = Arc::new(TestEnv::with_fixtures(&SERVERS));
        let mut config = fs::read_to_string(env.dirs.config_file()).unwrap();
        writeln!(config, "[check]\ntsc = {:?}", compiler()).unwrap();
        env.write_config(&config);
        let inventory = Inventory::of(&env);

        let scenarios = scenarios(agent.images);
        let run = |code: &str| Step::call("mux", "run", json!({ "code": code }));
        let mut script: Vec<Step> = scenarios.iter().map(|it| run(&it.code)).collect();
        let newcomer = {
            let env = Arc::clone(&env);
            move || {
                let more = env.fixture(NEWCOMER, &[]);
                env.write_config(&format!("{config}{more}"));
                until_known(&env, NEWCOMER);
            }
        };
        let wait = run(&format!(
            "return await mux.orchard.sleep({{ ms: 50 }}) // {REPEAT}"
        ));
        let follows = profile.list_changed.then_some(NEWCOMER);
        script.push(
            wait.after(newcomer)
                .until_offered(follows.unwrap_or("signatures")),
        );
        let step = script.len();
        let newcomer = scenario_of_newcomer();
        script.push(run(&newcomer.code));

        let session = agent.session(&[McpServer::mux(&env)], script);
        let mut seen = Self {
            run: session.transcript.first_definition("mux", "run"),
            session,
            inventory,
            has_image: false,
            passed: Vec::new(),
            problems: Vec::new(),
        };
        for (step, scenario) in scenarios.iter().enumerate() {
            seen.check(step, scenario);
        }
        seen.check(step, &newcomer);
        seen.check_definition();
        if let Some(name) = follows {
            let last = seen.session.transcript.last_definition("mux", "run");
            let is_there = last.is_some_and(|it| strings(&it).contains(name));
            seen.judge("list_changed", is_there, || {
                "a server that was added is not in the definition of run".to_owned()
            });
        }
        seen
    }

    fn check(&mut self, step: usize, scenario: &Scenario) {
        let Some(result) = self.session.transcript.result(step) else {
            return self.judge(scenario.name, false, || "there is no result".to_owned());
        };
        let wrong = scenario.once.iter().find_map(|text| {
            let count = result.request.matches(text).count();
            (count != 1).then(|| format!("{text:?} reached the model {count} times"))
        });
        let missing = (scenario.has_image && !result.has_image).then(|| "no image".to_owned());
        self.has_image |= result.has_image;
        let problem = wrong.or(missing);
        self.judge(scenario.name, problem.is_none(), || {
            format!(
                "{}\n{}",
                problem.unwrap_or_default(),
                shortened(&result.text)
            )
        });
    }

    /// Checks that the statements of the `run` definition about its signatures are true, and that
    /// it names every server.
    fn check_definition(&mut self) {
        let Some(run) = &self.run else {
            return self.judge("definition", false, || "run was not offered".to_owned());
        };
        let text = strings(run);
        let missing = SERVERS.iter().find(|(name, _)| !text.contains(name));
        let shown = self.inventory.shown_in(run);
        let claimed = self.inventory.claimed_in(run);
        let problem = match (missing, claimed) {
            (Some((name, _)), _) => Some(format!("the server {name} is not named")),
            (None, None) => Some("it does not say how many signatures it has".to_owned()),
            (None, Some(claimed)) => {
                (claimed != shown).then(|| format!("it says {claimed} signatures and has {shown}"))
            }
        };
        self.judge("definition", problem.is_none(), || {
            format!("{}\n{}", problem.unwrap_or_default(), shortened(&text))
        });
    }

    fn judge(&mut self, name: &'static str, is_right: bool, problem: impl FnOnce() -> String) {
        if is_right {
            self.passed.push(name);
        } else {
            self.problems.push(format!("{name}: {}", problem()));
        }
    }
}

/// Programs whose results have texts that the programs themselves have not.
fn scenarios(with_image: bool) -> Vec<Scenario> {
    let scenario = |name, code: &str, once: &[&str]| Scenario {
        name,
        code: code.to_owned(),
        once: once.iter().map(|text| (*text).to_owned()).collect(),
        has_image: false,
    };
    let mut image = scenario(
        "image",
        r#"mux.emit(await mux.harbor.image({})); return "PICTURE-" + (40 + 2)"#,
        &["PICTURE-42"],
    );
    image.has_image = with_image;
    let long = format!(
        r#"return Array.from({{ length: {LONG_LINES} }}, (_, n) => `ROW-${{String(n).padStart(6, "0")}}`.padEnd(59, ".")).join("\n")"#
    );
    let last = format!("ROW-{:06}", LONG_LINES - 1);
    vec![
        scenario(
            "value and console",
            r#"console.log("LINE-" + (40 + 2)); return { answer: "VALUE-" + (40 + 2) }"#,
            &["LINE-42", "VALUE-42"],
        ),
        scenario(
            "type error",
            r"const n: number = String(40 + 2); return n",
            &["is not assignable to type 'number'"],
        ),
        scenario(
            "tool error",
            r#"return await mux.harbor.fail({ message: "BOOM-" + (40 + 2) })"#,
            &["BOOM-42"],
        ),
        scenario(
            "hint",
            r#"return await (mux as any).harbor.ech({ text: "x" })"#,
            &["not_found: ", "hint: "],
        ),
        image,
        scenario(
            "elicitation",
            r#"return await mux.harbor.elicit({ message: "Who?" })"#,
            &["\"action\":"],
        ),
        scenario("long result", &long, &["ROW-000000", &last]),
        scenario(
            "read",
            &format!(
                r#"const all = await mux.read("{HANDLE}") as string; return "LENGTH-" + all.length"#
            ),
            &[&format!("LENGTH-{}", LONG_LINES * 60 - 1)],
        ),
    ]
}

fn scenario_of_newcomer() -> Scenario {
    Scenario {
        name: "new server",
        code: format!(r#"return await mux.{NEWCOMER}.echo({{ text: "NEW-" + (40 + 2) }})"#),
        once: vec!["NEW-42".to_owned()],
        has_image: false,
    }
}

/// Waits until the daemon has read the configuration.
fn until_known(env: &TestEnv, server: &str) {
    for _ in 0..1000 {
        if env.mux(["servers"]).stdout.contains(server) {
            return;
        }
    }
    panic!("the daemon does not know {server}");
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(4_000)]
}
