//! `mux tools`, `mux types` and `mux call` on all real servers together.

use mux_tests::TestEnv;
use serde_json::json;

use super::{everything, files, git, memory, says, thinking, time};

const SERVERS: [&str; 6] = ["everything", "files", "git", "memory", "thinking", "time"];

#[test]
fn real_commands_list_declare_and_call_every_server() {
    let env = TestEnv::new();
    let parts = [
        everything(),
        files(&env),
        git(),
        memory(&env),
        thinking(),
        time(),
    ];
    env.write_config(&parts.concat());

    lists(&env);
    declares(&env);
    calls(&env);
    // Everything above used one session per server.
    let servers = env.mux(["servers", "--json"]).ok().json();
    for server in servers.as_array().unwrap() {
        assert_eq!(server["state"], "ready", "{server:#}");
        assert_eq!(server["starts"], 1, "{server:#}");
    }
}

fn lists(env: &TestEnv) {
    let list = env.mux(["tools", "--json"]).ok().json();
    assert_eq!(list["missing"], json!([]));
    assert_eq!(list["warnings"], json!([]));
    let tools = list["tools"].as_array().unwrap();
    assert_eq!(list["total"], tools.len());
    for server in SERVERS {
        let of_server = tools.iter().filter(|tool| tool["server"] == server);
        assert_ne!(of_server.count(), 0, "{server} lists nothing");
    }
    for path in [
        "everything.get_sum",
        "files.read_text_file",
        "git.git_log",
        "memory.create_entities",
        "thinking.sequentialthinking",
        "time.convert_time",
    ] {
        assert!(
            tools.iter().any(|tool| tool["path"] == path),
            "{path} is missing"
        );
    }
    let sum = tools
        .iter()
        .find(|tool| tool["path"] == "everything.get_sum");
    assert_eq!(sum.unwrap()["name"], "get-sum");
    let shown = env.mux(["tools", "knowledge", "graph"]).ok();
    says(&shown, &["memory.read_graph()", "destructive"]);
    assert!(!shown.stdout.contains("git_log"), "{shown:#?}");
}

fn declares(env: &TestEnv) {
    let types = env.mux(["types"]).ok();
    for server in SERVERS {
        says(&types, &[&format!("readonly {server}: Mux.")]);
    }
    says(
        &types,
        &[
            "declare const mux: Mux;",
            "get_structured_content(args: {",
            "location: \"New York\" | \"Chicago\" | \"Los Angeles\";",
            "git_log(args: {",
            "thoughtHistoryLength: number;",
            "time_difference: string",
        ],
    );
    let one = env.mux(["types", "time.get_current_time"]).ok();
    says(&one, &["mux.time.get_current_time(args: {"]);
    assert!(!one.stdout.contains("convert_time"), "{one:#?}");
}

/// Every way to pass arguments, each on a server where it matters.
fn calls(env: &TestEnv) {
    let file = env.path("files/note.txt");
    let file = file.to_str().unwrap();
    let call = |args: &[&str]| env.mux([&["call"], args].concat()).ok();

    let sum = call(&["everything.get-sum", "a=2", "b=0.5"]);
    assert_eq!(sum.stdout, "The sum of 2 and 0.5 is 2.5.\n");
    let entity = r#"{"entities": [{"name": "x", "entityType": "t", "observations": ["o"]}]}"#;
    says(
        &call(&["memory.create_entities", entity]),
        &["\"entityType\": \"t\""],
    );
    let text = format!(r#"{{"path": {file:?}, "content": "from standard input\n"}}"#);
    env.mux_with_input(["call", "files.write_file", "-"], text.as_bytes())
        .ok();
    assert_eq!(
        std::fs::read_to_string(file).unwrap(),
        "from standard input\n"
    );
    let read = call(&[
        "files.read_text_file",
        &format!("path={file}"),
        "head=1",
        "--json",
    ]);
    assert_eq!(
        read.json(),
        json!({ "ok": true, "result": { "content": "from standard input" } })
    );
    says(
        &call(&[
            "thinking.sequentialthinking",
            "thought=1",
            "nextThoughtNeeded=false",
            "thoughtNumber=1",
            "totalThoughts=1",
        ]),
        &["\"thoughtHistoryLength\": 1"],
    );
    says(
        &call(&["time.get_current_time", "timezone=UTC"]),
        &["\"timezone\": \"UTC\""],
    );
    env.mux(["call", "git.git_status", &format!("repo_path={file}")])
        .fails(1, &["error[tool]", "note.txt"]);
}
