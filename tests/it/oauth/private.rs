//! A server and its authorization server in a private network, which only the user's proxy reaches.

use std::fs;

use mux_client::within_seconds;
use mux_proto::LoginFinishRequest;
use mux_tests::{
    Authority,
    authority::{Rules, visit},
    proxy::Proxy,
};

use super::{PATIENCE, begin, client, home};

/// An address without a host: the proxy routes it to the authority.
const HOST: &str = "10.99.88.77";

#[tokio::test]
async fn oauth_requests_to_a_private_network_go_through_the_users_proxy() {
    let authority = Authority::named(Rules::default(), HOST);
    let proxy = Proxy::routed(|host| host.replace(HOST, "127.0.0.1"));
    let env = home(&authority, "");
    env.dirs.prepare().unwrap();
    let line = format!("HTTP_PROXY=http://127.0.0.1:{}\n", proxy.port);
    fs::write(env.dirs.env_file(), line).unwrap();
    let session = client(&env).await;
    let started = begin(&session).await.unwrap();
    // The user's browser also uses the proxy.
    let page = started.url.replacen(HOST, "127.0.0.1", 1);
    let redirect_url = visit("GET", &page).location.unwrap();
    let request = LoginFinishRequest {
        login: started.login,
        redirect_url,
    };
    let finished = session
        .client
        .login_finish(within_seconds(PATIENCE), request);
    let state = finished.await.unwrap().unwrap();
    assert_eq!((state.tools, state.problem), (Some(3), None));
    let heads = proxy.heads().concat();
    for part in ["/.well-known/", "/register", "/token", "/mcp"] {
        assert!(heads.contains(part), "{part}: {heads}");
    }
    assert_eq!(authority.complaints(), Vec::<String>::new());
}
