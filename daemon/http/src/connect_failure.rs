//! Describes requests that did not reach their server: the causes, and a fix.

use mux_text::error_chain::{error_causes, fix_of};

use crate::proxies::UsedProxy;

/// Why a server cannot be reached, to follow its name. If the request went to a proxy, the proxy is named. `key` is the
/// configuration key of the URL.
pub fn connect_failure(error: reqwest::Error, proxy: Option<&UsedProxy>, key: &str) -> String {
    let why = error_causes(&error.without_url());
    match proxy {
        Some(proxy) => format!("cannot be reached through {proxy}: {why}; {}", proxy.fix()),
        None => format!("cannot be reached: {why}; {}", fix_of(&why, key)),
    }
}
