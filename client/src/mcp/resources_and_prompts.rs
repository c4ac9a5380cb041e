//! Resources and prompts of the servers, named after their server, and our own guide.

use std::{collections::BTreeMap, sync::Arc};

use futures::FutureExt as _;
use mux_proto::{
    CompleteRequest, DescribeRequest, Error, JsonText, Kind, MuxClient, OfferKind, Offered,
    OffersRequest, PromptRequest, ResourceRequest, ServerInstructions,
};
use parking_lot::{Mutex, MutexGuard};
use rmcp::{
    ErrorData,
    model::{
        CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResult, JsonObject,
        Prompt, ReadResourceResult, Resource, ResourceTemplate,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    ServedTools,
    catalog::{LIST_PATIENCE, failure_of, list_digest, millis},
    daemon_link::DaemonLink,
    fence::mark_json_meta,
    guide,
    listed_names::{self, ListedNames},
    pending_jobs::{JobContext, JobFuture, JobOutput},
    tool_results,
};

/// The timeout of a listing, in seconds: every server may need to start first.
const LIST_TIMEOUT_SECONDS: u64 = 60;
const READ_TIMEOUT_SECONDS: u64 = 60 * 60;

type ListDigest = [u8; 32];

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum ListKind {
    Resources,
    Templates,
    Prompts,
}

/// Lists and reads resources and prompts of the servers. Cheap to clone.
#[derive(Clone)]
pub(super) struct ResourcesAndPrompts(Arc<ResourcesAndPromptsInner>);

struct ResourcesAndPromptsInner {
    link: DaemonLink,
    show: ServedTools,
    prompts: Mutex<ListedNames>,
    /// The digests of the lists that the agent has seen.
    seen: Mutex<BTreeMap<ListKind, ListDigest>>,
}

impl ResourcesAndPrompts {
    pub(super) fn new(link: DaemonLink, show: ServedTools) -> Self {
        Self(Arc::new(ResourcesAndPromptsInner {
            link,
            show,
            prompts: Mutex::default(),
            seen: Mutex::default(),
        }))
    }

    /// Lists the resources for the agent, and remembers the list as seen.
    pub(super) async fn resources(&self) -> Result<Vec<Resource>, Error> {
        self.remember_list(ListKind::Resources, self.all_resources().await)
    }

    pub(super) async fn templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        self.remember_list(ListKind::Templates, self.all_templates().await)
    }

    pub(super) async fn prompts(&self) -> Result<Vec<Prompt>, Error> {
        self.remember_list(ListKind::Prompts, self.all_prompts().await)
    }

    /// Returns true if the resources or templates differ from the lists that the agent has seen.
    pub(super) async fn resources_have_changed(&self) -> bool {
        (self.has_seen_list(ListKind::Resources)
            && self.list_differs(ListKind::Resources, self.all_resources().await))
            || (self.has_seen_list(ListKind::Templates)
                && self.list_differs(ListKind::Templates, self.all_templates().await))
    }

    pub(super) async fn prompts_have_changed(&self) -> bool {
        self.has_seen_list(ListKind::Prompts)
            && self.list_differs(ListKind::Prompts, self.all_prompts().await)
    }

    fn has_seen_list(&self, key: ListKind) -> bool {
        self.seen().contains_key(&key)
    }

    fn remember_list<T: Serialize>(
        &self,
        key: ListKind,
        list: Result<T, Error>,
    ) -> Result<T, Error> {
        if let Ok(list) = &list {
            self.seen().insert(key, list_digest(list));
        }
        list
    }

    fn list_differs<T: Serialize>(&self, key: ListKind, list: Result<T, Error>) -> bool {
        // A list that cannot be fetched now is announced when it can be.
        list.is_ok_and(|list| self.seen().get(&key) != Some(&list_digest(&list)))
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<ListKind, ListDigest>> {
        self.0.seen.lock()
    }

    async fn all_resources(&self) -> Result<Vec<Resource>, Error> {
        let mut all: Vec<Resource> = self
            .has_guide()
            .then(guide::guide_resource)
            .into_iter()
            .collect();
        for Offered { server, mut offer } in self.fetch_offers(OfferKind::Resources).await? {
            self.rename_offer(&server, &mut offer, "uri");
            all.extend(parse_offer::<Resource>(offer));
        }
        Ok(all)
    }

    async fn all_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        let mut all = Vec::new();
        for Offered { server, mut offer } in self.fetch_offers(OfferKind::ResourceTemplates).await?
        {
            self.rename_offer(&server, &mut offer, "uriTemplate");
            all.extend(parse_offer::<ResourceTemplate>(offer));
        }
        Ok(all)
    }

    async fn all_prompts(&self) -> Result<Vec<Prompt>, Error> {
        let mut all: Vec<Prompt> = self
            .has_guide()
            .then(guide::guide_prompt)
            .into_iter()
            .collect();
        let mut names = ListedNames::default();
        for Offered { server, mut offer } in self.fetch_offers(OfferKind::Prompts).await? {
            if !self.is_single()
                && let Some(name) = offer["name"].as_str()
            {
                let name = names.assign_name(&server, name);
                offer["name"] = name.into();
            }
            all.extend(parse_offer::<Prompt>(offer));
        }
        *self.names() = names;
        Ok(all)
    }

    /// The servers' instructions. Empty on failure, because the guide is useful without them.
    async fn instructions(&self) -> Vec<ServerInstructions> {
        let request = DescribeRequest {
            all_instructions: true,
            ..DescribeRequest::default()
        };
        let asked = self.0.link.request(30, request, MuxClient::describe).await;
        asked
            .map(|described| described.instructions)
            .unwrap_or_default()
    }

    /// The work that reads a resource. Fails if the uri names no server.
    pub(super) fn read(
        &self,
        uri: &str,
    ) -> Result<impl FnOnce(JobContext) -> JobFuture + use<>, ErrorData> {
        let guide = self.has_guide() && uri == guide::GUIDE_URI;
        let (server, own) = self.resolve_resource(uri)?;
        let offers = self.clone();
        let shown = uri.to_owned();
        Ok(move |job: JobContext| {
            async move {
                if guide {
                    let servers = offers.instructions().await;
                    return Ok(JobOutput::Resource(guide::read_guide(&servers)));
                }
                let read = offers.fetch_resource(&server, &own, job).await;
                let read = read.map_err(|error| resource_error(error, &shown))?;
                let mut result = read.to_value();
                mark_json_meta(&mut result, &server);
                if !offers.is_single() {
                    rename_contents(&mut result, &server);
                }
                let read = serde_json::from_value::<ReadResourceResult>(result);
                read.map(JobOutput::Resource).map_err(invalid_mcp_error)
            }
            .boxed()
        })
    }

    pub(super) fn prompt(
        &self,
        asked: GetPromptRequestParams,
    ) -> impl FnOnce(JobContext) -> JobFuture + use<> {
        let offers = self.clone();
        move |job: JobContext| {
            async move {
                if offers.has_guide() && asked.name == guide::GUIDE_PROMPT_NAME {
                    let servers = offers.instructions().await;
                    let messages = guide::guide_prompt_result(&servers);
                    return messages.map(JobOutput::Prompt).map_err(invalid_mcp_error);
                }
                let (server, name) = offers.resolve_prompt(&asked.name).await?;
                let arguments = asked.arguments.unwrap_or_default();
                let answer = offers.fetch_prompt(&server, name, arguments, job).await;
                let result = answer.map_err(tool_results::protocol_error)?;
                let mut result = result.to_value();
                mark_json_meta(&mut result, &server);
                let prompt = serde_json::from_value::<GetPromptResult>(result);
                prompt.map(JobOutput::Prompt).map_err(invalid_mcp_error)
            }
            .boxed()
        }
    }

    pub(super) async fn complete(
        &self,
        asked: CompleteRequestParams,
        meta: JsonObject,
    ) -> Result<CompleteResult, ErrorData> {
        let mut params = serde_json::to_value(asked).map_err(invalid_mcp_error)?;
        params["_meta"] = Value::Object(meta);
        let reference = &mut params["ref"];
        let ours =
            reference["name"] == guide::GUIDE_PROMPT_NAME || reference["uri"] == guide::GUIDE_URI;
        if self.has_guide() && ours {
            // The prompt takes no arguments.
            return serde_json::from_value(json!({ "completion": { "values": [] } }))
                .map_err(invalid_mcp_error);
        }
        let server = match (reference["name"].as_str(), reference["uri"].as_str()) {
            (Some(name), _) => {
                let (server, name) = self.resolve_prompt(name).await?;
                reference["name"] = name.into();
                server
            }
            (None, uri) => {
                let (server, own) = self.resolve_resource(uri.unwrap_or_default())?;
                reference["uri"] = own.into();
                server
            }
        };
        let request = CompleteRequest { server, params };
        let link = &self.0.link;
        let answer = link.request(LIST_TIMEOUT_SECONDS, request, MuxClient::complete);
        let result = answer.await.map_err(tool_results::protocol_error)?;
        serde_json::from_value(result).map_err(invalid_mcp_error)
    }

    async fn fetch_offers(&self, kind: OfferKind) -> Result<Vec<Offered>, Error> {
        let server = match &self.0.show {
            ServedTools::Server(server) => Some(server.clone()),
            _ => None,
        };
        // Late servers are left out.
        let request = OffersRequest {
            kind,
            server,
            wait_ms: Some(millis(LIST_PATIENCE)),
        };
        let link = &self.0.link;
        let answer = link.request(LIST_TIMEOUT_SECONDS, request, MuxClient::offers);
        let listed = answer.await?;
        match failure_of(&listed.missing) {
            Some(error) if self.is_single() => Err(error.clone()),
            _ => Ok(listed.offers),
        }
    }

    async fn fetch_resource(
        &self,
        server: &str,
        uri: &str,
        job: JobContext,
    ) -> Result<JsonText, Error> {
        let meta = job.meta.clone();
        let (token, _registration) = job.register_call();
        let request = ResourceRequest {
            server: server.to_owned(),
            uri: uri.to_owned(),
            token: Some(token),
            meta,
        };
        let link = &self.0.link;
        let answer =
            link.request_with_connection(READ_TIMEOUT_SECONDS, request, MuxClient::read_resource);
        let (connection, held) = answer.await?;
        // MCP has no handles for resources: the value is always sent whole.
        connection.full_value(held).await
    }

    async fn fetch_prompt(
        &self,
        server: &str,
        name: String,
        arguments: JsonObject,
        job: JobContext,
    ) -> Result<JsonText, Error> {
        let meta = job.meta.clone();
        let (token, _registration) = job.register_call();
        let request = PromptRequest {
            server: server.to_owned(),
            name,
            arguments,
            token: Some(token),
            meta,
        };
        let link = &self.0.link;
        let answer =
            link.request_with_connection(READ_TIMEOUT_SECONDS, request, MuxClient::get_prompt);
        let (connection, held) = answer.await?;
        connection.full_value(held).await
    }

    /// The server and its own name of a listed prompt.
    async fn resolve_prompt(&self, shown: &str) -> Result<(String, String), ErrorData> {
        if let ServedTools::Server(server) = &self.0.show {
            return Ok((server.clone(), shown.to_owned()));
        }
        if self.names().find(shown).is_none() {
            let listed = self.all_prompts().await;
            listed.map_err(tool_results::protocol_error)?;
        }
        let names = self.names();
        let Some(named) = names.find(shown) else {
            let message = format!("there is no prompt `{shown}`; see prompts/list");
            return Err(ErrorData::invalid_params(message, None));
        };
        Ok((named.server.clone(), named.name.clone()))
    }

    /// The server and its own uri of a listed resource. Both are empty for the guide.
    pub(super) fn resolve_resource(&self, uri: &str) -> Result<(String, String), ErrorData> {
        match &self.0.show {
            ServedTools::Server(server) => Ok((server.clone(), uri.to_owned())),
            _ if self.has_guide() && uri == guide::GUIDE_URI => Ok((String::new(), String::new())),
            _ => {
                if let Some((server, own)) = listed_names::split_listed_uri(uri) {
                    Ok((server.to_owned(), own.to_owned()))
                } else {
                    let message = format!("{uri:?} is not of the form mux://server/uri");
                    Err(ErrorData::resource_not_found(
                        message,
                        Some(json!({ "uri": uri })),
                    ))
                }
            }
        }
    }

    fn rename_offer(&self, server: &str, offer: &mut Value, key: &str) {
        if self.is_single() {
            return;
        }
        if let Some(own) = offer[key].as_str() {
            offer[key] = listed_names::listed_uri(server, own).into();
        }
        if let Some(name) = offer["name"].as_str() {
            offer["name"] = format!("{server}: {name}").into();
        }
    }

    /// Returns true if only one server is shown, under its own names.
    pub(super) fn is_single(&self) -> bool {
        matches!(self.0.show, ServedTools::Server(_))
    }

    pub(super) fn has_guide(&self) -> bool {
        self.0.show == ServedTools::Programs
    }

    fn names(&self) -> MutexGuard<'_, ListedNames> {
        self.0.prompts.lock()
    }
}

/// Replaces the server's own uris in a result with the listed ones.
fn rename_contents(result: &mut Value, server: &str) {
    for content in result["contents"].as_array_mut().into_iter().flatten() {
        if let Some(own) = content["uri"].as_str() {
            content["uri"] = listed_names::listed_uri(server, own).into();
        }
    }
}

fn parse_offer<T: DeserializeOwned>(offer: Value) -> Option<T> {
    // An entry that is not valid MCP is dropped.
    serde_json::from_value(offer).ok()
}

pub(super) fn resource_error(error: Error, uri: &str) -> ErrorData {
    if error.kind == Kind::NotFound {
        ErrorData::resource_not_found(error.message, Some(json!({ "uri": uri })))
    } else {
        tool_results::protocol_error(error)
    }
}

/// The parser's message would name our types.
fn invalid_mcp_error(_: serde_json::Error) -> ErrorData {
    ErrorData::internal_error("the server answered with something that is not MCP", None)
}
