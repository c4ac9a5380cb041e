//! `mux ui`: access control, the event stream, and the page in a real browser.

mod event_stream;
pub(crate) mod page;
mod page_requests;
