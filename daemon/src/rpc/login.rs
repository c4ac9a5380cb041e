//! Signing in to servers and signing out.
//!
//! Invariant: the socket carries the address to open and the outcome, and no token.

use std::{sync::Arc, time::Duration};

use mux_proto as wire;

use super::{MAX_LONG_POLL, connection::ConnectionState};
use crate::daemon::Daemon;
use mux_audit::AdminEvent;
use mux_auth::{Account, Auth, AuthError, SessionOpener};
use mux_config::environment::WORKSPACE_PLACEHOLDER;
use mux_settings::{RemoteServer, ServerEndpoint};
use mux_upstream::{CallerIdentity, Server};

/// The account for a server, if it is a server with a sign-in.
pub(super) fn account(auth: &Auth, server: &Server) -> Option<Arc<Account>> {
    auth.account(server.remote()?)
}

pub(super) async fn begin_login(
    daemon: &Arc<Daemon>,
    connection: &ConnectionState,
    name: &str,
) -> wire::Result<wire::LoginStarted> {
    let server = connection.find_server(name)?;
    let remote =
        login_remote(&server, connection).map_err(|error| login_error(server.name(), &error))?;
    let opening: SessionOpener = Box::new({
        let server = Arc::clone(&server);
        let identity = connection.identity();
        let others = servers_of_sign_in(daemon, &server);
        let audit = Arc::clone(daemon.gateway.audit());
        let origin = connection.origin();
        move || {
            Box::pin(async move {
                audit.record_admin_event(AdminEvent::Login, server.name(), &origin);
                let opened = server.restart(&identity).await;
                restart_open(&others, &identity).await;
                let tools = || server.tools().map_or(0, |tools| tools.len());
                opened.map(|()| tools())
            })
        }
    });
    let sharing = remotes_that_share(daemon);
    let login = daemon
        .auth()
        .login(server.name(), &remote, &sharing, opening);
    let attempt = login.await;
    let attempt = attempt.map_err(|error| login_error(server.name(), &error))?;
    connection.owns_login(&attempt);
    Ok(attempt.started.clone())
}

pub(super) async fn wait_for_login(
    daemon: &Daemon,
    login: &str,
    wait: Duration,
) -> wire::Result<wire::LoginState> {
    let attempt = daemon.auth().attempt(login);
    let attempt = attempt.map_err(|error| login_error(login, &error))?;
    let server = attempt.server.clone();
    match attempt.outcome(wait).await {
        None => Ok(wire::LoginState {
            server,
            pending: true,
            ..wire::LoginState::default()
        }),
        Some(outcome) => outcome.map_err(|error| login_error(&server, &error)),
    }
}

pub(super) async fn finish_login(
    daemon: &Daemon,
    request: wire::LoginFinishRequest,
) -> wire::Result<wire::LoginState> {
    let attempt = daemon.auth().attempt(&request.login);
    let attempt = attempt.map_err(|error| login_error(&request.login, &error))?;
    let finished = attempt.submit_redirect_url(&request.redirect_url).await;
    finished.map_err(|error| login_error(&attempt.server, &error))?;
    wait_for_login(daemon, &request.login, MAX_LONG_POLL).await
}

pub(super) async fn logout(
    daemon: &Daemon,
    connection: &ConnectionState,
    name: &str,
) -> wire::Result<wire::LoggedOut> {
    let server = connection.find_server(name)?;
    let remote =
        login_remote(&server, connection).map_err(|error| login_error(server.name(), &error))?;
    let others = servers_of_sign_in(daemon, &server);
    let ended = daemon.auth().logout(&remote).await;
    let mut ended = ended.map_err(|error| login_error(server.name(), &error))?;
    ended.server = server.name().to_owned();
    if ended.was_signed_in {
        connection.audit(AdminEvent::Logout, server.name());
    }
    if ended.was_signed_in && server.is_open() {
        // The session continues without a login, or fails with `auth_required`.
        drop(server.restart(&connection.identity()).await);
    }
    if ended.was_signed_in {
        restart_open(&others, &connection.identity()).await;
    }
    Ok(ended)
}

/// The other servers whose sessions belong to the user who has signed in to this server.
fn servers_of_sign_in(daemon: &Daemon, server: &Arc<Server>) -> Vec<Arc<Server>> {
    let Some(own) = account(daemon.auth(), server) else {
        return Vec::new();
    };
    let mut others = daemon.gateway.upstreams().all();
    others.retain(|other| {
        let account = account(daemon.auth(), other);
        !Arc::ptr_eq(other, server)
            && account.is_some_and(|account| account.shares_sign_in_with(&own))
    });
    others
}

/// Reopens the sessions of these servers, for another user or without one.
async fn restart_open(servers: &[Arc<Server>], identity: &CallerIdentity) {
    for server in servers.iter().filter(|server| server.is_open()) {
        // The next call reports why the session cannot be opened.
        drop(server.restart(identity).await);
    }
}

/// The servers whose entries allow them to use another server's sign-in.
fn remotes_that_share(daemon: &Daemon) -> Vec<RemoteServer> {
    let servers = daemon.gateway.upstreams().all();
    let remotes = servers.iter().filter_map(|server| server.remote());
    let mut remotes: Vec<_> = remotes.cloned().collect();
    remotes.retain(|remote| remote.oauth.as_ref().is_some_and(|oauth| oauth.share));
    remotes
}

/// The definition of a remote server, for the workspace of the requesting client.
fn login_remote(server: &Server, connection: &ConnectionState) -> Result<RemoteServer, AuthError> {
    let definition = server.definition().as_ref();
    let link = definition.map(|known| match connection.identity().workspace {
        Some(workspace) => known.in_workspace(&workspace).endpoint,
        None => known.endpoint.clone(),
    });
    match link {
        Ok(ServerEndpoint::Remote(remote))
            if remote.url.expose().contains(WORKSPACE_PLACEHOLDER) =>
        {
            Err(AuthError::Inapplicable(
                "its `url` contains ${workspace}: run this command in the directory of the workspace"
                    .into(),
            ))
        }
        Ok(ServerEndpoint::Remote(remote)) => Ok(remote),
        Ok(ServerEndpoint::Process(_)) => Err(AuthError::Inapplicable(
            "it is a local program, which needs no login".into(),
        )),
        Ok(ServerEndpoint::Source(_)) => Err(AuthError::Inapplicable(
            "it is a source; its credentials are in `auth` of its entry".into(),
        )),
        Err(problem) => Err(AuthError::Inapplicable(format!(
            "its entry cannot be used: {problem}"
        ))),
    }
}

fn login_error(server: &str, error: &AuthError) -> wire::Error {
    error.fault(server).into()
}
