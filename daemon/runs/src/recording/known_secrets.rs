//! Collects the credentials that the daemon passes to servers and APIs.
//!
//! Invariant: the credentials are only compared against, never shown.

use mux_secrets::KnownSecrets;

use mux_journal::history::ServerRules;
use mux_settings::ServerEndpoint;
use mux_upstream::Upstreams;

/// The credentials of all configured servers, whether or not the run can see them.
pub fn collect_known_secrets(upstreams: &Upstreams) -> KnownSecrets {
    let mut found = KnownSecrets::new();
    for server in upstreams.all() {
        match server
            .definition()
            .as_ref()
            .map(|definition| &definition.endpoint)
        {
            Ok(ServerEndpoint::Process(process)) => found.extend(&process.hidden),
            Ok(ServerEndpoint::Remote(remote)) => found.extend(&remote.known_secrets()),
            Ok(ServerEndpoint::Source(source)) => {
                found.extend(&mux_sources::source_secrets(source));
            }
            Err(_) => {}
        }
    }
    found
}

/// The rules of the configured servers for the history.
pub fn server_rules(upstreams: &Upstreams) -> ServerRules {
    let servers = upstreams.all().into_iter();
    let bare = servers.filter(|server| {
        let definition = server.definition();
        definition
            .as_ref()
            .is_ok_and(|definition| !definition.has_history)
    });
    ServerRules {
        secrets: collect_known_secrets(upstreams),
        bare_servers: bare.map(|server| server.name().to_owned()).collect(),
    }
}
