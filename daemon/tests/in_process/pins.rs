//! Tools that change after they were trusted, results that do not match their schema or hold secrets,
//! and descriptions that may instruct a model.

mod accept;
mod changes;
mod damage;
mod results;
mod secrets;
mod signs;

use std::{fs, path::PathBuf};

use mux_proto::{Kind, PinStanding, PinsRequest, TypesRequest};
use serde_json::{Value, json};

use crate::{
    client::{Client, within},
    home::Home,
};

/// A string that the server adds to the definition of a trusted tool.
const POISON: &str = "POISON";

/// A home with the fixture server `fix`, whose tools a test can change, and a client.
struct PinnedServer {
    home: Home,
    client: Client,
    changes: PathBuf,
}

impl PinnedServer {
    /// `keys` are added to the server's entry.
    async fn new(keys: &str) -> Self {
        let home = Home::new();
        let changes = home.path("changes.json");
        let fix = home.fixture("fix", &["--changes", changes.to_str().unwrap()]);
        home.write_config(&format!("{fix}{keys}\n"));
        let client = Client::deaf(&home).await;
        Self {
            home,
            client,
            changes,
        }
    }

    /// A home whose user has called `echo`, and whose server has changed the definition of `echo` since.
    async fn poisoned(keys: &str) -> Self {
        let pinned = Self::new(keys).await;
        pinned.echo().await;
        pinned.change(&poison()).await;
        pinned
    }

    /// Changes tools, and makes the server announce it.
    async fn change(&self, changes: &Value) {
        fs::write(&self.changes, changes.to_string()).unwrap();
        self.client.call("list_changed", json!({})).await;
    }

    async fn echo(&self) {
        let text = self.client.call("echo", json!({ "text": "hello" })).await;
        assert_eq!(text, "hello");
    }

    async fn echo_is_refused(&self) {
        let error = self.client.fails("echo", json!({ "text": "hello" })).await;
        assert_eq!(error.kind, Kind::Denied, "{error:?}");
        let said = "fix.echo has changed since you first trusted it";
        assert!(error.message.contains(said), "{error:?}");
        assert!(error.hint.unwrap().contains("mux servers accept fix"));
    }

    /// Starts the next daemon.
    async fn restart(&mut self) {
        self.home.stop().await;
        self.client = Client::deaf(&self.home).await;
    }

    async fn warnings(&self) -> Vec<String> {
        let warnings = self.client.server("fix").await.warnings;
        warnings.into_iter().map(|warning| warning.text).collect()
    }

    async fn standing(&self, tool: &str) -> PinStanding {
        let request = PinsRequest {
            server: "fix".into(),
            current: false,
        };
        let pins = self.client.rpc.pins(within(), request);
        let tools = pins.await.unwrap().unwrap().tools;
        tools
            .iter()
            .find(|found| found.name == tool)
            .unwrap()
            .standing
    }

    /// The declarations of these tools, or of all.
    async fn types(&self, paths: &[&str]) -> String {
        let request = TypesRequest {
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        };
        self.client
            .rpc
            .types(within(), request)
            .await
            .unwrap()
            .unwrap()
    }

    /// Accepts all changes of the tools.
    async fn accept_all(&self) -> usize {
        let request = PinsRequest {
            server: "fix".into(),
            current: true,
        };
        let pins = self.client.rpc.pins(within(), request);
        let tools = pins.await.unwrap().unwrap().tools.into_iter();
        let changed = tools.filter(|tool| tool.standing != PinStanding::Trusted);
        let seen = changed.map(|tool| mux_proto::SeenTool {
            name: tool.name,
            digest: tool.digest.unwrap(),
        });
        let request = mux_proto::AcceptPinsRequest {
            server: "fix".into(),
            tools: seen.collect(),
        };
        let accepted = self.client.rpc.accept_pins(within(), request);
        accepted.await.unwrap().unwrap().tools
    }
}

/// Another description, another title and another argument of `echo`.
fn poison() -> Value {
    let schema = json!({
        "type": "object",
        "properties": { "text": { "type": "string" }, POISON: { "type": "string", "description": POISON } },
    });
    json!({ "echo": { "list": { "title": POISON, "description": POISON, "inputSchema": schema } } })
}
