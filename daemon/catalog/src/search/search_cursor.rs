//! Where the next page of a search begins.
//!
//! Invariant: a cursor belongs to one query over one pool of tools. For another it is an error and never a page of
//! something else.

use mux_wire::{Fault, Kind};

use super::{SearchIndex, SearchQuery};
use mux_text::digest::Digest;

/// Names query and pool.
pub(super) struct SearchCursor {
    query: String,
    pool: String,
}

impl SearchCursor {
    pub(super) fn of(index: &SearchIndex, query: &SearchQuery) -> Self {
        let asked = Digest::new()
            .text(&query.text)
            .optional_text(query.server.as_deref());
        let name = |key: &[u8]| {
            key.iter()
                .take(6)
                .map(|byte| format!("{byte:02x}"))
                .collect()
        };
        Self {
            query: name(&asked.key()),
            pool: name(index.key()),
        }
    }

    pub(super) fn at(&self, offset: usize) -> String {
        format!("{}-{}-{offset}", self.query, self.pool)
    }

    /// How many results stand on the pages before.
    pub(super) fn start(&self, cursor: Option<&str>) -> Result<usize, Fault> {
        let Some(cursor) = cursor else { return Ok(0) };
        let wrong = |what: &str| {
            Err(Fault::new(Kind::Validation, what).hint("search again without a cursor"))
        };
        let mut parts = cursor.splitn(3, '-');
        let (query, pool, offset) = (parts.next(), parts.next(), parts.next());
        let Some(offset) = offset.and_then(|offset| offset.parse().ok()) else {
            return wrong("the cursor is none: it is `next` of the page before");
        };
        if query != Some(&self.query) {
            return wrong("the cursor belongs to another query");
        }
        if pool != Some(&self.pool) {
            return wrong("the tools have changed since the page before");
        }
        Ok(offset)
    }
}
