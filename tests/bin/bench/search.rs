//! The cost of a search and of its index, compared with reading every description.

use std::{sync::Arc, time::Instant};

use anyhow::ensure;
use mux_catalog::{
    KnownServer, ToolDescription, ToolSet,
    search::{SearchQuery, build_index, search},
};
use mux_settings::ToolOverrides;
use mux_wire::Fault;
use serde_json::json;

use super::figures::{Samples, millis, row};

/// Tools in all, over so many servers.
const POOLS: [(usize, usize); 3] = [(400, 10), (10_000, 1), (10_000, 50)];
/// How often an index is built.
const FEW: usize = 10;

const VERBS: &[&str] = &[
    "list", "get", "create", "update", "delete", "search", "merge", "close", "assign", "export",
];
const NOUNS: &[&str] = &[
    "issue",
    "invoice",
    "page",
    "branch",
    "customer",
    "event",
    "file",
    "channel",
    "message",
    "repository",
    "deployment",
    "ticket",
    "contact",
    "payment",
    "report",
];
const QUALITIES: &[&str] = &[
    "archived", "recent", "shared", "private", "overdue", "pinned", "draft", "nested", "linked",
];

/// Typical queries: names, tasks, prefixes, typos, and words that are everywhere.
const QUERIES: &[&str] = &[
    "create_issue_0042",
    "create an issue in a repository",
    "find recent invoices of a customer and export them as a report",
    "assgin overdeu tickte",
    "repo",
    "list",
    "zzzzzzzzz",
    "",
    "the name of it",
];

pub(crate) async fn measure(rounds: usize) -> anyhow::Result<()> {
    for (tools, servers) in POOLS {
        let mut builds = Samples::default();
        for _ in 0..FEW {
            let pool: Vec<KnownServer> = (0..servers).map(|n| server(n, tools / servers)).collect();
            let began = Instant::now();
            build_index(&pool).await;
            builds.push(began.elapsed());
        }
        let what = format!("{tools} tools of {servers} servers");
        row(&format!("{what}: the index, from nothing"), &builds);

        let mut pool: Vec<KnownServer> = (0..servers).map(|n| server(n, tools / servers)).collect();
        build_index(&pool).await;
        let mut changes = Samples::default();
        for _ in 0..FEW {
            pool[0] = server(0, tools / servers);
            let began = Instant::now();
            build_index(&pool).await;
            changes.push(began.elapsed());
        }
        row(
            &format!("{what}: the index, after one server's change"),
            &changes,
        );
        for text in QUERIES {
            searched(&pool, text, &what, rounds).await?;
        }
        let mut look = Samples::default();
        for _ in 0..FEW {
            let found = look.time(|| everything(&pool, "overdue"));
            ensure!(found > 0, "the baseline finds nothing");
        }
        row(&format!("{what}: baseline, one word in every text"), &look);
    }
    Ok(())
}

async fn searched(
    pool: &[KnownServer],
    text: &str,
    what: &str,
    rounds: usize,
) -> anyhow::Result<()> {
    let query = SearchQuery {
        text: text.to_owned(),
        limit: 10,
        ..SearchQuery::default()
    };
    let mut samples = Samples::default();
    for _ in 0..rounds {
        let began = Instant::now();
        let page = search(pool, &query).await.map_err(lost)?;
        samples.push(began.elapsed());
        ensure!(page.hits.is_empty() == (page.total == 0), "{page:?}");
    }
    row(&format!("{what}: {text:?}"), &samples);
    ensure!(millis(samples.median()) < 1e3, "it takes for ever");
    Ok(())
}

fn lost(fault: Fault) -> anyhow::Error {
    anyhow::Error::msg(fault.message)
}

fn everything(pool: &[KnownServer], word: &str) -> usize {
    let tools = pool.iter().flat_map(|server| server.tools.iter());
    let tools = tools.flat_map(|tools| tools.iter());
    let texts = tools.map(|tool| format!("{} {:?}", tool.path(), tool.description).to_lowercase());
    texts.filter(|text| text.contains(word)).count()
}

/// Every tool with a description of some twenty words and three arguments.
fn server(number: usize, tools: usize) -> KnownServer {
    let word = |words: &'static [&'static str], n: usize| words[n % words.len()];
    let described = (0..tools).map(|n| {
        let verb = word(VERBS, n);
        let noun = word(NOUNS, n / VERBS.len());
        let quality = word(QUALITIES, n / 7);
        let other = word(NOUNS, n / 3 + 5);
        ToolDescription {
            name: format!("{verb}_{noun}_{n:04}"),
            description: Some(format!(
                "Pretends to {verb} one {quality} {noun}, with the {other} that belongs to it. Gives what was \
                 found as JSON, or an error if there is no such {noun} in workspace {n}."
            )),
            input_schema: json!({ "type": "object", "properties": {
                format!("{noun}_id"): { "type": "string", "description": format!("Which {noun}.") },
                "limit": { "type": "integer", "description": "How many at most." },
                other: { "type": "string" },
            } })
            .into(),
            ..ToolDescription::default()
        }
    });
    let name = format!("server{number}");
    let tools = ToolSet::new(&name, described.collect(), &[], &ToolOverrides::default());
    KnownServer {
        name,
        tools: Some(Arc::new(tools)),
        note: None,
    }
}
