//! Search and descriptions over the socket.

use mux_client::{Session, within_seconds};
use mux_proto::{
    AnyKind, DescribeRequest, Descriptions, Error, Kind, SearchPage, SearchRequest, ToolInfo,
    ToolsRequest,
};
use mux_tests::TestEnv;

use super::{PATIENCE, client, inventory};

pub(super) async fn search(session: &Session, request: SearchRequest) -> Result<SearchPage, Error> {
    let page = session.client.search(within_seconds(PATIENCE), request);
    page.await.unwrap()
}

pub(super) fn query(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.into(),
        ..SearchRequest::default()
    }
}

pub(super) async fn describe(session: &Session, paths: &[&str]) -> Result<Descriptions, Error> {
    let request = DescribeRequest {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        schemas: true,
        ..DescribeRequest::default()
    };
    let described = session.client.describe(within_seconds(PATIENCE), request);
    described.await.unwrap()
}

pub(super) async fn tools(session: &Session, request: ToolsRequest) -> Vec<ToolInfo> {
    let list = session.client.tools(within_seconds(PATIENCE), request);
    list.await.unwrap().unwrap().tools
}

#[tokio::test(flavor = "multi_thread")]
async fn search_starts_no_server_and_finds_tools_once_known() {
    let env = TestEnv::with_fixtures(&[("fix", &[]), ("other", &["--tools", "200"])]);
    let session = client(&env, None).await;
    let none = search(&session, query("echo")).await.unwrap();
    assert_eq!((none.results.len(), none.total), (0, 0));
    assert_eq!(none.unknown, ["fix", "other"]);
    let inventory = inventory(&session, 500, 0).await;
    assert_eq!(inventory.overview, "not connected yet: fix, other\n");
    assert!(
        inventory
            .text
            .starts_with("PARTIAL: 0 of 0 known signatures, without those of 2 servers")
    );
    assert!(env.starts("fix").is_empty());

    // Describing a tool starts its server.
    let described = describe(&session, &["fix.echo", "fix.get-thing"])
        .await
        .unwrap();
    assert_eq!(described.tools[0].tool.path, "fix.echo");
    assert!(described.tools[0].tool.input_schema.is_some());
    assert!(
        described.tools[0]
            .declaration
            .contains("mux.fix.echo(args: { text: string })")
    );
    assert_eq!(described.tools[1].tool.name, "get-thing");
    let found = search(&session, query("echo")).await.unwrap();
    assert_eq!(found.results[0].path, "fix.echo");
    assert!(found.results[0].signature.starts_with("fix.echo(args: "));
    assert_eq!(found.unknown, ["other"]);
    assert_eq!((env.starts("fix").len(), env.starts("other").len()), (1, 0));

    // All pages together are the complete result. A change between pages is an error.
    let whole = SearchRequest {
        limit: Some(100),
        ..query("text")
    };
    let whole = search(&session, whole).await.unwrap();
    let mut all = Vec::new();
    let mut request = SearchRequest {
        limit: Some(2),
        ..query("text")
    };
    let mut first = None;
    loop {
        let page = search(&session, request.clone()).await.unwrap();
        all.extend(page.results);
        first = first.or_else(|| page.next.clone());
        request.cursor = page.next;
        if request.cursor.is_none() {
            break;
        }
    }
    assert_eq!((all.len(), all), (whole.total, whole.results));
    describe(&session, &["other.echo"]).await.unwrap();
    request.cursor = first;
    let error = search(&session, request).await.unwrap_err();
    assert_eq!(error.kind, Kind::Validation);
    assert!(error.message.contains("have changed"), "{error:?}");
    // A tool is found by its full path.
    let found = search(&session, query("other.create_issue_0002"))
        .await
        .unwrap();
    assert_eq!(found.results[0].path, "other.create_issue_0002");
    let within = SearchRequest {
        server: Some("other".into()),
        ..query("echo")
    };
    let found = search(&session, within).await.unwrap();
    assert!(
        found.results.iter().all(|hit| hit.server == "other"),
        "{found:?}"
    );
}

#[test]
fn tool_searches_count_as_calls_of_a_run() {
    let env = TestEnv::new();
    env.write_config("[limits]\ncalls = 4\n");
    let look = "await mux.search('x'); await mux.discover({ query: 'x' }); \
                await mux.catalog.tools({}); await mux.catalog.namespaces();";
    assert_eq!(env.result(&format!("{look} return 1")), 1);
    let error = env.error(&format!("{look} return await mux.search('x')"));
    assert_eq!(error["kind"], "limit", "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn describe_reports_missing_tools_individually() {
    let env = TestEnv::with_fixtures(&[("fix", &[]), ("gone", &["--exit-at-start", "9"])]);
    let session = client(&env, None).await;
    let paths = [
        "fix.ecoh", "gone.x", "fxi.echo", "fix.add", "", ".", "fix.", "fix.add",
    ];
    let described = describe(&session, &paths).await.unwrap();
    let named: Vec<&str> = described
        .tools
        .iter()
        .map(|d| d.tool.path.as_str())
        .collect();
    assert_eq!(named, ["fix.add"]);
    let kinds: Vec<AnyKind> = described
        .missing
        .iter()
        .map(|error| error.kind.clone())
        .collect();
    assert_eq!(kinds.len(), 6, "{:?}", described.missing);
    assert_eq!(
        kinds.iter().filter(|kind| **kind == Kind::NotFound).count(),
        5
    );
    assert_eq!(kinds[1], Kind::Unavailable);
    let hint = described.missing[0].hint.as_deref().unwrap();
    assert!(hint.contains("fix.echo(args: "), "{hint}");
    let many = vec!["fix.add"; 101];
    let error = describe(&session, &many).await.unwrap_err();
    assert_eq!(error.kind, Kind::Validation);
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_definitions_are_passed_on_completely_and_cached() {
    let env = TestEnv::with_fixtures(&[("fix", &["--tools", "3"])]);
    let request = || ToolsRequest {
        definitions: true,
        server: Some("fix".into()),
        query: Some("synthetic".into()),
        ..ToolsRequest::default()
    };
    let session = client(&env, None).await;
    let connected = tools(&session, request()).await;
    let definition = connected[0].definition.as_ref().unwrap();
    assert_eq!(definition["name"], "list_issue_0000");
    assert_eq!(definition["title"], "list issue");
    assert_eq!(definition["annotations"]["readOnlyHint"], true);
    assert_eq!(definition["inputSchema"]["required"][0], "name");
    drop(session);
    env.stop();
    let session = client(&env, None).await;
    // The new daemon has not connected to the server yet.
    let found = search(&session, query("list issue")).await.unwrap();
    assert_eq!(found.results[0].path, "fix.list_issue_0000");
    assert_eq!(env.starts("fix").len(), 1);
    assert_eq!(tools(&session, request()).await, connected);
}
