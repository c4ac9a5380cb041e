//! Typical queries of people and models, over a realistic pool of tools.

use mux_settings::ToolOverrides;
use serde_json::{Map, Value, json};

use super::*;
use crate::ToolDescription;
use discovery::{DiscoverySet, DiscoveryTool, JUDGED_HITS, PlainBm25, RankingFigures};

#[path = "../../../../tests/src/discovery.rs"]
#[expect(unreachable_pub, reason = "shared with the benchmarks")]
mod discovery;

/// Servers, each with `name(arguments): description` of its tools.
const POOL: &[(&str, &[&str])] = &[
    (
        "browser",
        &[
            "browser_navigate(url): Navigate to a URL",
            "browser_click(element, ref): Perform click on a web page",
            "browser_take_screenshot(filename, fullPage): Take a screenshot of the current page",
            "browser_fill_form(fields): Fill multiple form fields",
            "browser_press_key(key): Press a key on the keyboard",
            "browser_close(): Close the page",
        ],
    ),
    (
        "calendar",
        &[
            "createEvent(title, start, end, attendees): Adds an event to a calendar",
            "listEvents(from, until): Lists the events between two dates",
            "deleteEvent(id): Removes an event",
            "findFreeTime(attendees, minutes): Finds a time at which everybody is free",
        ],
    ),
    (
        "files",
        &[
            "read_file(path): Read the complete contents of a file as text. DEPRECATED: use read_text_file",
            "read_text_file(path, head, tail): Read the complete contents of a file from the file system as text",
            "read_media_file(path): Read an image or audio file. Returns the base64 encoded data",
            "read_multiple_files(paths): Read the contents of multiple files simultaneously",
            "write_file(path, content): Create a new file or completely overwrite an existing file",
            "edit_file(path, edits, dryRun): Make line-based edits to a text file",
            "create_directory(path): Create a new directory or ensure a directory exists",
            "list_directory(path): Get a detailed listing of all files and directories in a path",
            "directory_tree(path, excludePatterns): Get a recursive tree view of files and directories as JSON",
            "move_file(source, destination): Move or rename files and directories",
            "search_files(path, pattern, excludePatterns): Recursively search for files and directories matching a pattern",
            "get_file_info(path): Retrieve detailed metadata about a file or directory: size, permissions",
        ],
    ),
    (
        "git",
        &[
            "git_status(repo_path): Shows the working tree status",
            "git_diff_unstaged(repo_path, context_lines): Shows changes in the working directory that are not yet staged",
            "git_diff(repo_path, target): Shows differences between branches or commits",
            "git_commit(repo_path, message): Records changes to the repository",
            "git_add(repo_path, files): Adds file contents to the staging area",
            "git_log(repo_path, max_count): Shows the commit logs",
            "git_create_branch(repo_path, branch_name): Creates a new branch from an optional base branch",
            "git_checkout(repo_path, branch_name): Switches branches",
            "git_show(repo_path, revision): Shows the contents of a commit",
        ],
    ),
    (
        "github",
        &[
            "create_issue(owner, repo, title, body): Create a new issue in a GitHub repository",
            "list_issues(owner, repo, state): List issues in a GitHub repository",
            "get_issue(owner, repo, issue_number): Get details of a specific issue",
            "add_issue_comment(owner, repo, issue_number, body): Add a comment to an issue",
            "create_pull_request(owner, repo, head, base): Create a new pull request",
            "merge_pull_request(owner, repo, pull_number): Merge a pull request",
            "list_pull_requests(owner, repo): List pull requests",
            "search_repositories(query): Search for GitHub repositories",
            "search_code(q): Search for code across repositories",
            "fork_repository(owner, repo): Fork a repository to your account",
            "get_file_contents(owner, repo, path): Get the contents of a file or directory from a repository",
        ],
    ),
    (
        "memory",
        &[
            "create_entities(entities): Create multiple new entities in the knowledge graph",
            "add_observations(observations): Add new observations to existing entities in the knowledge graph",
            "delete_entities(entityNames): Delete entities and their relations from the knowledge graph",
            "read_graph(): Read the entire knowledge graph",
            "search_nodes(query): Search for nodes in the knowledge graph based on a query",
            "open_nodes(names): Open specific nodes by their names",
        ],
    ),
    (
        "postgres",
        &[
            "query(sql): Run a read-only SQL query",
            "list_tables(schema): List the tables of a schema",
            "describe_table(table): The columns of a table, with their types",
        ],
    ),
    (
        "slack",
        &[
            "slack_post_message(channel_id, text): Post a new message to a channel",
            "slack_list_channels(limit, cursor): List public channels in the workspace",
            "slack_add_reaction(channel_id, timestamp, reaction): Add a reaction emoji to a message",
            "slack_get_users(cursor): Get a list of all users in the workspace",
            "slack_reply_to_thread(channel_id, thread_ts, text): Reply to a specific message thread",
        ],
    ),
    (
        "time",
        &[
            "get_current_time(timezone): Get current time in a specific timezone",
            "convert_time(source_timezone, time, target_timezone): Convert time between timezones",
        ],
    ),
];

fn described(line: &str) -> ToolDescription {
    let (head, description) = line.split_once(": ").unwrap();
    let (name, arguments) = head.trim_end_matches(')').split_once('(').unwrap();
    let properties: Map<String, Value> = arguments
        .split(", ")
        .filter(|name| !name.is_empty())
        .map(|name| (name.to_owned(), json!({ "type": "string" })))
        .collect();
    ToolDescription {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        input_schema: json!({ "type": "object", "properties": properties }).into(),
        ..ToolDescription::default()
    }
}

fn server(name: &str, tools: &[&str]) -> KnownServer {
    let described = tools.iter().map(|line| described(line)).collect();
    KnownServer {
        name: name.to_owned(),
        tools: Some(Arc::new(ToolSet::new(
            name,
            described,
            &[],
            &ToolOverrides::default(),
        ))),
        note: None,
    }
}

fn pool() -> Vec<KnownServer> {
    POOL.iter()
        .map(|(name, tools)| server(name, tools))
        .collect()
}

fn query(text: &str, limit: usize) -> SearchQuery {
    SearchQuery {
        text: text.to_owned(),
        limit,
        ..SearchQuery::default()
    }
}

fn paths(page: &SearchResults) -> Vec<String> {
    let paths = page.hits.iter().map(|hit| hit.tools.path(&hit.tool));
    paths.collect()
}

async fn first(pool: &[KnownServer], text: &str) -> String {
    let page = search(pool, &query(text, 3)).await.unwrap();
    let found = paths(&page).into_iter().next();
    found.unwrap_or_else(|| "nothing".to_owned())
}

#[tokio::test]
async fn intended_tool_is_the_first_hit() {
    let pool = pool();
    let mut wrong = Vec::new();
    for (text, expected) in [
        // Names and paths, however they are written.
        ("files.read_file", "files.read_file"),
        ("mux.files.read_file", "files.read_file"),
        ("read_file", "files.read_file"),
        ("readFile", "files.read_file"),
        ("readfile", "files.read_file"),
        ("read file", "files.read_file"),
        ("query", "postgres.query"),
        ("create_event", "calendar.createEvent"),
        ("git commit", "git.git_commit"),
        ("list issues", "github.list_issues"),
        // Tasks in free text.
        (
            "send a message to a slack channel",
            "slack.slack_post_message",
        ),
        ("create a github issue", "github.create_issue"),
        ("comment on an issue", "github.add_issue_comment"),
        (
            "take a screenshot of the page",
            "browser.browser_take_screenshot",
        ),
        ("go to a url", "browser.browser_navigate"),
        ("click", "browser.browser_click"),
        ("what is the current time", "time.get_current_time"),
        ("convert timezones", "time.convert_time"),
        ("rename a file", "files.move_file"),
        ("overwrite file", "files.write_file"),
        ("image file", "files.read_media_file"),
        ("metadata of a file", "files.get_file_info"),
        ("find files matching a pattern", "files.search_files"),
        ("switch branch", "git.git_checkout"),
        ("new branch", "git.git_create_branch"),
        ("staged changes", "git.git_diff_unstaged"),
        ("merge pull request", "github.merge_pull_request"),
        ("list pull requests", "github.list_pull_requests"),
        ("sql", "postgres.query"),
        ("columns of a table", "postgres.describe_table"),
        ("emoji", "slack.slack_add_reaction"),
        ("thread", "slack.slack_reply_to_thread"),
        ("knowledge graph search", "memory.search_nodes"),
        ("delete entities", "memory.delete_entities"),
        ("free time with attendees", "calendar.findFreeTime"),
        ("remove event", "calendar.deleteEvent"),
        // Arguments.
        ("thread_ts", "slack.slack_reply_to_thread"),
        ("dryRun", "files.edit_file"),
        // Prefixes and plurals.
        ("screensh", "browser.browser_take_screenshot"),
        ("repos fork", "github.fork_repository"),
        ("directories tree", "files.directory_tree"),
        // Typos.
        ("screnshot", "browser.browser_take_screenshot"),
        ("comit", "git.git_commit"),
        ("isseu comment", "github.add_issue_comment"),
        ("recation", "slack.slack_add_reaction"),
        ("observatoins", "memory.add_observations"),
        ("zzzzzz", "nothing"),
        ("qqq", "nothing"),
        ("12345678", "nothing"),
    ] {
        let found = first(&pool, text).await;
        if found != expected {
            wrong.push(format!("{text:?}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn deprecated_tool_ranks_below_its_successor_unless_it_is_named() {
    let pool = pool();
    for text in [
        "raed_file",
        "read a text file",
        "read the contents of a file as text",
    ] {
        let found = first(&pool, text).await;
        assert_ne!(found, "files.read_file", "{text}");
    }
    let page = search(&pool, &query("read", 50)).await.unwrap();
    let found = paths(&page);
    let at = |path: &str| found.iter().position(|found| found == path);
    assert!(
        at("files.read_file") > at("files.read_text_file"),
        "{found:?}"
    );
}

#[tokio::test]
async fn more_matching_words_rank_first() {
    let pool = pool();
    let page = search(&pool, &query("pull request fork", 50))
        .await
        .unwrap();
    let scores: Vec<f64> = page.hits.iter().map(|hit| hit.score).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(scores[0] > 0.0 && scores[0] < 1.0, "{scores:?}");
    assert_eq!(page.total, page.hits.len());
    let found = paths(&page);
    assert!(found[0].contains("pull_request"), "{found:?}");
    assert!(found.contains(&"github.fork_repository".to_owned()));
}

#[tokio::test]
async fn pages_cover_all_hits_without_overlap() {
    let pool = pool();
    for (text, server) in [
        ("file", None),
        ("", None),
        ("list", Some("slack")),
        (" ", Some("git")),
    ] {
        let server = server.map(str::to_owned);
        let ask = |limit, cursor| SearchQuery {
            text: text.to_owned(),
            server: server.clone(),
            limit,
            cursor,
        };
        let whole = search(&pool, &ask(1_000, None)).await.unwrap();
        assert_eq!(
            (whole.next.as_deref(), whole.total),
            (None, whole.hits.len())
        );
        let mut cursor = None;
        let mut all = Vec::new();
        loop {
            let page = search(&pool, &ask(4, cursor)).await.unwrap();
            assert_eq!(page.total, whole.total);
            all.extend(paths(&page));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(all, paths(&whole), "{text:?}");
        if text.trim().is_empty() {
            assert!(all.is_sorted() && all.len() > 8, "{all:?}");
        }
    }
}

#[tokio::test]
async fn cursor_of_another_search_is_rejected() {
    let mut pool = pool();
    let next = search(&pool, &query("file", 2)).await.unwrap().next;
    let with = |text: &str, cursor: Option<String>| SearchQuery {
        cursor,
        ..query(text, 2)
    };
    for (text, cursor, part) in [
        ("files", next.clone(), "another query"),
        ("file", Some("2".to_owned()), "invalid"),
        ("file", Some("a-b-c".to_owned()), "invalid"),
        ("file", Some(String::new()), "invalid"),
        (
            "file",
            next.as_ref().map(|next| format!("{next}9-")),
            "invalid",
        ),
    ] {
        let fault = search(&pool, &with(text, cursor)).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Validation);
        assert!(fault.message.contains(part), "{fault:?}");
    }
    // The second page is available until a server's tools change.
    let more = search(&pool, &with("file", next.clone())).await;
    assert!(more.unwrap().total > 4);
    pool[8] = server("time", &["file_time(file): The time of a file"]);
    let fault = search(&pool, &with("file", next)).await.unwrap_err();
    assert!(fault.message.contains("changed"), "{fault:?}");
    let far = search(&pool, &query("file", 1))
        .await
        .unwrap()
        .next
        .unwrap();
    let far = far.rsplit_once('-').unwrap().0.to_owned() + "-99999";
    let end = search(&pool, &with("file", Some(far))).await.unwrap();
    assert!(end.hits.is_empty() && end.next.is_none());
}

#[tokio::test]
async fn changed_server_is_searched_anew() {
    let mut pool = pool();
    assert_eq!(first(&pool, "weather").await, "nothing");
    pool[8] = server("time", &["get_weather(city): The weather"]);
    pool.push(KnownServer {
        name: "unknown".to_owned(),
        tools: None,
        note: None,
    });
    assert_eq!(first(&pool, "weather").await, "time.get_weather");
    assert_eq!(first(&pool, "timezone").await, "nothing");
    pool.remove(0);
    assert_eq!(first(&pool, "keyboard").await, "nothing");
}

#[tokio::test]
async fn odd_queries_are_answered() {
    let pool = pool();
    let long = "x".repeat(MAX_QUERY_BYTES + 1);
    let fault = search(&pool, &query(&long, 1)).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Validation);
    for text in [
        "???",
        "\u{0}",
        "💥",
        "日本語",
        "a",
        "the",
        ".",
        "mux.",
        "ß",
        &"word ".repeat(390),
    ] {
        let page = search(&pool, &query(text, 5)).await.unwrap();
        assert!(
            page.hits.iter().all(|hit| hit.score.is_finite()),
            "{text:?}"
        );
    }
    let empty = search(&[], &query("file", 5)).await.unwrap();
    assert_eq!((empty.total, empty.next), (0, None));
}

fn discovery_set() -> DiscoverySet {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/discovery");
    DiscoverySet::read(&data.join("tools.jsonl"), &data.join("queries.jsonl")).unwrap()
}

fn pool_of(set: &DiscoverySet) -> Vec<KnownServer> {
    let describe = |tool: &DiscoveryTool| ToolDescription {
        name: tool.name.clone(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema().into(),
        ..ToolDescription::default()
    };
    let servers = set.servers().into_iter();
    servers
        .map(|(name, tools)| KnownServer {
            name: name.to_owned(),
            tools: Some(Arc::new(ToolSet::new(
                name,
                tools.into_iter().map(describe).collect(),
                &[],
                &ToolOverrides::default(),
            ))),
            note: None,
        })
        .collect()
}

/// The figures of the search and of plain BM25 on the first tools of the set.
async fn figures(set: &DiscoverySet, held_out: bool) -> [RankingFigures; 2] {
    let pool = pool_of(set);
    let plain = PlainBm25::new(&set.tools);
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    for asked in set
        .queries
        .iter()
        .filter(|asked| asked.held_out == held_out)
    {
        let found = search(&pool, &query(&asked.query, JUDGED_HITS))
            .await
            .unwrap();
        let keys = found
            .hits
            .iter()
            .map(|hit| format!("{}:{}", hit.tool.server, hit.tool.name));
        ours.push((asked, keys.collect()));
        theirs.push((asked, plain.search(&asked.query)));
    }
    [RankingFigures::of(ours), RankingFigures::of(theirs)]
}

/// `scripts/bench discovery` prints the figures. A change of the ranking must not make them worse than this.
#[tokio::test]
async fn ranking_is_better_than_plain_bm25_on_graded_queries() {
    let set = discovery_set();
    for (tools, held_out, recall_5, mrr) in [
        (500, false, 0.63, 0.63),
        (500, true, 0.69, 0.53),
        (5_000, false, 0.44, 0.50),
        (5_000, true, 0.44, 0.38),
    ] {
        let [ours, plain] = figures(&set.first(tools), held_out).await;
        assert!(
            ours.recall_5 >= recall_5 && ours.mrr >= mrr,
            "{tools}: {ours:?}"
        );
        for (ours, plain) in ours.all().into_iter().zip(plain.all()) {
            assert!(ours > plain, "{tools} tools: {ours} instead of {plain}");
        }
    }
}
