//! Servers that `npx` and `uvx` fetch from a registry when they start.

use std::{fs, net::Ipv4Addr, path::Path, process::Command};

use axum::{Json, Router, response::Html, routing::get};
use mux_tests::{TestEnv, env, web::Web};
use serde_json::{Value, json};

use super::{has_bubblewrap, suggested::suggested};

/// An address of this machine that no proxy rule of muxd exempts. It stands for an Internet address.
const REGISTRY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// An MCP server with one tool, which returns a constant.
const JS_SERVER: &str = r"#!/usr/bin/env node
const reply = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') {
    reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'greeter', version: '1.0.0' } });
  } else if (method === 'tools/list') {
    reply(id, { tools: [{ name: 'greet', inputSchema: { type: 'object' } }] });
  } else if (method === 'tools/call') {
    reply(id, { content: [{ type: 'text', text: 'hello from npm' }] });
  } else if (id !== undefined) {
    console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } }));
  }
});
";
const PYTHON_SERVER: &str = r#"
import json, sys

def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        answer = {"error": {"code": -32601, "message": "no such method"}}
        if message["method"] == "initialize":
            version = message["params"]["protocolVersion"]
            answer = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "greeter", "version": "1.0.0"}}}
        elif message["method"] == "tools/list":
            answer = {"result": {"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]}}
        elif message["method"] == "tools/call":
            answer = {"result": {"content": [{"type": "text", "text": "hello from PyPI"}]}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"#;

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A registry of npm that has one package.
fn npm_registry(folder: &Path) -> Web {
    let package =
        json!({ "name": "greeter", "version": "1.0.0", "bin": { "greeter": "server.js" } });
    let content = folder.join("package");
    fs::create_dir_all(&content).unwrap();
    fs::write(content.join("package.json"), package.to_string()).unwrap();
    fs::write(content.join("server.js"), JS_SERVER).unwrap();
    let archive = folder.join("greeter-1.0.0.tgz");
    run(Command::new("tar")
        .arg("-czf")
        .args([&archive, Path::new("-C"), folder])
        .arg("package"));
    let archive = fs::read(archive).unwrap();
    let listed = move |host: String| {
        let mut version = package.clone();
        version["dist"] =
            json!({ "tarball": format!("http://{host}/greeter/-/greeter-1.0.0.tgz") });
        json!({ "name": "greeter", "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": version } })
    };
    let routes = Router::new()
        .route(
            "/greeter",
            get(|headers: axum::http::HeaderMap| async move {
                let host = headers["host"].to_str().unwrap().to_owned();
                Json::<Value>(listed(host))
            }),
        )
        .route("/greeter/-/greeter-1.0.0.tgz", get(|| async { archive }));
    Web::open_at(REGISTRY, routes)
}

/// An index of Python packages that has one package.
fn python_index(folder: &Path) -> Web {
    const WHEEL: &str = "greeter-1.0.0-py3-none-any.whl";
    const ABOUT: &str = "greeter-1.0.0.dist-info";
    let files = [
        ("greeter.py", PYTHON_SERVER),
        (
            "greeter-1.0.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: greeter\nVersion: 1.0.0\n",
        ),
        (
            "greeter-1.0.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        ),
        (
            "greeter-1.0.0.dist-info/entry_points.txt",
            "[console_scripts]\ngreeter = greeter:main\n",
        ),
        (
            "greeter-1.0.0.dist-info/RECORD",
            "greeter.py,,\ngreeter-1.0.0.dist-info/METADATA,,\ngreeter-1.0.0.dist-info/WHEEL,,\n\
             greeter-1.0.0.dist-info/entry_points.txt,,\ngreeter-1.0.0.dist-info/RECORD,,\n",
        ),
    ];
    fs::create_dir_all(folder.join(ABOUT)).unwrap();
    for (name, content) in files {
        fs::write(folder.join(name), content).unwrap();
    }
    run(Command::new(env::pypi("python"))
        .args(["-m", "zipfile", "-c", WHEEL, "greeter.py", ABOUT])
        .current_dir(folder));
    let wheel = fs::read(folder.join(WHEEL)).unwrap();
    let page = format!("<!DOCTYPE html><a href=\"/files/{WHEEL}\">{WHEEL}</a>");
    let routes = Router::new()
        .route("/simple/greeter/", get(|| async { Html(page) }))
        .route(&format!("/files/{WHEEL}"), get(|| async { wheel }));
    Web::open_at(REGISTRY, routes)
}

/// The server is observed, gets the sandbox that is suggested, and fetches its package in it. Then it works without a
/// network, from the fetched package.
#[track_caller]
fn works_in_its_sandbox(entry: &str, registry: Web, greeting: &str) {
    let env = TestEnv::new();
    env.write_config(&format!("[sandbox]\nmode = \"enforce\"\n{entry}"));
    let greet = || {
        let printed = env.mux(["call", "greeter.greet", "{}"]).ok().stdout;
        assert_eq!(printed.trim(), greeting);
        let servers = env.mux(["--json", "servers"]).ok().json();
        servers[0]["sandbox"].clone()
    };
    suggested(&env, "greeter", &["--write"], || drop(greet()));
    let host = registry.url.strip_prefix("http://").unwrap().to_owned();
    let shown = env
        .mux(["--json", "servers", "sandbox", "greeter"])
        .ok()
        .json();
    assert_eq!(shown["sandbox"]["network"], *host, "{shown:#}");
    let sandbox = greet();
    assert_eq!(sandbox["state"], "on", "{sandbox:#}");
    assert!(
        sandbox["layers"].to_string().contains("namespaces"),
        "{sandbox:#}"
    );

    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    let listed = format!("network = [\"{host}\"]");
    assert!(config.contains(&listed), "{config}");
    drop(registry);
    env.write_config(&config.replace(&listed, "network = \"none\""));
    env.mux(["reload"]).ok();
    assert_eq!(greet()["state"], "on");
}

#[test]
fn server_of_npx_works_in_the_suggested_sandbox_and_without_a_network() {
    if !has_bubblewrap() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let registry = npm_registry(folder.path());
    let entry = env::server("greeter", "npx".as_ref(), &["-y", "greeter"]);
    let entry = format!(
        "{entry}env = {{ npm_config_registry = {:?} }}\n",
        registry.url
    );
    works_in_its_sandbox(&entry, registry, "hello from npm");
}

#[test]
fn server_of_uvx_works_in_the_suggested_sandbox_and_without_a_network() {
    if !has_bubblewrap() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let index = python_index(folder.path());
    let entry = env::server("greeter", &env::pypi("uvx"), &["greeter"]);
    let url = format!("{}/simple", index.url);
    let entry =
        format!("{entry}env = {{ UV_DEFAULT_INDEX = {url:?}, UV_PYTHON_DOWNLOADS = \"never\" }}\n");
    works_in_its_sandbox(&entry, index, "hello from PyPI");
}
