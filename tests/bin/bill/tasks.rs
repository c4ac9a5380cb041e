//! Five tasks, each twice: as the plain calls that a model would make, and as one program. Both must
//! give the same answer.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::{Value, json};

use super::{
    plain::{Conversation, plain_text},
    pool::{FILES, ServerPool},
};

pub(crate) struct Task {
    pub(crate) title: &'static str,
    /// The tools whose types a model reads before it writes the program.
    pub(crate) tools: &'static [&'static str],
    pub(crate) program: &'static str,
    pub(crate) input: fn(&ServerPool) -> Value,
    pub(crate) plain: fn(&ServerPool, &mut Conversation<'_>) -> anyhow::Result<Value>,
}

pub(crate) const ALL: &[Task] = &[
    Task {
        title: "a lookup, chained through two tools",
        tools: &["memory.search_nodes", "files.read_text_file"],
        program: include_str!("../../data/bill/chain.ts"),
        input: |_| json!({ "service": "billing" }),
        plain: chain,
    },
    Task {
        title: "40 calls over a list",
        tools: &["files.list_directory", "files.read_text_file"],
        program: include_str!("../../data/bill/many.ts"),
        input: |pool| json!({ "directory": pool.path("logs") }),
        plain: many,
    },
    Task {
        title: "a search in a file of 4,000 tokens",
        tools: &["files.read_text_file"],
        program: include_str!("../../data/bill/search.ts"),
        input: |pool| json!({ "path": pool.path("service.log") }),
        plain: search,
    },
    Task {
        title: "from one server to another (60 rows)",
        tools: &["files.read_text_file", "memory.create_entities"],
        program: include_str!("../../data/bill/etl.ts"),
        input: |pool| json!({ "path": pool.path("orders.csv") }),
        plain: etl,
    },
    Task {
        title: "an intermediate result of 1 MB",
        tools: &["files.read_text_file"],
        program: include_str!("../../data/bill/large.ts"),
        input: |pool| json!({ "path": pool.path("large.log") }),
        plain: large,
    },
];

/// The memory server knows where the note of the service is.
pub(crate) fn remember(pool: &ServerPool) -> Value {
    let note = format!("note: {}", pool.path("note.txt").display());
    json!({ "entities": [{
        "name": "billing", "entityType": "service", "observations": [note, "runs on node-3"],
    }] })
}

fn chain(_: &ServerPool, talk: &mut Conversation<'_>) -> anyhow::Result<Value> {
    let found = talk.one("memory__search_nodes", json!({ "query": "billing" }))?;
    let found = &found["structuredContent"]["entities"][0]["observations"][0];
    let path = found
        .as_str()
        .context("no note")?
        .trim_start_matches("note: ")
        .to_owned();
    let read = talk.one("files__read_text_file", json!({ "path": path }))?;
    Ok(plain_text(&read).trim().into())
}

fn many(pool: &ServerPool, talk: &mut Conversation<'_>) -> anyhow::Result<Value> {
    let directory = pool.path("logs").display().to_string();
    talk.one("files__list_directory", json!({ "path": directory }))?;
    let paths = (0..FILES).map(|n| format!("{directory}/node-{n}.log"));
    let calls: Vec<_> = paths
        .map(|path| ("files__read_text_file", json!({ "path": path })))
        .collect();
    let mut errors = BTreeMap::new();
    for result in talk.turn(&calls)? {
        count_errors(&plain_text(&result), &mut errors);
    }
    Ok(json!(errors))
}

fn search(pool: &ServerPool, talk: &mut Conversation<'_>) -> anyhow::Result<Value> {
    let path = pool.path("service.log");
    let read = talk.one("files__read_text_file", json!({ "path": path }))?;
    let all = plain_text(&read);
    let slow = all.lines().filter(|line| line.contains("ERROR mail"));
    Ok(slow.collect::<Vec<_>>().into())
}

fn etl(pool: &ServerPool, talk: &mut Conversation<'_>) -> anyhow::Result<Value> {
    let path = pool.path("orders.csv");
    let read = talk.one("files__read_text_file", json!({ "path": path }))?;
    let mut customers: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
    for row in plain_text(&read).lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let [id, customer, item, amount] = cells[..] else {
            continue;
        };
        let (sum, orders) = customers.entry(customer.to_owned()).or_default();
        *sum += amount.trim().parse::<u64>()?;
        orders.push(format!("order {id}: {item}, {amount}"));
    }
    let entities: Vec<Value> = customers
        .iter()
        .map(|(name, (_, orders))| {
            json!({ "name": name, "entityType": "customer", "observations": orders })
        })
        .collect();
    talk.one("memory__create_entities", json!({ "entities": entities }))?;
    let sums: BTreeMap<_, _> = customers
        .iter()
        .map(|(name, (sum, _))| (name, sum))
        .collect();
    Ok(json!(sums))
}

fn large(pool: &ServerPool, talk: &mut Conversation<'_>) -> anyhow::Result<Value> {
    let path = pool.path("large.log");
    let read = talk.one("files__read_text_file", json!({ "path": path }))?;
    let mut errors = BTreeMap::new();
    count_errors(&plain_text(&read), &mut errors);
    Ok(json!(errors))
}

fn count_errors(text: &str, errors: &mut BTreeMap<String, u64>) {
    for line in text.lines() {
        let mut words = line.split(' ').skip(1);
        if let (Some("ERROR"), Some(service)) = (words.next(), words.next()) {
            *errors.entry(service.to_owned()).or_default() += 1;
        }
    }
}
