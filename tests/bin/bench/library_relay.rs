//! The baseline for the time that muxd itself adds to a call through `mux mcp`: two processes with only the same
//! libraries. The front is an rmcp server over stdio and a tarpc client, the back a tarpc server and an rmcp client of
//! the MCP server. Both processes work without policy, logs and checks.

use std::{ffi::OsString, path::Path, sync::Arc};

use anyhow::Context;
use futures::StreamExt as _;
use mux_client::within_seconds;
use mux_proto::transport;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, JsonObject, ServerCapabilities,
        ServerConfig,
    },
    service::{RequestContext, serve_server},
    transport::async_rw::AsyncRwTransport,
};
use tarpc::server::{BaseChannel, Channel as _};
use tokio::net::{UnixListener, UnixStream, unix::pipe};

use super::{bare::Bare, relay};

/// As this program's first argument, before the path of a socket, and for the back also the server's program.
pub(crate) const ARGUMENT: &str = "library-relay";

#[tarpc::service]
trait ToolCalls {
    async fn call(tool: String, arguments: JsonObject) -> Result<CallToolResult, String>;
}

/// The processes themselves. The back starts the front, which has its standard input and output.
pub(crate) fn serve(socket: &Path, server: Option<OsString>) -> anyhow::Result<()> {
    match server {
        // The runtimes are those of `mux mcp` and muxd.
        None => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(serve_front(socket)),
        Some(server) => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?
            .block_on(serve_back(socket, server.as_ref())),
    }
}

async fn serve_front(socket: &Path) -> anyhow::Result<()> {
    let stream = UnixStream::connect(socket).await?;
    let back = ToolCallsClient::new(tarpc::client::Config::default(), transport::frames(stream));
    // As in `mux mcp`: tokio's own standard input and output are read and written by other threads.
    let input = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0")?;
    let output = pipe::OpenOptions::new().open_sender("/proc/self/fd/1")?;
    let stdio = AsyncRwTransport::new_server(input, output);
    let front = StdioFrontend { back: back.spawn() };
    serve_server(front, stdio).await?.waiting().await?;
    Ok(())
}

async fn serve_back(socket: &Path, server: &Path) -> anyhow::Result<()> {
    let listener = UnixListener::bind(socket)?;
    let mut front = relay::front(ARGUMENT, socket)?.spawn()?;
    let (stream, _) = listener.accept().await?;
    let bare = Arc::new(Bare::connect(server, &[]).await?);
    let channel = BaseChannel::with_defaults(transport::frames(stream));
    let mut requests = Box::pin(channel.execute(TarpcBackend(Arc::clone(&bare)).serve()));
    while let Some(response) = requests.next().await {
        tokio::spawn(response);
    }
    drop(requests);
    front.wait()?;
    Arc::into_inner(bare)
        .context("a call is still running")?
        .close()
        .await
}

struct StdioFrontend {
    back: ToolCallsClient,
}

impl ServerHandler for StdioFrontend {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = params.arguments.unwrap_or_default();
        let call = self
            .back
            .call(within_seconds(60), params.name.into(), arguments);
        match call.await {
            Ok(Ok(result)) => Ok(result.into()),
            Ok(Err(why)) => Err(ErrorData::internal_error(why, None)),
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }
}

#[derive(Clone)]
struct TarpcBackend(Arc<Bare>);

impl ToolCalls for TarpcBackend {
    async fn call(
        self,
        _: tarpc::context::Context,
        tool: String,
        arguments: JsonObject,
    ) -> Result<CallToolResult, String> {
        let result = self.0.result(&tool, &arguments).await;
        result.map_err(|error| error.to_string())
    }
}
