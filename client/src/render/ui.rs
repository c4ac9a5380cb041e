//! Where `mux ui` is.

use super::terminal::println;
use serde_json::json;

use super::{document, note};

/// The page is served from now on, at this address.
pub(crate) fn serving(url: &str, port: u16, opened: bool, json: bool) {
    if json {
        document(&json!({ "url": url, "port": port }));
        return;
    }
    println!("{url}");
    let open = match opened {
        true => "a browser opens it",
        false => "open it in a browser on this machine",
    };
    note(&format!(
        "{open}; whoever has this address can approve calls, until Ctrl-C"
    ));
}
