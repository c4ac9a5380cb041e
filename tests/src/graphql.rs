//! A real GraphQL server (`tests/graphql/server.mjs`), and published schemas.
//!
//! Invariant: when a [`GraphqlServer`] is dropped, its process has exited.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{
    Running, TestEnv, clients,
    env::{installed_at, setup_variable},
    process,
};

/// The folders where `scripts/setup` installs the server's dependencies and the schemas.
const FOLDER: &str = "MUX_TEST_GRAPHQL";
const APIS: &str = "MUX_TEST_GRAPHQL_APIS";

pub struct GraphqlServer {
    running: Running,
    journal: PathBuf,
    pub url: String,
}

impl GraphqlServer {
    /// Starts the server. `server.mjs` documents its options.
    pub fn start(env: &TestEnv, options: &[&str]) -> Self {
        let journal = env.path("graphql.journal");
        let script = here("graphql/server.mjs");
        let mut command = Command::new(clients::node());
        command
            .arg(script)
            .arg(installed_at(setup_variable(FOLDER, "--servers")))
            .arg(&journal)
            .args(options);
        let mut running = Running::start(&mut command);
        let said = running.next_line_of_output();
        let port = said.trim().strip_prefix("listening ").unwrap_or_else(|| {
            panic!("it does not listen: {said:?}");
        });
        Self {
            url: format!("http://127.0.0.1:{port}/graphql"),
            running,
            journal,
        }
    }

    /// The requests that the server received: `method`, `headers` and `text`.
    pub fn requests(&self) -> Vec<Value> {
        let journal = fs::read_to_string(&self.journal).unwrap_or_default();
        let lines = journal.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap()
    }

    /// How many requests contain a text.
    pub fn heard(&self, text: &str) -> usize {
        let requests = self.requests();
        let hold = |request: &&Value| request["text"].as_str().is_some_and(|it| it.contains(text));
        requests.iter().filter(hold).count()
    }

    /// `[sources.blog]` for the server, with `more` lines.
    pub fn source(&self, more: &str) -> String {
        format!("[sources.blog]\ngraphql = \"{}\"\n{more}\n", self.url)
    }
}

impl Drop for GraphqlServer {
    fn drop(&mut self) {
        process::kill(self.running.pid());
    }
}

/// The schema of the server.
pub fn schema() -> PathBuf {
    here("data/graphql/blog.graphql")
}

/// A file of GitHub's published schema: SDL, or the result of an introspection.
pub fn github(file: &str) -> PathBuf {
    let folder = setup_variable(APIS, "--apis");
    installed_at(
        Path::new(&folder)
            .join("node_modules/@octokit/graphql-schema")
            .join(file),
    )
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
