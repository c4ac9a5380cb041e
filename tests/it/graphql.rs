//! GraphQL APIs as sources: what functions they become, and how these behave on a real server.

mod calls;
mod failures;
mod functions;
mod large;
mod limits;
mod policy;
mod schemas;

use mux_tests::{GraphqlServer, TestEnv, env::compiler};

/// A home with the server as the source `blog`, and a checker of programs.
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
