//! Our side of the protocol towards a server: what it may ask of us, and what it tells us.

use std::{path::PathBuf, sync::Arc};

use rmcp::{
    ClientHandler, RoleClient,
    model::{ClientCapabilities, ClientConfig, Implementation},
    service::NotificationContext,
};
use serde_json::Value;
use tokio::sync::Notify;

use super::stderr::Log;

/// One for each session.
pub(super) struct Handler {
    pub(super) log: PathBuf,
    pub(super) tools_changed: Arc<Notify>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let implementation = Implementation::new("muxd", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), implementation)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
    }

    #[expect(
        deprecated,
        reason = "servers of today log this way; the next era's do not"
    )]
    async fn on_logging_message(
        &self,
        params: rmcp::model::LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let text = match params.data {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Log::open(&self.log).write(&format!("[{:?}] {}", params.level, text.trim_end()));
    }
}
