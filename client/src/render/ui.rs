//! The output of `mux ui`.

use super::terminal::println;
use serde_json::json;

use super::{note, print_document};

/// Prints the address at which the page is served.
pub(crate) fn serving(url: &str, port: u16, opened: bool, json: bool) {
    if json {
        print_document(&json!({ "url": url, "port": port }));
        return;
    }
    println!("{url}");
    let open = if opened {
        "opening a browser"
    } else {
        "open it in a browser on this machine"
    };
    note(&format!(
        "{open}; until you press Ctrl-C, anyone with this address can call tools, approve calls and change servers"
    ));
}
