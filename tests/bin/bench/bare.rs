//! The baseline: an rmcp session of our own, without muxd.

use std::{path::Path, process::Stdio};

use anyhow::Context;
use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, CallToolResult, JsonObject},
    service::{RunningService, serve_client},
    transport::async_rw::AsyncRwTransport,
};
use tokio::process::{Child, Command};

pub(crate) struct Bare {
    service: RunningService<RoleClient, ()>,
    // Held for its life: the process is killed when it is dropped.
    child: Child,
}

impl Bare {
    pub(crate) async fn connect(program: &Path, args: &[String]) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let stdin = child.stdin.take().context("no stdin")?;
        let stdout = child.stdout.take().context("no stdout")?;
        let service = serve_client((), AsyncRwTransport::new_client(stdout, stdin)).await?;
        service.peer().list_tools(None).await?;
        Ok(Self { service, child })
    }

    pub(crate) async fn call(&self, tool: &str, arguments: &JsonObject) -> anyhow::Result<()> {
        self.result(tool, arguments).await?;
        Ok(())
    }

    pub(crate) async fn result(
        &self,
        tool: &str,
        arguments: &JsonObject,
    ) -> anyhow::Result<CallToolResult> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments.clone());
        Ok(self.service.peer().call_tool(params).await?)
    }

    pub(crate) async fn close(mut self) -> anyhow::Result<()> {
        drop(self.service.cancel().await);
        self.child.kill().await?;
        Ok(())
    }
}
