//! Resources, resource templates and prompts of a server: their lists, and requests to read, get or complete one.
//!
//! Invariant: a list is fetched once in a session, until the server announces a change or the list expires. An endless
//! list is cut or an error, never an endless wait.

use std::{sync::Arc, time::Duration};

use futures::FutureExt as _;
use rmcp::model::{
    ClientRequest, CompleteRequest, CompleteRequestParams, ErrorCode, GetPromptRequest,
    GetPromptRequestParams, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    PaginatedRequestParams, ReadResourceRequest, ReadResourceRequestParams, SubscribeRequestParams,
    UnsubscribeRequestParams,
};
#[expect(
    deprecated,
    reason = "current sessions have it; sessions of the next era use subscriptions/listen"
)]
use rmcp::model::{SubscribeRequest, UnsubscribeRequest};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tracing::warn;

use super::{
    Session,
    input_required::{InputAnswers, RoundBudget},
    request::RequestOptions,
};
use crate::{
    calls::CallError,
    link::raw_message,
    listing::{FetchedList, ListExpiry, ListKind, ListPage, ListPages, shorter_ttl},
    sharing::SlotShared,
};
use mux_catalog::warnings_of_list;
use mux_process::blocking_pool;
use mux_text::json_length;

const MAX_LIST_ITEMS: usize = 10_000;
const MAX_LIST_PAGES: usize = 500;
/// The maximum length of one list as JSON.
const MAX_LIST_BYTES: usize = 16 << 20;

impl Session {
    /// All items of this kind. Empty if the server does not support the kind. A list that is being fetched is fetched
    /// to its end, unless the session ends or takes no more calls.
    pub async fn list_cached(
        &self,
        kind: ListKind,
        within: Duration,
    ) -> Result<Arc<Vec<Value>>, CallError> {
        let Some(session) = self.me.upgrade() else {
            return Err(CallError::NotSent);
        };
        let cache = self.router.list_caches.cache_for(kind);
        let fetch = || {
            async move {
                tokio::select! {
                    fetched = session.fetch_and_remember(kind, within) => fetched,
                    () = session.draining.cancelled() => Err(CallError::NotSent),
                    () = session.retired.cancelled() => Err(CallError::NotSent),
                    () = session.closing.cancelled() => Err(CallError::NotSent),
                }
            }
            .boxed()
        };
        cache.get(fetch).await
    }

    /// How long a caller who waits `patience` for a server waits for this list. The wait is shorter if the fetch began
    /// earlier.
    pub fn list_patience(&self, kind: ListKind, patience: Duration) -> Duration {
        let cache = self.router.list_caches.cache_for(kind);
        patience.saturating_sub(cache.fetching_for().unwrap_or_default())
    }

    async fn fetch_and_remember(
        &self,
        kind: ListKind,
        within: Duration,
    ) -> Result<FetchedList, CallError> {
        let options = RequestOptions::without_caller(within);
        let (items, ttl) = self.fetch_list(kind, &options).await?;
        self.router.list_caches.record_fetched(kind, &items);
        let listed = Arc::clone(&items);
        let entry = self.catalog_entry.clone();
        let owner = self.router.lasting_owner();
        let read = move || {
            if let Some(owner) = owner {
                entry.remember_offers(kind, &owner, &listed);
            }
            warnings_of_list(kind.item_name(), &listed)
        };
        Ok(FetchedList {
            warnings: blocking_pool::run(read).await,
            items,
            expiry: ListExpiry::new(ttl),
        })
    }

    /// Warnings for the user about the lists that were fetched.
    pub(crate) fn list_warnings(&self) -> Vec<String> {
        self.router.list_caches.warnings()
    }

    /// True if the list was fetched before and has not changed since.
    pub fn has_cached_list(&self, kind: ListKind) -> bool {
        self.router.list_caches.cache_for(kind).is_known()
    }

    /// Compares the lists of this session with the lists that clients know.
    pub(crate) async fn compare_with_announced(&self, slot_shared: &SlotShared, within: Duration) {
        for kind in slot_shared.announced_kinds() {
            let list = self.list_cached(kind, within).await;
            // The next client to request the list gets the error.
            if let Ok(list) = list {
                slot_shared.announce_list(kind, Some(&list));
            }
        }
    }

    async fn fetch_list(
        &self,
        kind: ListKind,
        options: &RequestOptions<'_>,
    ) -> Result<(Arc<Vec<Value>>, Option<Duration>), CallError> {
        let info = self.peer.peer_info();
        if !info.is_some_and(|info| kind.is_declared(&info.capabilities)) {
            return Ok((Arc::default(), None));
        }
        let started = Instant::now();
        let mut ttl = None;
        let mut items = Vec::new();
        let mut cursor = None;
        let mut room = MAX_LIST_BYTES;
        let mut pages = ListPages::new(kind.item_key());
        for _ in 0..MAX_LIST_PAGES {
            let remaining = RequestOptions {
                within: options.within.saturating_sub(started.elapsed()),
                ..*options
            };
            let mut page = match self.fetch_list_page(kind, cursor, &remaining).await {
                Ok(page) => page,
                // A server without items need not know the method.
                Err(CallError::Refused { code, .. }) if code == ErrorCode::METHOD_NOT_FOUND.0 => {
                    return Ok((Arc::new(items), ttl));
                }
                Err(CallError::TimedOut(_)) => return Err(CallError::TimedOut(options.within)),
                Err(error) => return Err(error),
            };
            ttl = shorter_ttl(ttl, page.ttl);
            cursor = pages.add_page(&mut page.items, page.next.take());
            let name = kind.name();
            room = if let Some(length) = json_length::of(&page.items, room) {
                room - length
            } else {
                let message = format!("its list of {name} is longer than {MAX_LIST_BYTES} bytes");
                return Err(CallError::TooMuch(message));
            };
            items.extend(page.items);
            let count = items.len();
            if count > MAX_LIST_ITEMS {
                return Err(CallError::TooMuch(format!(
                    "it lists {count} {name} and more, over the limit of {MAX_LIST_ITEMS}"
                )));
            }
            if cursor.is_none() {
                return Ok((Arc::new(items), ttl));
            }
        }
        let name = kind.name();
        warn!("its list of {name} has more than {MAX_LIST_PAGES} pages; the rest is left out");
        Ok((Arc::new(items), ttl))
    }

    async fn fetch_list_page(
        &self,
        kind: ListKind,
        cursor: Option<String>,
        options: &RequestOptions<'_>,
    ) -> Result<ListPage, CallError> {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let request: ClientRequest = match kind {
            ListKind::Resources => ListResourcesRequest::with_param(page).into(),
            ListKind::ResourceTemplates => ListResourceTemplatesRequest::with_param(page).into(),
            ListKind::Prompts => ListPromptsRequest::with_param(page).into(),
        };
        let result = raw_message::result_to_value(self.request(request, options).await?)?;
        ListPage::page_from_result(result, kind.page_field())
            .ok_or_else(|| unexpected_answer(kind.method()))
    }

    /// Makes the request and returns MCP's `ReadResourceResult`, `GetPromptResult` or `CompleteResult`.
    pub async fn request_content(
        &self,
        wanted: &ContentRequest,
        options: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        // Counts as in flight between rounds, like a call.
        let _counted = self.calls.token();
        let result = self
            .request_in_rounds(
                |answers| wanted.to_client_request(answers),
                &RoundBudget::of(options),
                options,
            )
            .await?;
        let has = match wanted {
            ContentRequest::Resource { .. } => result["contents"].is_array(),
            ContentRequest::Prompt { .. } => result["messages"].is_array(),
            ContentRequest::Completion(_) => result["completion"]["values"].is_array(),
        };
        if has {
            Ok(raw_message::strip_modern_fields(result))
        } else {
            Err(unexpected_answer(wanted.method()))
        }
    }

    /// Subscribes to updates of the resource.
    #[expect(
        deprecated,
        reason = "current sessions have it; sessions of the next era use subscriptions/listen"
    )]
    pub(crate) async fn subscribe(
        &self,
        uri: &str,
        options: &RequestOptions<'_>,
    ) -> Result<(), CallError> {
        if let Some(listening) = &self.listening {
            return listening.follow_resource(uri, options.within).await;
        }
        let request = SubscribeRequest::new(SubscribeRequestParams::new(uri));
        self.request(request, options).await.map(drop)
    }

    #[expect(
        deprecated,
        reason = "current sessions have it; sessions of the next era use subscriptions/listen"
    )]
    pub(crate) async fn unsubscribe(
        &self,
        uri: &str,
        options: &RequestOptions<'_>,
    ) -> Result<(), CallError> {
        if let Some(listening) = &self.listening {
            listening.unfollow_resource(uri);
            return Ok(());
        }
        let request = UnsubscribeRequest::new(UnsubscribeRequestParams::new(uri));
        self.request(request, options).await.map(drop)
    }
}

/// A request for a resource, a prompt or a completion.
#[derive(Clone, Debug)]
pub enum ContentRequest {
    Resource {
        uri: String,
    },
    Prompt {
        name: String,
        arguments: Map<String, Value>,
    },
    Completion(CompleteRequestParams),
}

impl ContentRequest {
    /// A completion request from MCP's `params`. The error says what is wrong with them.
    pub fn completion(params: Value) -> Result<Self, String> {
        let params = serde_json::from_value(params)
            .map_err(|_| "a completion needs `ref`, and `argument` with `name` and `value`")?;
        Ok(Self::Completion(params))
    }

    fn to_client_request(&self, answers: InputAnswers) -> ClientRequest {
        let InputAnswers { responses, state } = answers;
        match self {
            Self::Resource { uri } => {
                let mut params = ReadResourceRequestParams::new(uri);
                (params.input_responses, params.request_state) = (responses, state);
                ReadResourceRequest::new(params).into()
            }
            Self::Prompt { name, arguments } => {
                let mut params = GetPromptRequestParams::new(name);
                params.arguments = Some(arguments.clone());
                (params.input_responses, params.request_state) = (responses, state);
                GetPromptRequest::new(params).into()
            }
            // MCP has no further rounds for completions.
            Self::Completion(params) => CompleteRequest::new(params.clone()).into(),
        }
    }

    /// The arguments that policy rules see: `uri`, or `name` and `arguments`, or MCP's `ref` and `argument`.
    pub fn policy_arguments(&self) -> Value {
        match self {
            Self::Resource { uri } => json!({ "uri": uri }),
            Self::Prompt { name, arguments } => json!({ "name": name, "arguments": arguments }),
            Self::Completion(params) => json!(params),
        }
    }

    /// The MCP method.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Resource { .. } => "resources/read",
            Self::Prompt { .. } => "prompts/get",
            Self::Completion(_) => "completion/complete",
        }
    }
}

fn unexpected_answer(what: &str) -> CallError {
    CallError::Protocol(format!("the answer is not a result of {what}"))
}
