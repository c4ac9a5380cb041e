//! A value that the daemon keeps, read page by page.
//!
//! Invariant: what the pages hold, one after the other, is the JSON text of the value from the first
//! offset on, without a gap.

use mux_proto::{Error, Kind, ReadPage, ReadRequest};

use crate::{Session, lost, within_seconds};

/// The most that one page has.
const PAGE: u64 = 4 << 20;

/// Reads one page after the other, so that a value of any length takes the memory of one page.
#[derive(Debug)]
pub struct Pages<'a> {
    session: &'a Session,
    handle: &'a str,
    /// Where the next page begins; `None` at the end.
    next: Option<u64>,
    /// How many bytes are still wanted.
    wanted: Option<u64>,
}

impl<'a> Pages<'a> {
    /// From `offset` on, to the end or for `length` bytes.
    pub fn new(session: &'a Session, handle: &'a str, offset: u64, length: Option<u64>) -> Self {
        Self {
            session,
            handle,
            next: Some(offset),
            wanted: length,
        }
    }

    /// The next page, or `None` behind the last one.
    pub async fn next(&mut self) -> Result<Option<ReadPage>, Error> {
        let Some(offset) = self.next.filter(|_| self.wanted != Some(0)) else {
            return Ok(None);
        };
        self.session.require("read")?;
        let length = self.wanted.map_or(PAGE, |wanted| wanted.min(PAGE));
        let request = ReadRequest {
            handle: self.handle.to_owned(),
            offset,
            length: Some(length),
        };
        let answer = self.session.client.read(within_seconds(30), request).await;
        let page = answer.map_err(lost)??;
        if page.next.is_some_and(|next| next <= offset) {
            let message = format!("the page at {offset} of `{}` does not advance", self.handle);
            return Err(Error::new(Kind::Internal, message));
        }
        self.next = page.next;
        // A page ends where a character does, a few bytes early. What the last page leaves out is not
        // asked for again.
        self.wanted = match self.wanted {
            Some(wanted) if wanted <= PAGE => Some(0),
            wanted => wanted
                .zip(page.next)
                .map(|(w, next)| w.saturating_sub(next - offset)),
        };
        Ok(Some(page))
    }

    /// All that is left, in one piece.
    pub async fn whole(mut self) -> Result<String, Error> {
        let mut whole = String::new();
        while let Some(page) = self.next().await? {
            whole.push_str(&page.text);
        }
        Ok(whole)
    }
}
