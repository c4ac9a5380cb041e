//! Tools that are hidden from an agent do not exist for it, however it looks for them or calls them.

use mux_client::{Session, within_seconds};
use mux_proto::{
    AnyKind, CallRequest, CheckRequest, Error, Kind, Outcome, RunRequest, ToolsRequest,
    TypesRequest, WatchTypesRequest,
};
use mux_tests::{TestEnv, env::compiler};
use serde_json::{Value, json};

use super::{
    PATIENCE, client, inventory,
    words::{describe, query, search, tools},
};

/// `small` sees neither `fix.add`, nor `my-server.get-thing`, nor anything of `web`.
const AGENTS: &str = "[agents.small]\nexclude = [\"fix.add\", \"my_server.get_*\", \"web.*\"]\n\
    direct = [\"fix.p*\"]\n[agents.big]\ncheck = \"off\"\n";

fn home() -> TestEnv {
    let env = TestEnv::new();
    let direct = |entry: String| entry + "tools = { direct = [\"ech*\", \"add\"] }\n";
    env.write_config(&format!(
        "{}{}{}{AGENTS}[check]\ntsc = {:?}\n",
        direct(env.fixture("fix", &[])),
        env.fixture("my-server", &[]),
        env.fixture("web", &[]),
        compiler()
    ));
    env.mux(["tools"]).ok();
    env
}

async fn call(session: &Session, path: &str, raw: bool) -> Result<(), Error> {
    let request = CallRequest {
        path: path.into(),
        arguments: json!({ "a": 1, "b": 2, "id": "x" }).into(),
        raw,
        ..CallRequest::default()
    };
    let answer = session.client.call(within_seconds(PATIENCE), request);
    answer.await.unwrap().map(|_| ())
}

async fn run(session: &Session, source: &str) -> Outcome {
    let request = RunRequest {
        source: source.into(),
        no_check: true,
        ..RunRequest::default()
    };
    let finished = mux_client::run(session, request, |_| {}).await;
    finished.unwrap().outcome
}

/// The content of an error, with the requested name replaced.
fn words(error: &Error, name: &str) -> (AnyKind, String, Option<String>, bool) {
    let hint = error.hint.as_ref().map(|hint| hint.replace(name, "NAME"));
    let message = error.message.replace(name, "NAME");
    (error.kind.clone(), message, hint, error.recoverable)
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_tool_is_not_found_however_it_is_called() {
    let env = home();
    let small = client(&env, Some("small")).await;
    let big = client(&env, Some("big")).await;
    // No visible tool has a name similar to `qqq`, or to the hidden `add`.
    for (hidden, absent) in [("fix.add", "fix.qqq"), ("web.pid", "web.qqq")] {
        let (server, tool) = hidden.split_once('.').unwrap();
        let missing = absent.split_once('.').unwrap().1;
        for raw in [false, true] {
            call(&big, hidden, raw).await.unwrap();
            let error = call(&small, hidden, raw).await.unwrap_err();
            let other = call(&small, absent, raw).await.unwrap_err();
            assert_eq!(words(&error, tool), words(&other, missing));
            assert_eq!(error.kind, Kind::NotFound);
        }
        for how in [
            format!("mux.{server}.NAME(args)"),
            format!("mux[\"{server}\"][\"NAME\"](args)"),
            format!("mux[\"{server}.NAME\"](args)"),
            format!("mux.call(\"{server}.NAME\", args)"),
            format!("mux.call.raw(\"{server}.NAME\", args)"),
        ] {
            let program = |name| {
                format!(
                    "const args = {{ a: 1, b: 2 }}; return await {}",
                    how.replace("NAME", name)
                )
            };
            let fine = run(&big, &program(tool)).await;
            assert!(matches!(fine, Outcome::Result(_)), "{how}: {fine:?}");
            let (Outcome::Error(error), Outcome::Error(other)) = (
                run(&small, &program(tool)).await,
                run(&small, &program(missing)).await,
            ) else {
                panic!("{how} was called");
            };
            assert_eq!(words(&error, tool), words(&other, missing), "{how}");
            assert_eq!(error.kind, Kind::NotFound);
        }
    }
    // A server without visible tools is not named in hints either.
    let error = call(&small, "wbe.pid", false).await.unwrap_err();
    assert_eq!(error.hint.unwrap(), "known servers: fix, my-server");
    // Every spelling is hidden.
    for path in [
        "my-server.get-thing",
        "my_server.get_thing",
        "my-server.get_thing",
    ] {
        call(&big, path, false).await.unwrap();
        let error = call(&small, path, false).await.unwrap_err();
        assert_eq!(error.kind, Kind::NotFound, "{path}");
        assert!(!error.hint.unwrap_or_default().contains("get"), "{path}");
    }
    assert_eq!(env.starts("web").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_tool_is_in_no_list() {
    let env = home();
    let small = client(&env, Some("small")).await;
    let big = client(&env, None).await;
    let hidden = ["fix.add", "my_server.get_thing", "web."];
    let none_of = |text: &str| {
        for path in hidden {
            assert!(!text.contains(path), "{path} in {text}");
        }
    };
    for (session, is_small) in [(&small, true), (&big, false)] {
        let listed = tools(session, ToolsRequest::default()).await;
        let paths: Vec<&str> = listed.iter().map(|tool| tool.path.as_str()).collect();
        assert_eq!(!paths.contains(&"fix.add"), is_small);
        let found = search(session, query("adds two numbers, get thing, web"))
            .await
            .unwrap();
        let hits: Vec<&str> = found.results.iter().map(|hit| hit.path.as_str()).collect();
        let all = search(session, query("")).await.unwrap();
        assert_eq!(all.total, listed.len());
        let described = describe(session, &["fix.add", "my-server", "web"])
            .await
            .unwrap();
        let described: Vec<&str> = described
            .tools
            .iter()
            .map(|d| d.tool.path.as_str())
            .collect();
        let output = inventory(session, 20_000, 0).await;
        assert_eq!(output.total, listed.len());
        let request = TypesRequest::default();
        let types = session.client.types(within_seconds(PATIENCE), request);
        let types = types.await.unwrap().unwrap();
        let request = WatchTypesRequest::default();
        let watched = session
            .client
            .watch_types(within_seconds(PATIENCE), request);
        let watched = watched.await.unwrap().unwrap().text.unwrap();
        let program = "const { namespaces } = await mux.catalog.namespaces({});
            const tools = await mux.catalog.tools({ limit: 100 });
            return [Object.keys(mux), Object.keys(mux.fix), Object.keys(mux['my-server']),
              namespaces, tools.results.map((tool) => tool.path), await mux.describe('fix', 'web'),
              (await mux.search('add')).results, (await mux.discover({ query: 'web pid' })).bestPath]";
        let Outcome::Result(seen) = run(session, program).await else {
            panic!("it fails");
        };
        let keys = |value: &Value, key: &str| value.as_array().unwrap().contains(&key.into());
        assert_eq!(!keys(&seen.to_value()[0], "web"), is_small);
        assert_eq!(!keys(&seen.to_value()[1], "add"), is_small);
        assert_eq!(!keys(&seen.to_value()[2], "get-thing"), is_small);
        let texts = [
            paths.join(" "),
            hits.join(" "),
            described.join(" "),
            output.text,
        ];
        if is_small {
            for text in &texts {
                none_of(text);
            }
            none_of(&seen.to_string());
            for types in [&types, &watched] {
                assert!(!types.contains("interface Web "));
                // Only the other server's tools remain.
                assert_eq!(types.matches("    add(").count(), 1);
                assert_eq!(types.matches("    get_thing(").count(), 1);
            }
            assert_eq!(seen.to_value()[3].as_array().unwrap().len(), 2, "{seen}");
        } else {
            let all = texts.join(" ") + &seen.to_string();
            for path in &hidden {
                assert!(all.contains(path), "{path} not in {all}");
            }
            assert!(types.contains("    add(") && watched.contains("interface Web "));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn program_is_checked_against_the_tools_of_its_agent() {
    let env = home();
    for (agent, errors) in [(Some("small"), 2), (None, 0), (Some("stranger"), 0)] {
        let session = client(&env, agent).await;
        let source = "await mux.fix.add({ a: 1, b: 2 });\nawait mux.web.pid({});\nreturn 1";
        let request = CheckRequest {
            source: source.into(),
        };
        let found = session.client.check(within_seconds(PATIENCE), request);
        let found = found.await.unwrap().unwrap();
        assert_eq!(found.unchecked, None);
        assert_eq!(found.errors.len(), errors, "{agent:?} {:?}", found.errors);
        for error in &found.errors {
            let hint = error.hint.as_deref().unwrap_or_default();
            assert!(
                !hint.contains("add(args") && !hint.contains("web"),
                "{error:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn direct_tools_depend_on_server_and_agent_config() {
    let env = home();
    for (agent, expected) in [
        (None, &["fix.add", "fix.echo", "fix.echo_json"][..]),
        (Some("big"), &["fix.add", "fix.echo", "fix.echo_json"][..]),
        (Some("small"), &[][..]),
    ] {
        let session = client(&env, agent).await;
        let request = ToolsRequest {
            direct: true,
            ..ToolsRequest::default()
        };
        let mut direct = tools(&session, request).await;
        direct.sort_by(|a, b| a.path.cmp(&b.path));
        assert!(direct.iter().all(|tool| tool.direct));
        let paths: Vec<&str> = direct.iter().map(|tool| tool.path.as_str()).collect();
        if agent == Some("small") {
            assert!(
                paths.contains(&"fix.pid") && paths.iter().all(|path| path.starts_with("fix.p"))
            );
        } else {
            assert_eq!(paths, expected);
        }
    }
    // Changes of the file take effect with the next request, without restarting a server.
    let session = client(&env, Some("big")).await;
    assert!(call(&session, "fix.add", false).await.is_ok());
    let config = std::fs::read_to_string(env.dirs.config_file()).unwrap();
    env.write_config(&config.replace(
        "[agents.big]",
        "[agents.big]\nexclude = [\"*.add\"]\ndirect = []",
    ));
    env.mux(["reload"]).ok();
    let error = call(&session, "fix.add", false).await.unwrap_err();
    assert_eq!(error.kind, Kind::NotFound);
    let request = ToolsRequest {
        direct: true,
        ..ToolsRequest::default()
    };
    assert_eq!(tools(&session, request).await, []);
    assert_eq!(env.starts("fix").len(), 1);
}
