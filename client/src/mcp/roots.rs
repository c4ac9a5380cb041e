//! The agent's workspace, from its MCP roots.

use std::{path::PathBuf, time::Duration};

use rmcp::model::ServerRequest;
use rmcp::{
    RoleServer,
    service::{Peer, PeerRequestOptions},
};
use serde_json::json;
use url::Url;

const ROOTS_TIMEOUT: Duration = Duration::from_secs(5);

/// The first root that is a directory of this machine.
pub(super) async fn first_local_root(peer: &Peer<RoleServer>) -> Option<PathBuf> {
    let able = peer.peer_info()?.capabilities.roots.is_some();
    if !able {
        return None;
    }
    let request: ServerRequest = serde_json::from_value(json!({ "method": "roots/list" })).ok()?;
    let options = PeerRequestOptions::with_timeout(ROOTS_TIMEOUT);
    let handle = peer.send_cancellable_request(request, options).await.ok()?;
    let listed = handle.await_response().await.ok()?;
    let listed = serde_json::to_value(listed).ok()?;
    let roots = listed["roots"].as_array()?;
    roots
        .iter()
        .find_map(|root| file_uri_path(root["uri"].as_str()?))
}

fn file_uri_path(uri: &str) -> Option<PathBuf> {
    let uri = Url::parse(uri).ok()?;
    // On Windows, a share of another host is also a path.
    let path = match uri.host() {
        None => uri.to_file_path().ok()?,
        Some(_) => return None,
    };
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::tests::system_path;

    #[test]
    fn root_is_a_path_only_for_a_local_file_uri() {
        let drive = if cfg!(windows) { "/C:" } else { "" };
        for (uri, path) in [
            (
                &*format!("file://{drive}/home/me/a%20b"),
                Some("/home/me/a b"),
            ),
            (&format!("file://localhost{drive}/srv"), Some("/srv")),
            ("file://elsewhere/srv", None),
            ("https://example.com/", None),
            ("/home/me", None),
        ] {
            assert_eq!(file_uri_path(uri), path.map(system_path), "{uri}");
        }
    }
}
