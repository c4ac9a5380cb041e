//! The position of the next page of a search.
//!
//! Invariant: a cursor belongs to one query over one pool of tools. For any other the result is an error, never a page
//! of something else.

use mux_wire::{Fault, FaultKind};

use super::SearchQuery;
use crate::KnownServer;
use mux_text::digest::Digest;

/// Identifies a query and a pool of tools.
#[derive(Clone, Debug)]
pub(super) struct SearchCursor {
    query: String,
    pool: String,
}

impl SearchCursor {
    pub(super) fn of(servers: &[KnownServer], query: &SearchQuery) -> Self {
        let mut pool = Digest::new();
        for server in servers {
            if let Some(tools) = &server.tools {
                pool = pool.text(&server.name).bytes(&tools.key);
            }
        }
        let asked = Digest::new()
            .text(&query.text)
            .optional_text(query.server.as_deref());
        let name = |key| blake3::Hash::from_bytes(key).to_hex()[..12].to_owned();
        Self {
            query: name(asked.key()),
            pool: name(pool.key()),
        }
    }

    pub(super) fn at(&self, offset: usize) -> String {
        format!("{}-{}-{offset}", self.query, self.pool)
    }

    /// The number of results on the previous pages.
    pub(super) fn start(&self, cursor: Option<&str>) -> Result<usize, Fault> {
        let Some(cursor) = cursor else { return Ok(0) };
        let wrong = |what: &str| {
            Err(Fault::new(FaultKind::Validation, what).hint("search again without a cursor"))
        };
        let mut parts = cursor.splitn(3, '-');
        let query = parts.next();
        let pool = parts.next();
        let offset = parts.next();
        let Some(offset) = offset.and_then(|offset| offset.parse().ok()) else {
            return wrong("the cursor is invalid: use `next` of the previous page");
        };
        if query != Some(&self.query) {
            return wrong("the cursor belongs to another query");
        }
        if pool != Some(&self.pool) {
            return wrong("the tools have changed since the previous page");
        }
        Ok(offset)
    }
}
