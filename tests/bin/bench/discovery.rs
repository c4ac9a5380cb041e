//! How well and how fast a search finds the tools that a query means, beside plain BM25.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow};
use mux_catalog::{
    KnownServer, ToolDescription, ToolSet,
    search::{SearchQuery, build_index, search},
};
use mux_settings::ToolOverrides;
use mux_tests::discovery::{
    DiscoverySet, DiscoveryTool, GradedQuery, JUDGED_HITS, PlainBm25, RankingFigures,
};

use super::figures::fact;

/// The sizes of the pools that are taken from the set in the repository.
const POOL_SIZES: [usize; 3] = [500, 5_000, 10_000];

/// Measures on the set in the repository and on every `NAME.tools.jsonl` with `NAME.queries.jsonl` in `folder`.
pub(crate) async fn measure(folder: Option<&Path>) -> anyhow::Result<()> {
    let head = "queries    R@1    R@5    MRR  NDCG@5  µs/query";
    fact("set, ranking", head);
    for (name, set) in extra_sets(folder)? {
        measure_set(&name, &set, |_| true).await?;
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/discovery");
    let set = read(&data.join("tools.jsonl"), &data.join("queries.jsonl"))?;
    for size in POOL_SIZES {
        let pool = set.first(size);
        measure_set("own, tuned on", &pool, |query| !query.held_out).await?;
        measure_set("own, held out", &pool, |query| query.held_out).await?;
    }
    Ok(())
}

fn read(tools: &Path, queries: &Path) -> anyhow::Result<DiscoverySet> {
    DiscoverySet::read(tools, queries).map_err(|error| anyhow!("{error}"))
}

/// The sets in the folder, by name.
fn extra_sets(folder: Option<&Path>) -> anyhow::Result<Vec<(String, DiscoverySet)>> {
    let Some(folder) = folder else {
        return Ok(Vec::new());
    };
    let entries = folder
        .read_dir()
        .with_context(|| folder.display().to_string())?;
    let mut sets = Vec::new();
    for entry in entries {
        let file = entry?.file_name().to_string_lossy().into_owned();
        if let Some(name) = file.strip_suffix(".tools.jsonl") {
            let queries = folder.join(format!("{name}.queries.jsonl"));
            sets.push((name.to_owned(), read(&folder.join(&file), &queries)?));
        }
    }
    sets.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(sets)
}

async fn measure_set(
    name: &str,
    set: &DiscoverySet,
    is_part: impl Fn(&GradedQuery) -> bool,
) -> anyhow::Result<()> {
    let queries: Vec<&GradedQuery> = set.queries.iter().filter(|query| is_part(query)).collect();
    let pool = known_servers(set);
    build_index(&pool).await;
    let mut answers = Vec::new();
    let mut spent = Duration::ZERO;
    for query in &queries {
        let asked = SearchQuery {
            text: query.query.clone(),
            limit: JUDGED_HITS,
            ..SearchQuery::default()
        };
        let began = Instant::now();
        let found = search(&pool, &asked).await;
        spent += began.elapsed();
        let found = found.map_err(|fault| anyhow!(fault.message))?.hits;
        let keys = found
            .iter()
            .map(|hit| format!("{}:{}", hit.tool.server, hit.tool.name));
        answers.push((*query, keys.collect()));
    }
    let figures = RankingFigures::of(answers);
    row(
        &format!("{name}, {} tools: mux", set.tools.len()),
        &figures,
        spent,
    );

    let plain = PlainBm25::new(&set.tools);
    let began = Instant::now();
    let answers: Vec<_> = queries
        .iter()
        .map(|query| (*query, plain.search(&query.query)))
        .collect();
    let spent = began.elapsed();
    let figures = RankingFigures::of(answers);
    row(
        &format!("{name}, {} tools: plain BM25", set.tools.len()),
        &figures,
        spent,
    );
    Ok(())
}

fn row(what: &str, figures: &RankingFigures, spent: Duration) {
    let [recall_1, recall_5, mrr, ndcg_5] = figures.all();
    let each = spent.as_secs_f64() * 1e6 / figures.queries.max(1) as f64;
    let queries = figures.queries;
    let row =
        format!("{queries:>7}{recall_1:>7.3}{recall_5:>7.3}{mrr:>7.3}{ndcg_5:>8.3}{each:>10.0}");
    fact(what, &row);
}

fn known_servers(set: &DiscoverySet) -> Vec<KnownServer> {
    let servers = set.servers().into_iter();
    servers
        .map(|(name, tools)| {
            let described = tools.into_iter().map(describe).collect();
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
        })
        .collect()
}

fn describe(tool: &DiscoveryTool) -> ToolDescription {
    ToolDescription {
        name: tool.name.clone(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema().into(),
        ..ToolDescription::default()
    }
}
