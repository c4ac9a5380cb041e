//! Searches tools by words.
//!
//! The ranking is BM25F with synonyms (`ranking`), in our own code, because available crates weigh all fields alike. A
//! search scans all tools: the words of a list are read once (`forward_index`) and kept with it. `scripts/bench
//! discovery` measures the ranking, `scripts/bench --only search` the time.
//!
//! Invariant: a search sees the current tools, because a changed list is another [`ToolSet`]. Nothing is read or ranked
//! on a thread of the runtime.

mod forward_index;
mod ranking;
mod search_cursor;
mod synonyms;
mod vocabulary;
pub(super) mod word_splitting;

use std::sync::Arc;

use mux_typegen::names::spell;
use mux_wire::{Fault, FaultKind};

pub(super) use self::forward_index::ForwardIndex;
use self::{
    ranking::{IndexedList, rank},
    search_cursor::SearchCursor,
};
use super::{KnownServer, Tool, ToolSet};
use mux_process::{blocking_pool, malloc_trim};

/// The longest query in bytes.
const MAX_QUERY_BYTES: usize = 2_000;

/// Indexing more tools than this is followed by a trim of freed memory.
const MEMORY_TRIM_TOOLS: usize = 100;

/// A search request.
#[derive(Clone, Debug, Default)]
pub struct SearchQuery {
    pub text: String,
    /// Search only the tools of this server, by its configured name.
    pub server: Option<String>,
    pub limit: usize,
    /// `next` of the previous page.
    pub cursor: Option<String>,
}

/// One page of hits, the best first.
#[derive(Clone, Debug)]
pub struct SearchResults {
    pub hits: Vec<SearchHit>,
    /// The number of hits on all pages.
    pub total: usize,
    pub next: Option<String>,
    cursor: SearchCursor,
    /// The number of hits on the previous pages.
    from: usize,
}

impl SearchResults {
    /// Leaves all but the first hits to the next page.
    pub fn truncate(&mut self, hits: usize) {
        if hits < self.hits.len() {
            self.hits.truncate(hits);
            self.next = Some(self.cursor.at(self.from + hits));
        }
    }
}

#[derive(Clone, Debug)]
pub struct SearchHit {
    pub tools: Arc<ToolSet>,
    pub tool: Arc<Tool>,
    /// The quality of the match, from 0 to 1, and more than 1 for an exact name.
    pub score: f64,
}

/// Searches the tools of these servers.
pub async fn search(servers: &[KnownServer], query: &SearchQuery) -> Result<SearchResults, Fault> {
    if query.text.len() > MAX_QUERY_BYTES {
        let length = query.text.len();
        let most = MAX_QUERY_BYTES;
        let message = format!("the query is {length} bytes, over the limit of {most}");
        return Err(Fault::new(FaultKind::Validation, message).hint("a few words are enough"));
    }
    let cursor = SearchCursor::of(servers, query);
    let from = cursor.start(query.cursor.as_deref())?;
    let server = query.server.as_deref();
    let lists = searched_lists(servers, |name| server.is_none_or(|server| server == name));
    let text = query.text.clone();
    let limit = query.limit;
    let rank = move || {
        let lists = index_lists(&lists);
        let ranked = rank(&text, &lists);
        let total = ranked.len();
        let page = ranked.into_iter().skip(from).take(limit);
        let hits = page.map(|ranked| SearchHit {
            tools: Arc::clone(ranked.tools),
            tool: Arc::clone(&ranked.tool.tool),
            // Rounded, because people read it.
            score: (ranked.score * 1e4).round() / 1e4,
        });
        (hits.collect::<Vec<_>>(), total)
    };
    let (hits, total) = blocking_pool::run(rank).await;
    let end = from.saturating_add(hits.len());
    Ok(SearchResults {
        next: (end < total && !hits.is_empty()).then(|| cursor.at(end)),
        total,
        hits,
        cursor,
        from,
    })
}

/// Indexes the tools ahead of the first search.
pub async fn build_index(servers: &[KnownServer]) {
    let lists = searched_lists(servers, |_| true);
    blocking_pool::run(move || drop(index_lists(&lists))).await;
}

/// The known lists of the named servers, sorted by the names that programs use.
fn searched_lists(
    servers: &[KnownServer],
    is_searched: impl Fn(&str) -> bool,
) -> Vec<Arc<ToolSet>> {
    let mut searched: Vec<&KnownServer> = servers.iter().collect();
    searched.retain(|server| is_searched(&server.name));
    // A name is compared with the dot that follows it in a path.
    searched.sort_by_cached_key(|server| format!("{}.", spell(&server.name)));
    let lists = searched.into_iter();
    lists.filter_map(|server| server.tools.clone()).collect()
}

/// Indexes the lists that are searched for the first time.
fn index_lists(lists: &[Arc<ToolSet>]) -> Vec<IndexedList<'_>> {
    let mut indexed_tools = 0;
    let indexed = lists.iter().map(|tools| IndexedList {
        tools,
        index: tools.search_index.get_or_init(|| {
            indexed_tools += tools.len();
            ForwardIndex::of(tools)
        }),
    });
    let indexed = indexed.collect();
    if indexed_tools > MEMORY_TRIM_TOOLS {
        malloc_trim::give_back_soon();
    }
    indexed
}

#[cfg(test)]
mod tests;
