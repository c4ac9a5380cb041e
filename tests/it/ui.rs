//! `mux ui`: access control, the event stream, and the page in a real browser.

mod event_stream;
mod page;
mod page_requests;
