//! Resources and prompts of the servers, named after their server, and our own guide.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::FutureExt as _;
use mux_client::within_seconds;
use mux_proto::{
    CompleteRequest, DescribeRequest, Error, Kind, MuxClient, OfferKind, Offered, OffersRequest,
    PromptRequest, ResourceRequest, ServerInstructions,
};
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
    Show, answers,
    catalog::digest,
    guide,
    job::{Ear, Output, Work},
    link::Link,
    names::{self, Names},
};

/// The timeout of a listing, in seconds: every server may have to be started first.
const LISTS: u64 = 60;
const ANSWERS: u64 = 60 * 60;

type Digest = [u8; 32];

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum OfferKey {
    Resources,
    Templates,
    Prompts,
}

/// Lists and reads resources and prompts of the servers. Cheap to clone.
#[derive(Clone)]
pub(super) struct Offers(Arc<Inner>);

struct Inner {
    link: Link,
    show: Show,
    prompts: Mutex<Names>,
    /// The digests of the lists that the agent has seen.
    seen: Mutex<BTreeMap<OfferKey, Digest>>,
}

impl Offers {
    pub(super) fn new(link: Link, show: Show) -> Self {
        Self(Arc::new(Inner {
            link,
            show,
            prompts: Mutex::default(),
            seen: Mutex::default(),
        }))
    }

    /// Lists the resources for the agent, and remembers the list as seen.
    pub(super) async fn resources(&self) -> Result<Vec<Resource>, Error> {
        self.saw(OfferKey::Resources, self.all_resources().await)
    }

    pub(super) async fn templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        self.saw(OfferKey::Templates, self.all_templates().await)
    }

    pub(super) async fn prompts(&self) -> Result<Vec<Prompt>, Error> {
        self.saw(OfferKey::Prompts, self.all_prompts().await)
    }

    /// Whether the resources or templates differ from the lists that the agent has seen.
    pub(super) async fn resources_have_changed(&self) -> bool {
        (self.has_seen(OfferKey::Resources)
            && self.differs(OfferKey::Resources, self.all_resources().await))
            || (self.has_seen(OfferKey::Templates)
                && self.differs(OfferKey::Templates, self.all_templates().await))
    }

    pub(super) async fn prompts_have_changed(&self) -> bool {
        self.has_seen(OfferKey::Prompts)
            && self.differs(OfferKey::Prompts, self.all_prompts().await)
    }

    fn has_seen(&self, key: OfferKey) -> bool {
        self.seen().contains_key(&key)
    }

    fn saw<T: Serialize>(&self, key: OfferKey, list: Result<T, Error>) -> Result<T, Error> {
        if let Ok(list) = &list {
            self.seen().insert(key, digest(list));
        }
        list
    }

    fn differs<T: Serialize>(&self, key: OfferKey, list: Result<T, Error>) -> bool {
        // A list that cannot be fetched now is announced when it can be.
        list.is_ok_and(|list| self.seen().get(&key) != Some(&digest(&list)))
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<OfferKey, Digest>> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn all_resources(&self) -> Result<Vec<Resource>, Error> {
        let mut all: Vec<Resource> = self.has_guide().then(guide::resource).into_iter().collect();
        for Offered { server, mut offer } in self.list(OfferKind::Resources).await? {
            self.place(&server, &mut offer, "uri");
            all.extend(understood::<Resource>(offer));
        }
        Ok(all)
    }

    async fn all_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        let mut all = Vec::new();
        for Offered { server, mut offer } in self.list(OfferKind::ResourceTemplates).await? {
            self.place(&server, &mut offer, "uriTemplate");
            all.extend(understood::<ResourceTemplate>(offer));
        }
        Ok(all)
    }

    async fn all_prompts(&self) -> Result<Vec<Prompt>, Error> {
        let mut all: Vec<Prompt> = self.has_guide().then(guide::prompt).into_iter().collect();
        let mut names = Names::default();
        for Offered { server, mut offer } in self.list(OfferKind::Prompts).await? {
            if !self.is_single()
                && let Some(name) = offer["name"].as_str()
            {
                let name = names.give(&server, name);
                offer["name"] = name.into();
            }
            all.extend(understood::<Prompt>(offer));
        }
        *self.names() = names;
        Ok(all)
    }

    /// The servers' instructions; empty on failure, because the guide is useful without them.
    async fn instructions(&self) -> Vec<ServerInstructions> {
        let request = DescribeRequest {
            all_instructions: true,
            ..DescribeRequest::default()
        };
        let send = |client: MuxClient, request| async move {
            client.describe(within_seconds(30), request).await
        };
        let asked = self.0.link.request("describe", request, send).await;
        asked
            .map(|described| described.instructions)
            .unwrap_or_default()
    }

    /// The work that reads a resource. Fails if the uri names no server.
    pub(super) fn read(&self, uri: &str) -> Result<impl FnOnce(Ear) -> Work + use<>, ErrorData> {
        let guide = self.has_guide() && uri == guide::URI;
        let (server, own) = self.resource(uri)?;
        let (offers, shown) = (self.clone(), uri.to_owned());
        Ok(move |ear: Ear| {
            async move {
                if guide {
                    let servers = offers.instructions().await;
                    return Ok(Output::Resource(guide::read(&servers)));
                }
                let read = offers.ask_resource(&server, &own, ear).await;
                let mut result = read.map_err(|error| not_found(error, &shown))?;
                if !offers.is_single() {
                    rename(&mut result, &server);
                }
                let read = serde_json::from_value::<ReadResourceResult>(result);
                read.map(Output::Resource).map_err(internal)
            }
            .boxed()
        })
    }

    pub(super) fn prompt(&self, asked: GetPromptRequestParams) -> impl FnOnce(Ear) -> Work + use<> {
        let offers = self.clone();
        move |ear: Ear| {
            async move {
                if offers.has_guide() && asked.name == guide::PROMPT {
                    let servers = offers.instructions().await;
                    let messages = guide::messages(&servers);
                    return messages.map(Output::Prompt).map_err(internal);
                }
                let (server, name) = offers.prompt_named(&asked.name).await?;
                let arguments = asked.arguments.unwrap_or_default();
                let answer = offers.ask_prompt(server, name, arguments, ear).await;
                let result = answer.map_err(|error| answers::protocol(&error))?;
                let prompt = serde_json::from_value::<GetPromptResult>(result);
                prompt.map(Output::Prompt).map_err(internal)
            }
            .boxed()
        }
    }

    pub(super) async fn complete(
        &self,
        asked: CompleteRequestParams,
    ) -> Result<CompleteResult, ErrorData> {
        let mut params = serde_json::to_value(asked).map_err(internal)?;
        let reference = &mut params["ref"];
        let ours = reference["name"] == guide::PROMPT || reference["uri"] == guide::URI;
        if self.has_guide() && ours {
            // It takes no arguments.
            return serde_json::from_value(json!({ "completion": { "values": [] } }))
                .map_err(internal);
        }
        let server = match (reference["name"].as_str(), reference["uri"].as_str()) {
            (Some(name), _) => {
                let (server, name) = self.prompt_named(name).await?;
                reference["name"] = name.into();
                server
            }
            (None, uri) => {
                let (server, own) = self.resource(uri.unwrap_or_default())?;
                reference["uri"] = own.into();
                server
            }
        };
        let request = CompleteRequest { server, params };
        let complete = |client: MuxClient, request| async move {
            client.complete(within_seconds(LISTS), request).await
        };
        let answer = self.0.link.request("complete", request, complete);
        let result = answer.await.map_err(|error| answers::protocol(&error))?;
        serde_json::from_value(result).map_err(internal)
    }

    async fn list(&self, kind: OfferKind) -> Result<Vec<Offered>, Error> {
        let server = match &self.0.show {
            Show::Server(server) => Some(server.clone()),
            _ => None,
        };
        // With several servers, late ones are left out.
        let wait_ms = server.is_some().then_some(LISTS * 900);
        let request = OffersRequest {
            kind,
            server,
            wait_ms,
        };
        let offers = |client: MuxClient, request| async move {
            client.offers(within_seconds(LISTS), request).await
        };
        let answer = self.0.link.request("offers", request, offers);
        Ok(answer.await?.offers)
    }

    async fn ask_resource(&self, server: &str, uri: &str, ear: Ear) -> Result<Value, Error> {
        let (token, _seat) = ear.sit();
        let request = ResourceRequest {
            server: server.to_owned(),
            uri: uri.to_owned(),
            token: Some(token),
        };
        let read = |client: MuxClient, request| async move {
            client.read_resource(within_seconds(ANSWERS), request).await
        };
        let (line, held) = self.0.link.send("read_resource", request, read).await?;
        // MCP has no handles for resources: the value is always sent whole.
        line.whole(held).await
    }

    async fn ask_prompt(
        &self,
        server: String,
        name: String,
        arguments: JsonObject,
        ear: Ear,
    ) -> Result<Value, Error> {
        let (token, _seat) = ear.sit();
        let request = PromptRequest {
            server,
            name,
            arguments,
            token: Some(token),
        };
        let get = |client: MuxClient, request| async move {
            client.get_prompt(within_seconds(ANSWERS), request).await
        };
        let (line, held) = self.0.link.send("get_prompt", request, get).await?;
        line.whole(held).await
    }

    /// The server and its own name of a listed prompt.
    async fn prompt_named(&self, shown: &str) -> Result<(String, String), ErrorData> {
        if let Show::Server(server) = &self.0.show {
            return Ok((server.clone(), shown.to_owned()));
        }
        if self.names().find(shown).is_none() {
            let listed = self.all_prompts().await;
            listed.map_err(|error| answers::protocol(&error))?;
        }
        let names = self.names();
        let Some(named) = names.find(shown) else {
            let message = format!("there is no prompt `{shown}`; see prompts/list");
            return Err(ErrorData::invalid_params(message, None));
        };
        Ok((named.server.clone(), named.name.clone()))
    }

    /// The server and its own uri of a listed resource. Both are empty for the guide.
    pub(super) fn resource(&self, uri: &str) -> Result<(String, String), ErrorData> {
        match &self.0.show {
            Show::Server(server) => Ok((server.clone(), uri.to_owned())),
            _ if self.has_guide() && uri == guide::URI => Ok((String::new(), String::new())),
            _ => match names::own_uri(uri) {
                Some((server, own)) => Ok((server.to_owned(), own.to_owned())),
                None => {
                    let message = format!("{uri:?} is not of the form mux://server/uri");
                    Err(ErrorData::resource_not_found(
                        message,
                        Some(json!({ "uri": uri })),
                    ))
                }
            },
        }
    }

    fn place(&self, server: &str, offer: &mut Value, key: &str) {
        if self.is_single() {
            return;
        }
        if let Some(own) = offer[key].as_str() {
            offer[key] = names::uri(server, own).into();
        }
        if let Some(name) = offer["name"].as_str() {
            offer["name"] = format!("{server}: {name}").into();
        }
    }

    /// Whether only one server is shown, under its own names.
    pub(super) fn is_single(&self) -> bool {
        matches!(self.0.show, Show::Server(_))
    }

    pub(super) fn has_guide(&self) -> bool {
        self.0.show == Show::Programs
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.0
            .prompts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replaces the server's own uris in a result with the listed ones.
fn rename(result: &mut Value, server: &str) {
    for content in result["contents"].as_array_mut().into_iter().flatten() {
        if let Some(own) = content["uri"].as_str() {
            content["uri"] = names::uri(server, own).into();
        }
    }
}

fn understood<T: DeserializeOwned>(offer: Value) -> Option<T> {
    // An entry that is not valid MCP is dropped.
    serde_json::from_value(offer).ok()
}

pub(super) fn not_found(error: Error, uri: &str) -> ErrorData {
    match error.kind {
        Kind::NotFound => ErrorData::resource_not_found(error.message, Some(json!({ "uri": uri }))),
        _ => answers::protocol(&error),
    }
}

fn internal(error: serde_json::Error) -> ErrorData {
    ErrorData::internal_error(
        format!("a server answered with something that is not MCP: {error}"),
        None,
    )
}
