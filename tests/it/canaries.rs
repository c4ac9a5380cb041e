//! Every kind of secret is planted once, and found only where it may be.
//!
//! | planted in | may be in |
//! |---|---|
//! | environment of the process that starts the daemon | the daemon and its keeper |
//! | environment of the login shell, the file `env` | the daemon; servers whose entries name it |
//! | `env` and `args` of a server, literal, `${VAR}`, `${cmd:…}`, `${keyring:…}` | the daemon; that server; its own log, if it says it |
//! | `headers`, password and query of a `url` | the daemon; that server |
//! | OAuth client secret, access and refresh tokens | the daemon; the store; that server and its authorization server |
//! | `auth` and `headers` of a source | the daemon; that API, which may repeat them: then they are masked |
//! | named secrets | the daemon; the store; entries that name them |
//!
//! `oauth/canaries` does the same for each step of a login, `remote/secrets` for each failure of a server behind a URL,
//! `config/told` for commands.

mod memory;
mod mirror;
mod planted;

use std::{
    fs,
    path::{Path, PathBuf},
};

use mux_tests::{Agent, Output, frames::Wire, left_out};
use serde_json::{Value, json};

use self::{
    memory::{holds, memory, spellings, told_of, workers},
    planted::Planted,
};

/// Programs that succeed and that fail.
const PROGRAMS: [&str; 14] = [
    "return mux.fix.add({ a: 1, b: 2 })",
    "return mux.far.add({ a: 1, b: 2 })",
    "return mux.docs.echo({ text: 'x' })",
    "return mux.fix.fail({ message: 'no' })",
    "return mux.fix.counter({ key: 'x' })",
    "return mux.echoes.anything()",
    "return mux.gone.anything()",
    "return mux.api.ping.ping({})",
    "return mux.mirror.say.echo({})",
    "return mux.mirror.say.refuse({})",
    "return [await mux.call.raw('mirror.say.echo', {}), await mux.call.raw('mirror.say.refuse', {})]",
    "return [Object.keys(globalThis), Object.keys(mux), await mux.search('echo')]",
    "console.log(mux, mux.fix); throw new Error('no')",
    "const x: = 1",
];

/// The commands whose output is searched.
const COMMANDS: [&[&str]; 29] = [
    &["status"],
    &["servers"],
    &["tools"],
    &["tools", "add"],
    &["types"],
    &["doctor"],
    &["logs", "--daemon"],
    &["runs"],
    &["runs", "show", "3"],
    &["config", "show"],
    &["config", "show", "--json"],
    &["secrets"],
    &["secrets", "remove", "NO_SUCH"],
    &["servers", "pins", "fix"],
    &["servers", "logs", "fix"],
    &["servers", "restart", "echoes"],
    &["servers", "restart", "far"],
    &["project", "show"],
    &["call", "echoes.anything"],
    &["call", "gone.anything"],
    &["call", "api.ping.ping"],
    &["call", "mirror.say.echo"],
    &["call", "mirror.say.refuse"],
    &["sources"],
    &["sources", "refresh", "mirror"],
    &["servers", "pins", "mirror"],
    &["metrics"],
    &["top", "--once"],
    &["reload"],
];

/// Requests that no command sends.
fn requests() -> Vec<Value> {
    vec![
        json!({ "Status": {} }),
        json!({ "Servers": {} }),
        json!({ "ListSecrets": {} }),
        json!({ "Runs": { "request": {} } }),
        json!({ "Events": { "request": { "run": "3", "after": 0, "wait_ms": 0 } } }),
        json!({ "RunInfo": { "run": "8" } }),
        json!({ "Offers": { "request": { "kind": "resources" } } }),
        json!({ "Inventory": { "request": {} } }),
        json!({ "Pins": { "request": { "server": "far" } } }),
        json!({ "Projects": { "request": {} } }),
        json!({ "Notices": { "request": { "after": 0, "wait_ms": 0 } } }),
        json!({ "SetSecret": { "request": { "name": "not a name", "value": "x" } } }),
        json!({ "Refresh": {} }),
    ]
}

#[test]
fn secrets_are_in_no_output_file_or_worker_memory() {
    let planted = Planted::new();
    let env = &planted.env;
    are_told(&planted);
    planted.sign_in();
    planted.authority.expire();

    let mut said: Vec<Output> = Vec::new();
    for program in PROGRAMS {
        said.push(env.mux(["run", "-e", program]));
        said.push(env.mux(["--json", "run", "-e", program]));
    }
    fs::write(
        planted.theirs.path().join("x.ts"),
        "return mux.fix.add({ a: 'x' })",
    )
    .unwrap();
    let program = planted.theirs.path().join("x.ts").display().to_string();
    said.push(env.mux(["check", &program]));
    for command in COMMANDS {
        said.push(env.mux(command));
        said.push(env.mux([&["--json"], command].concat()));
    }
    said.push(env.mux(["audit", "-n", "1000"]).ok());
    for output in &said {
        assert_ne!(output.code, 2, "a command that does not exist: {output:?}");
        let text = format!("{output:?}");
        assert_eq!(planted.found_in(text.as_bytes()), None, "{text}");
    }
    // The output of a server that failed is shown, with secrets masked.
    let answered = said
        .iter()
        .any(|output| output.stderr.contains("argument ***"));
    assert!(answered, "the last words of `echoes` are shown");

    // The mirror was sent all of them, and repeated all of them, in results and in errors.
    for word in ["you sent", "it is refused"] {
        let answered = said.iter().any(|output| {
            let text = format!("{output:?}");
            text.contains(word) && text.contains("***")
        });
        assert!(answered, "what `mirror` says is shown: {word}");
    }
    planted.mirror.was_sent(&[
        planted.secret("named-source"),
        planted.secret("mirror-header"),
        planted.secret("mirror-query"),
        planted.mirror_login(),
    ]);

    let mut wire = Wire::greeted(&env.dirs.socket());
    for request in requests() {
        wire.ask(&request);
        let answer = wire.answer_bytes().unwrap();
        let text = String::from_utf8_lossy(&answer);
        assert_eq!(planted.found_in(&answer), None, "{request}: {text}");
    }
    for heard in agents(&planted) {
        let text = heard.to_string();
        assert_eq!(planted.found_in(text.as_bytes()), None, "{text}");
    }
    are_in_no_worker(&planted);

    env.stop();
    let own = fs::read_to_string(env.dirs.server_log("echoes")).unwrap();
    assert!(
        own.contains(&planted.secret("entry")),
        "a server's log has its own words"
    );
    let store = fs::read_to_string(env.dirs.credentials()).unwrap();
    assert!(store.contains(&planted.secret("named-env")));
    let kept = files(env.home(), &planted.may_hold());
    assert!(kept.len() > 8, "{kept:?}");
    for file in kept {
        let bytes = fs::read(&file).unwrap();
        let found = planted.found_in(&bytes);
        assert_eq!(
            found,
            None,
            "{file:?}: {}",
            around(&bytes, found.as_deref())
        );
    }
}

/// Checks that the secrets reach their destinations. Otherwise finding none elsewhere would prove nothing.
fn are_told(planted: &Planted) {
    let env = &planted.env;
    for (name, secret) in [
        ("PLAIN", "entry"),
        ("FILE", "file"),
        ("PROFILE", "shell"),
        ("COMMAND", "command"),
        ("KEYRING", "named-env"),
    ] {
        let output = env.mux(["call", "fix.env", &format!("name={name}")]).ok();
        assert_eq!(output.stdout.trim(), planted.secret(secret));
    }
    // Only root can read this.
    if let Ok(environment) = fs::read(format!("/proc/{}/environ", env.daemon().unwrap())) {
        assert!(holds(&environment, planted.secret("daemon").as_bytes()));
    }
    let daemon = memory(env.daemon().unwrap());
    if let Some(daemon) = daemon {
        for secret in [
            "named-header",
            "named-client",
            "named-source",
            "query",
            "source-password",
        ] {
            assert!(
                holds(&daemon, planted.secret(secret).as_bytes()),
                "{secret}"
            );
        }
    }
}

/// Everything that two agents receive.
fn agents(planted: &Planted) -> Vec<Value> {
    let mut heard = Vec::new();
    let mut agent = Agent::legacy(&planted.env, &[], json!({}));
    for method in ["tools/list", "resources/list", "prompts/list"] {
        heard.push(agent.ask(method, json!({})));
    }
    for code in PROGRAMS {
        heard.push(agent.call("run", json!({ "code": code })));
    }
    heard.append(&mut agent.heard);
    let mut direct = Agent::modern(&planted.env, &["--passthrough"], json!({}));
    heard.push(direct.ask("tools/list", json!({})));
    heard.push(direct.call("fix__fail", json!({ "message": "no" })));
    heard.append(&mut direct.heard);
    heard
}

/// Checks the workers while they contain a known string, and while one dies.
fn are_in_no_worker(planted: &Planted) {
    let env = &planted.env;
    let narrow = planted.control();
    let halves = narrow.split_at(narrow.len() / 2);
    let program = format!(
        "const narrow = ['{}', '{}'].join('');\n\
         const wide = narrow + String.fromCharCode(0x2603);\n\
         const kept = {{ narrow: narrow.split('').join(''), wide: wide.split('').join('') }};\n\
         await mux.far.add({{ a: 1, b: 2 }}); await mux.docs.echo({{ text: 'x' }});\n\
         await mux.echoes.anything().catch(() => 0);\n\
         console.log('it is held');\n\
         await mux.fix.barrier({{ name: 'looked', parties: 2 }});\n\
         return kept.narrow.length + kept.wide.length",
        halves.0, halves.1
    );
    let mut holder = env.begin(["run", "-e", &program]);
    holder.wait_for("it is held");
    // Another worker runs out of memory meanwhile.
    let greedy = "const all = []; for (;;) all.push(new Array(1e6).fill(Math.random()))";
    let dead = env.mux(["--json", "run", "-e", greedy]);
    assert_eq!(
        planted.found_in(format!("{dead:?}").as_bytes()),
        None,
        "{dead:?}"
    );
    let pids = workers(env);
    assert!(!pids.is_empty(), "no worker to look at");
    let mut controls = [false; 2];
    for pid in pids {
        assert_eq!(
            planted.found_in(&told_of(pid)),
            None,
            "what is told of worker {pid}"
        );
        let Some(memory) = memory(pid) else {
            if !Path::new(&format!("/proc/{pid}/maps")).exists() {
                // An idle worker has ended meanwhile.
                continue;
            }
            left_out(
                "the memory of a worker",
                "this user may not read it: run the tests as root",
            );
            continue;
        };
        assert!(memory.len() > 1 << 20, "{} bytes of {pid}", memory.len());
        assert_eq!(
            planted.found_in(&memory),
            None,
            "the memory of worker {pid}"
        );
        for (found, text) in controls.iter_mut().zip(spellings(&narrow)) {
            *found |= holds(&memory, &text);
        }
    }
    env.mux(["call", "fix.barrier", "name=looked", "parties=2"])
        .ok();
    let held = holder.wait().ok();
    assert_eq!(planted.found_in(format!("{held:?}").as_bytes()), None);
    if nix::unistd::geteuid().is_root() {
        assert_eq!(controls, [true; 2], "what a program held was not found");
    }
}

/// Every file below a folder, except those in `but`.
fn files(folder: &Path, but: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path(), but));
        } else if kind.is_file() && !but.contains(&entry.path()) {
            found.push(entry.path());
        }
    }
    found
}

/// The text before a secret, for the failure message.
fn around(bytes: &[u8], found: Option<&str>) -> String {
    let text = String::from_utf8_lossy(bytes);
    let at = found
        .and_then(|secret| text.find(secret))
        .unwrap_or_default();
    let from = text.floor_char_boundary(at.saturating_sub(400));
    text[from..at].to_owned()
}
