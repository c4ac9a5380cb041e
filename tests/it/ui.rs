//! `mux ui`: access control, the event stream, and the page in a real browser.

mod door;
mod page;
mod told;
