//! Searches tools by words.
//!
//! The ranking is BM25F with synonyms (`search_index`), in our own index: available crates weigh all fields alike, and an
//! index with one segment per server is rebuilt only for servers that changed. `scripts/bench discovery` measures it.
//!
//! Invariant: a search sees the current tools. An outdated index is rebuilt first, off the path of calls, one at a
//! time.

mod index_segment;
mod search_cursor;
mod search_index;
mod synonyms;
mod vocabulary;
pub(super) mod word_splitting;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use mux_wire::{Fault, FaultKind};
use tokio::{sync::Semaphore, task::spawn_blocking};

pub use self::search_index::{IndexHit, SearchIndex};
use self::{index_segment::IndexSegment, search_cursor::SearchCursor};
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

/// Searches the tools that one group of agents sees.
#[derive(Debug)]
pub struct ToolSearch {
    index: ArcSwapOption<SearchIndex>,
    builder: Semaphore,
}

impl Default for ToolSearch {
    fn default() -> Self {
        Self {
            index: ArcSwapOption::default(),
            builder: Semaphore::new(1),
        }
    }
}

impl ToolSearch {
    /// The index of these servers, built if the current index covers other servers.
    pub async fn index(&self, servers: &[KnownServer]) -> Result<Arc<SearchIndex>, Fault> {
        let lost = || Fault::new(FaultKind::Internal, "the search was lost in the daemon");
        let fitting = || self.index.load_full().filter(|index| index.is_of(servers));
        if let Some(index) = fitting() {
            return Ok(index);
        }
        let _turn = self.builder.acquire().await.map_err(|_| lost())?;
        if let Some(index) = fitting() {
            return Ok(index);
        }
        let old = self.index.load_full();
        let servers = servers.to_vec();
        let build = spawn_blocking(move || Arc::new(SearchIndex::build(&servers, old.as_deref())));
        let index = build.await.map_err(|_| lost())?;
        if index.len() > MEMORY_TRIM_TOOLS {
            malloc_trim::give_back_soon();
        }
        self.index.store(Some(Arc::clone(&index)));
        Ok(index)
    }

    pub async fn search(
        &self,
        servers: &[KnownServer],
        query: &SearchQuery,
    ) -> Result<SearchResults, Fault> {
        if query.text.len() > MAX_QUERY_BYTES {
            let length = query.text.len();
            let most = MAX_QUERY_BYTES;
            let message = format!("the query is {length} bytes, over the limit of {most}");
            return Err(Fault::new(FaultKind::Validation, message).hint("a few words are enough"));
        }
        let index = self.index(servers).await?;
        let cursor = SearchCursor::of(&index, query);
        let from = cursor.start(query.cursor.as_deref())?;
        let of = Arc::clone(&index);
        let text = query.text.clone();
        let server = query.server.clone();
        let limit = query.limit;
        let rank = move || of.rank(&text, server.as_deref(), from, limit);
        let ranked = blocking_pool::run(rank).await;
        let end = from.saturating_add(ranked.hits.len());
        Ok(SearchResults {
            next: (end < ranked.total && !ranked.hits.is_empty()).then(|| cursor.at(end)),
            total: ranked.total,
            hits: ranked
                .hits
                .into_iter()
                .map(|hit| index.found(&hit))
                .collect(),
            cursor,
            from,
        })
    }
}

#[cfg(test)]
mod tests;
