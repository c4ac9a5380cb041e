//! Policy rules: which rule decides a call, why the others do not, and how often each has decided.

use mux_proto::{
    CallRequest, ExplainPolicyRequest, Kind, Outcome, PolicyList, PolicyRequest, ToolsRequest,
};
use serde_json::{Value, json};

use crate::{
    client::{Client, ClientIdentity, within},
    home::Home,
};

const RULES: &str = "[[policy]]\nmatch = \"other.*\"\naction = \"deny\"\n\
    [[policy]]\nmatch = \"fix.*\"\nagent = \"small*\"\naction = \"deny\"\n\
    [[policy]]\nmatch = \"fix.add\"\narguments = { a = { over = 100 } }\naction = \"ask\"\nreason = \"much\"\n\
    [[policy]]\nmatch = \"fix.e*\"\nannotations = { read_only = true }\naction = \"allow\"\n\
    [[policy]]\nmatch = \"fix.*\"\naction = \"deny\"\nmach = 3\n";

fn with_rules() -> Home {
    let home = Home::new();
    home.write_config(&format!("{}{RULES}", home.fixture("fix", &[])));
    home
}

async fn explained(
    client: &Client,
    path: &str,
    arguments: Option<Value>,
    agent: Option<&str>,
) -> Value {
    client
        .explain_request(ExplainPolicyRequest {
            path: path.into(),
            arguments,
            agent: agent.map(str::to_owned),
            ..ExplainPolicyRequest::default()
        })
        .await
}

async fn rules(client: &Client) -> PolicyList {
    let list = client.rpc.policy(within(), PolicyRequest::default());
    list.await.unwrap().unwrap()
}

async fn decided(client: &Client) -> Vec<u64> {
    let rules = rules(client).await.rules.into_iter();
    rules.map(|rule| rule.decided).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_explains_which_rule_decides_and_why_the_others_do_not() {
    let home = with_rules();
    let client = Client::deaf(&home).await;
    client.tools(ToolsRequest::default()).await;
    let explanation = explained(&client, "fix.echo", Some(json!({ "text": "x" })), None).await;
    assert_eq!(
        (&explanation["action"], &explanation["known"]),
        (&json!("allow"), &json!(true))
    );
    assert_eq!(explanation["rule"]["number"], 4, "{explanation:#}");
    let steps = explanation["steps"].as_array().unwrap().iter();
    let outcomes: Vec<&str> = steps
        .map(|step| step["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["elsewhere", "unmet", "elsewhere", "decides"]);
    let because = &explanation["steps"][1]["because"];
    assert_eq!(because, "agent: a caller without --agent is not \"small*\"");
    assert_eq!(explanation["hints"], json!([["read_only", true]]));

    let small = explained(&client, "fix.echo", None, Some("small-model")).await;
    assert_eq!(
        (&small["action"], &small["rule"]["number"]),
        (&json!("deny"), &json!(2))
    );
    let much = json!({ "a": 200, "b": 1 });
    let much = explained(&client, "fix.add", Some(much), None).await;
    assert_eq!(
        (&much["action"], &much["rule"]["reason"]),
        (&json!("ask"), &json!("much"))
    );
    let few = json!({ "a": 2, "b": 1 });
    let few = explained(&client, "fix.add", Some(few), None).await;
    assert_eq!(few["rule"]["number"], 5);
    let mistake = few["rule"]["mistake"].as_str().unwrap();
    assert!(mistake.contains("did you mean `match`"), "{mistake}");
    assert_eq!(
        few["steps"][2]["because"],
        "arguments.a: 2 is not { over = 100 }"
    );
    let open = explained(&client, "fix.add", None, None).await;
    assert_eq!(
        (&open["depends"], &open["action"]),
        (&json!(true), &json!("deny"))
    );
    let wrong = explained(&client, "fix.add", Some(json!({ "a": "x" })), None).await;
    assert!(
        wrong["notes"].to_string().contains("the call would fail"),
        "{wrong}"
    );

    // No tool was called, and no decision counted.
    assert_eq!(decided(&client).await, [0; 5]);
    client.call("echo", json!({ "text": "x" })).await;
    let error = client.fails("pid", json!({})).await;
    assert_eq!(error.kind, Kind::Denied);
    let hint = error.hint.unwrap();
    assert!(hint.contains("cannot be understood"), "{hint}");
    assert_eq!(decided(&client).await, [0, 0, 0, 1, 1]);
    // Saving the file with the same rules keeps the counters.
    home.write_config(&format!("# new\n{}{RULES}", home.fixture("fix", &[])));
    client.reload().await;
    assert_eq!(decided(&client).await, [0, 0, 0, 1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_explains_unknown_tools_and_servers() {
    let home = with_rules();
    let client = Client::deaf(&home).await;
    let explanation = client.explain("fix.frobnicate").await;
    assert_eq!(explanation["known"], false);
    assert!(
        explanation["notes"].to_string().contains("not known yet"),
        "{explanation}"
    );
    assert_eq!(home.starts("fix"), 0);
    client.tools(ToolsRequest::default()).await;
    drop(client);
    home.stop().await;
    // The next daemon remembers the listed tools.
    let client = Client::deaf(&home).await;
    let explanation = client.explain("fix.echo").await;
    assert_eq!(
        (&explanation["known"], &explanation["rule"]["number"]),
        (&json!(true), &json!(4)),
        "{explanation:#}"
    );
    assert_eq!(home.starts("fix"), 1);
    let explanation = client.explain("fix.frobnicate").await;
    assert!(
        explanation["notes"]
            .to_string()
            .contains("has no tool `frobnicate`"),
        "{explanation}"
    );
    let explanation = client.explain("nowhere.x").await;
    assert!(
        explanation["notes"]
            .to_string()
            .contains("no server `nowhere`"),
        "{explanation}"
    );
    let explanation = client.explain("other.x").await;
    assert_eq!(explanation["action"], "deny");
    let explanation = client.explain("fix.resources/read").await;
    assert_eq!(explanation.get("notes"), None, "{explanation}");
    let request = ExplainPolicyRequest {
        path: "nonsense".into(),
        ..ExplainPolicyRequest::default()
    };
    let refused = client.rpc.explain_policy(within(), request);
    let error = refused.await.unwrap().unwrap_err();
    assert!(
        error.message.contains("not the path of a tool"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_allows_destructive_tools_where_no_user_can_be_asked() {
    let home = Home::new();
    let fix = home.fixture("fix", &[]);
    home.write_config(&fix);
    let client = Client::deaf(&home).await;
    let mark = json!({ "file": home.path("marks"), "line": "x" });
    client.call("side_effect", mark.clone()).await;
    assert_eq!(rules(&client).await.destructive_by_default, 1);
    let rule = "[[policy]]\nannotations = { destructive = true }\naction = \"deny\"\n";
    home.write_config(&format!("{fix}{rule}"));
    client.reload().await;
    let error = client.fails("side_effect", mark).await;
    assert!(
        error.message.contains("denied by the policy \"*\""),
        "{error:?}"
    );
    client.call("echo", json!({ "text": "x" })).await;
}

/// The outcome of each way to call `my-server.get-thing` as this client: `ok`, or the kind of the error.
async fn outcomes(client: &Client, id: &str) -> Vec<String> {
    let arguments = json!({ "id": id });
    let call = |path: &str, raw: bool| {
        client.begin_request(CallRequest {
            path: path.into(),
            arguments: arguments.clone().into(),
            raw,
            ..CallRequest::default()
        })
    };
    let step = ("my-server.get-thing", arguments.clone());
    let run = client.start_steps(&[step], false).await;
    let mut outcomes = vec![match client.outcome(&run).await {
        Outcome::Error(error) => error.kind.to_string(),
        _ => "ok".to_owned(),
    }];
    for (path, raw) in [
        ("my-server.get-thing", false),
        ("my_server.get_thing", false),
        ("my-server.get-thing", true),
    ] {
        let outcome = call(path, raw).await.unwrap();
        outcomes.push(outcome.map_or_else(|error| error.kind.to_string(), |_| "ok".to_owned()));
    }
    outcomes
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_of_rules_decide_for_every_way_of_calling() {
    let home = Home::new();
    let server = home.fixture("my-server", &[]);
    home.write_config(&server);
    let identity = |agent| ClientIdentity {
        agent,
        workspace: Some(home.dirs.config.clone()),
        ..ClientIdentity::default()
    };
    let user = Client::of(&home, &identity(None)).await;
    let small = Client::of(&home, &identity(Some("small"))).await;
    let rule = |conditions: &str| {
        format!("[[policy]]\nmatch = \"my-server.get-*\"\naction = \"deny\"\n{conditions}")
    };
    let own = "[agents.small]\npolicy = [{ match = \"my-server.*\", action = \"deny\" }]\n";
    let none = format!("{}[agents.small]\npolicy = []\n", rule(""));
    let ask = "[approvals]\nwait = \"1s\"\n[[policy]]\nmatch = \"*\"\nserver = \"my-*\"\naction = \"ask\"\n";
    for (rules, of_user, of_small) in [
        (ask.to_owned(), "pending", "pending"),
        (rule("agent = \"small\"\n"), "ok", "denied"),
        (own.to_owned(), "ok", "denied"),
        (none, "denied", "ok"),
        (
            rule("annotations = { read_only = true }\nworkspace = \"~\"\n"),
            "denied",
            "denied",
        ),
        (rule("annotations = { read_only = false }\n"), "ok", "ok"),
        (rule("clinet = \"x\"\n"), "denied", "denied"),
        (rule("arguments = { id = \"secret*\" }\n"), "ok", "ok"),
        (rule("arguments = { id = \"x*\" }\n"), "denied", "denied"),
    ] {
        home.write_config(&format!("{server}{rules}"));
        user.reload().await;
        assert_eq!(outcomes(&user, "x").await, [of_user; 4], "{rules}");
        assert_eq!(outcomes(&small, "x").await, [of_small; 4], "{rules}");
    }
    assert_eq!(home.starts("my-server"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn first_matching_rule_decides_and_an_unknown_action_denies() {
    let home = Home::new();
    home.write_config(&format!(
        "{}\
         [[policy]]\nmatch = \"fix.echo\"\naction = \"allow\"\n\
         [[policy]]\nmatch = \"fix.e*\"\naction = \"deny\"\n\
         [[policy]]\nmatch = \"fix.pid\"\naction = \"dney\"\n",
        home.fixture("fix", &[]),
    ));
    let client = Client::deaf(&home).await;
    client.call("echo", json!({ "text": "x" })).await;
    client.call("add", json!({ "a": 1, "b": 1 })).await;
    for (tool, arguments, rule) in [
        ("echo_json", json!({ "value": 1 }), "\"fix.e*\""),
        ("pid", json!({}), "\"fix.pid\""),
    ] {
        let error = client.fails(tool, arguments).await;
        assert_eq!(error.kind, Kind::Denied);
        assert!(error.message.contains(rule), "{error:?}");
    }
    let status = client.rpc.status(within()).await.unwrap().unwrap();
    let problems = format!("{:?}", status.problems);
    let said = "is none of allow, ask, deny; denied";
    assert!(problems.contains(said), "{problems}");
}
