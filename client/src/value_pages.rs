//! Reads a stored value page by page.
//!
//! Invariant: the pages in order are the JSON of the value from the first offset on, without a gap.

use mux_proto::{Error, Kind, ReadPage, ReadRequest};

use crate::{Session, rpc_error, within_seconds};

/// The maximum length of a page, in bytes.
const MAX_PAGE_BYTES: u64 = 4 << 20;

/// Reads the pages of a stored value in order, with the memory of one page.
#[derive(Debug)]
pub struct ValuePages<'a> {
    session: &'a Session,
    handle: &'a str,
    /// The offset of the next page, or `None` at the end.
    next: Option<u64>,
    /// The number of bytes still to read, or `None` for all.
    wanted: Option<u64>,
}

impl<'a> ValuePages<'a> {
    /// Reads from `offset` on, to the end or for `length` bytes.
    pub fn new(session: &'a Session, handle: &'a str, offset: u64, length: Option<u64>) -> Self {
        Self {
            session,
            handle,
            next: Some(offset),
            wanted: length,
        }
    }

    /// The next page, or `None` after the last one.
    pub async fn next(&mut self) -> Result<Option<ReadPage>, Error> {
        let Some(offset) = self.next.filter(|_| self.wanted != Some(0)) else {
            return Ok(None);
        };
        let length = self
            .wanted
            .map_or(MAX_PAGE_BYTES, |wanted| wanted.min(MAX_PAGE_BYTES));
        let request = ReadRequest {
            handle: self.handle.to_owned(),
            offset,
            length: Some(length),
        };
        let answer = self.session.client.read(within_seconds(30), request).await;
        let page = answer.map_err(rpc_error)??;
        if page.next.is_some_and(|next| next <= offset) {
            let message = format!("the page at {offset} of `{}` does not advance", self.handle);
            return Err(Error::new(Kind::Internal, message));
        }
        self.next = page.next;
        // A page ends at a character boundary, so it may be a few bytes short. The bytes that the last page leaves out
        // are not requested again.
        self.wanted = match self.wanted {
            Some(wanted) if wanted <= MAX_PAGE_BYTES => Some(0),
            wanted => wanted
                .zip(page.next)
                .map(|(w, next)| w.saturating_sub(next - offset)),
        };
        Ok(Some(page))
    }

    /// The rest of the value, as one string.
    pub async fn read_to_end_of_value(mut self) -> Result<String, Error> {
        let mut whole = String::new();
        while let Some(page) = self.next().await? {
            whole.push_str(&page.text);
        }
        Ok(whole)
    }
}
