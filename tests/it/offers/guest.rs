//! Resources and prompts in a program.

use mux_proto::{EventKind, Outcome};
use mux_tests::TestEnv;
use serde_json::{Value, json};

use super::{Client, with_offers};

/// The result of a program, which is not type-checked.
async fn result(env: &TestEnv, code: &str) -> Value {
    let client = Client::deaf(env).await;
    let run = client.start(code, false).await;
    match client.outcome(&run).await {
        Outcome::Result(value) => value.to_value(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn program_lists_and_reads_resources_and_prompts() {
    let (env, _) = with_offers("");
    let code = "const fix = mux.resources.fix;
        const uris = (await fix.list()).map((resource) => resource.uri);
        return {
          uris: uris.length,
          template: (await fix.templates())[0].uriTemplate,
          text: await fix.read('fix://text/hello'),
          json: (await fix.read('fix://json')).a,
          blob: await fix.read('fix://blob'),
          two: (await fix.read('fix://two')).map((part) => part.text),
          big: (await fix.read('fix://big')).length,
          prompts: (await mux.prompts.fix.list()).map((prompt) => prompt.name),
          prompt: await mux.prompts.fix.get('greet', { name: 'Ada' }),
        }";
    let blob = json!({ "uri": "fix://blob", "mimeType": "image/png", "blob": "AAEC" });
    let content = json!({ "type": "text", "text": "Hello, Ada!" });
    let message = json!({ "role": "user", "content": content });
    assert_eq!(
        result(&env, code).await,
        json!({
            "uris": 6,
            "template": "fix://text/{name}",
            "text": "hello",
            "json": [1, 2],
            "blob": blob,
            "two": ["one", "two"],
            "big": 400_000,
            "prompts": ["greet"],
            "prompt": { "description": "A greeting.", "messages": [message] },
        })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn resource_and_prompt_failures_are_tool_errors() {
    let rules = "[[policy]]\nmatch = \"fix.prompts/*\"\naction = \"deny\"\n";
    let (env, _) = with_offers(rules);
    let code = "const why = (call) => call().then(() => null, (e) => [e.name, e.kind, e.path]);
        return [
          await why(() => mux.resources.fix.read('fix://nowhere')),
          await why(() => mux.resources.fix.read(7)),
          await why(() => mux.resources.fxi.list()),
          await why(() => mux.prompts.fix.get('greet')),
          await why(() => mux.prompts.fix.get('greet', [])),
          Object.keys(mux.resources), typeof mux.prompts.fix.get, String(mux.resources),
        ]";
    assert_eq!(
        result(&env, code).await,
        json!([
            ["ToolError", "not_found", "fix.resources/read"],
            ["ToolError", "validation", "mux.resources.read"],
            ["ToolError", "not_found", "mux.resources.list"],
            ["ToolError", "denied", "fix.prompts/get"],
            ["ToolError", "validation", "mux.prompts.get"],
            ["fix"],
            "function",
            "[object Object]",
        ])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn resource_reads_count_as_calls_and_appear_in_run_events() {
    let (env, _) = with_offers("[limits]\ncalls = 2\n");
    let client = Client::deaf(&env).await;
    let code = "const read = () => mux.resources.fix.read('fix://json');
        await read(); await read(); await read()";
    let run = client.start(code, false).await;
    let events = client.events(&run).await;
    let paths: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.event {
            EventKind::CallEnded {
                path, error: None, ..
            } => Some(path.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(paths, ["fix.resources/read"; 2]);
    let Some(EventKind::Ended {
        outcome: Outcome::Error(error),
    }) = events.last().map(|event| &event.event)
    else {
        panic!("there are two calls only");
    };
    assert_eq!(error.kind, mux_proto::Kind::Limit);
}
