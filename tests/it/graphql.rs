//! GraphQL APIs as sources: the functions that they become, and calls of a real server.

mod calls;
mod failures;
mod functions;
mod large;
mod limits;
mod policy;
mod schemas;

use mux_tests::{GraphqlServer, TestEnv, env::compiler};

/// A home with the server as the source `blog`, and with the type checker.
fn home(options: &[&str], more: &str) -> (TestEnv, GraphqlServer) {
    let env = TestEnv::new();
    let server = GraphqlServer::start(&env, options);
    env.write_config(&format!(
        "{}\n[check]\ntsc = {:?}\n",
        server.source(more),
        compiler()
    ));
    (env, server)
}
