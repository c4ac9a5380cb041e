//! `mux ui`: who is let in, what a page is told, and the page itself in a real browser.

mod door;
mod page;
mod told;
