//! The client side of the protocol toward a server: the requests that the server may send. The server's notifications
//! go to [`super::notification_router`] before rmcp sees them.

#[expect(deprecated, reason = "current servers ask for them")]
use rmcp::model::{CreateMessageRequestParams, CreateMessageResult, ListRootsResult};
use std::sync::Arc;

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams,
        ElicitResult, ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability,
        Implementation, JsonObject, ProtocolVersion, RootsCapabilities, SamplingCapability,
        TASKS_EXTENSION_ID, UrlElicitationCapability,
    },
    service::RequestContext,
};
use serde_json::Value;

use super::server_requests::ServerRequests;

/// Handles a server's requests. There is one handler for each session.
pub(crate) struct ClientRequestHandler {
    pub(crate) server_requests: Arc<ServerRequests>,
    /// The version that `initialize` offers, always of the legacy era.
    pub(crate) offered_version: ProtocolVersion,
}

impl ClientRequestHandler {
    pub(crate) fn new(server_requests: Arc<ServerRequests>) -> Self {
        Self {
            server_requests,
            offered_version: ProtocolVersion::LATEST_WITH_INITIALIZE,
        }
    }

    pub(crate) fn offering(self, offered_version: ProtocolVersion) -> Self {
        Self {
            offered_version,
            ..self
        }
    }
}

impl ClientHandler for ClientRequestHandler {
    fn get_info(&self) -> ClientConfig {
        let implementation = Implementation::new("muxd", env!("CARGO_PKG_VERSION"));
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::new());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(elicitation);
        capabilities.sampling = Some(SamplingCapability::default());
        capabilities.roots = self.server_requests.has_roots().then(roots_capability);
        let tasks = (TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
        capabilities.extensions = Some([tasks].into_iter().collect());
        ClientConfig::new(capabilities, implementation)
            .with_protocol_version(self.offered_version.clone())
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = serde_json::to_value(params).map_err(|error| params_error(&error))?;
        Ok(self
            .server_requests
            .elicit(self.server_requests.sole_recipient(), params, &context.ct)
            .await)
    }

    #[expect(deprecated, reason = "current servers ask for it")]
    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let params = serde_json::to_value(params).map_err(|error| params_error(&error))?;
        self.server_requests
            .sample(self.server_requests.sole_recipient(), params, &context.ct)
            .await
    }

    #[expect(deprecated, reason = "current servers ask for them")]
    async fn list_roots(
        &self,
        context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self
            .server_requests
            .roots(self.server_requests.sole_recipient(), &context.ct)
            .await)
    }

    /// Requests that rmcp cannot parse arrive here, too.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        const SUPPORTED_METHODS: [&str; 3] =
            ["elicitation/create", "sampling/createMessage", "roots/list"];
        let (code, message) = if SUPPORTED_METHODS.contains(&request.method.as_str()) {
            (ErrorCode::INVALID_PARAMS, "the params are invalid")
        } else {
            (ErrorCode::METHOD_NOT_FOUND, "this method is not supported")
        };
        Err(ErrorData::new(code, message, None::<Value>))
    }
}

/// A session belongs to one workspace, so its roots never change. `listChanged` is still true, because FastMCP for
/// TypeScript asks only such clients for roots.
fn roots_capability() -> RootsCapabilities {
    let mut roots = RootsCapabilities::default();
    roots.list_changed = Some(true);
    roots
}

fn params_error(error: &serde_json::Error) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}
