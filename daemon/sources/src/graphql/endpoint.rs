//! A schema with the endpoint that answers for it: what is offered, and how each function is called.
//!
//! Invariant: an answer is an answer whatever its status, unless the API says with it that it did not look at the
//! query: not signed in, too often, broken.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use futures::{FutureExt as _, future::BoxFuture};
use reqwest::StatusCode;
use serde_json::{Map, Value};

use super::{
    answer,
    call::{self, Call, Means, Refusal},
    document::{Document, DocumentError, Effect},
    equivalent_fields::{self, FieldJudge, Reach},
    functions::{self, ANY, Room},
    model::Schema,
};
use crate::{
    CallFailure, Facts, Source, Telling,
    http::{Api, Reply},
};
use mux_process::blocking_pool;

/// Documents that were judged and not yet sent, of which it is remembered what they do.
const MAX_JUDGED_DOCUMENTS: usize = 64;
/// By which an endpoint says that it follows the rules for status codes.
const OWN_MEDIA: &str = "application/graphql-response+json";

#[derive(Debug)]
pub(super) struct Endpoint {
    api: Api,
    schema: Schema,
    host: String,
    depth: u32,
    /// The same for the list of functions and for their calls.
    room: Room,
    /// By their names in the entry; all are sent.
    credentials: Vec<String>,
    notes: Vec<String>,
    /// Made with the room; the first list takes them.
    tools: Mutex<Option<Vec<Value>>>,
    functions: usize,
    judged: JudgedDocuments,
}

/// What documents do that policy has just read, so that none is read twice for one call.
#[derive(Debug, Default)]
struct JudgedDocuments(Mutex<VecDeque<(blake3::Hash, Effect)>>);

impl JudgedDocuments {
    fn remember(&self, key: blake3::Hash, effect: Effect) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.iter().any(|(other, _)| *other == key) {
            return;
        }
        if known.len() == MAX_JUDGED_DOCUMENTS {
            known.pop_front();
        }
        known.push_back((key, effect));
    }

    fn effect(&self, key: blake3::Hash) -> Option<Effect> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = known.iter();
        known
            .find(|(other, _)| *other == key)
            .map(|(_, effect)| *effect)
    }
}

/// Of a document, and of the operation of it that is meant.
fn document_key(query: &str, operation: Option<&str>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(&query.len().to_le_bytes())
        .update(query.as_bytes());
    if let Some(operation) = operation {
        hasher.update(b" ").update(operation.as_bytes());
    }
    hasher.finalize()
}

impl Endpoint {
    /// Takes as long as it takes to make the functions.
    pub(super) fn new(
        api: Api,
        schema: Schema,
        settings: &mux_settings::Source,
        left_out: usize,
    ) -> Self {
        let made = functions::all(&schema, settings.depth);
        let mut notes = Vec::new();
        if let Some(events) = &schema.subscription {
            let count = schema.fields(events).map_or(0, <[_]>::len);
            notes.push(format!(
                "subscriptions are not offered ({count}): they have no end"
            ));
        }
        if left_out > 0 {
            notes.push(format!(
                "{left_out} names of the schema are left out: they are none of GraphQL, are kept for GraphQL \
                 itself, or are of types that are not there"
            ));
        }
        if !made.complete {
            let count = made.tools.len();
            notes.push(format!(
                "only {count} functions fit into the list; `graphql` reaches the others"
            ));
        }
        let address = settings.base_url.as_deref().map(url::Url::parse);
        let host = address.and_then(|url| Some(url.ok()?.host_str()?.to_owned()));
        Self {
            api,
            schema,
            host: host.unwrap_or_default(),
            depth: settings.depth,
            room: made.room,
            credentials: settings.credentials.keys().cloned().collect(),
            notes,
            functions: made.tools.len(),
            tools: Mutex::new(Some(made.tools)),
            judged: JudgedDocuments::default(),
        }
    }

    fn means(&self) -> Means<'_> {
        Means {
            depth: self.depth,
            room: &self.room,
            credentials: &self.credentials,
        }
    }

    async fn answered(
        self: Arc<Self>,
        tool: String,
        arguments: Map<String, Value>,
        telling: &Telling,
    ) -> Result<Value, CallFailure> {
        // How long it takes is up to the caller and the schema.
        let this = Arc::clone(&self);
        let call = blocking_pool::run(move || this.request(tool, arguments)).await?;
        let reply = self.api.send(&call.request, telling).await?;
        Ok(self.result(&call, &reply))
    }

    fn request(&self, tool: String, arguments: Map<String, Value>) -> Result<Call, CallFailure> {
        let judged = call::document_of(&arguments).ok().filter(|_| tool == ANY);
        let judged = judged.and_then(|query| {
            let operation = call::operation_name(&arguments);
            self.judged.effect(document_key(query, operation))
        });
        let call = match judged {
            Some(effect) => call::any(arguments, effect, self.means()),
            None => call::call(&self.schema, &tool, arguments, self.means()),
        };
        call.map_err(|refusal| match refusal {
            Refusal::Unknown => CallFailure::Unknown(tool),
            Refusal::Mistake(why) => CallFailure::Unfit(why),
        })
    }

    fn result(&self, call: &Call, reply: &Reply) -> Value {
        let text = self.api.mask().content(&reply.text());
        match answer::read(text.as_bytes()).filter(|_| was_looked_at(reply)) {
            Some(answer) => answer::result(answer, call.field.as_deref(), reply.status.as_u16()),
            None if reply.status.is_success() => answer::refused(&format!(
                "{} answered with {}, which is no answer of GraphQL: is its address right?",
                self.host,
                match reply.media().as_str() {
                    "" => "something",
                    media => media,
                }
            )),
            None => self.api.result(&call.request, reply),
        }
    }
}

impl Source for Endpoint {
    fn identity(&self) -> (String, String) {
        (format!("GraphQL at {}", self.host), String::new())
    }

    fn tools(&self) -> Vec<Value> {
        let made = self
            .tools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        made.unwrap_or_else(|| functions::all(&self.schema, self.depth).tools)
    }

    fn functions(&self) -> usize {
        self.functions
    }

    fn facts(&self) -> Facts {
        Facts {
            notes: self.notes.iter().cloned().map(Into::into).collect(),
            missing: Vec::new(),
            forbidden: BTreeSet::new(),
            origins: BTreeSet::new(),
            requests: self.api.requests(),
        }
    }

    fn equivalent_fields(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        judge: &mut FieldJudge<'_>,
    ) -> Result<Reach, DocumentError> {
        if tool != ANY {
            return call::reached_by_selection(&self.schema, tool, arguments, self.means(), judge);
        }
        let deadline = equivalent_fields::deadline();
        let query = call::document_of(arguments)?;
        let document = Document::read(query)?;
        let given = arguments.get("variables").and_then(Value::as_object);
        let reach =
            equivalent_fields::of_document(Some(&self.schema), &document, given, deadline, judge)?;
        let operation = call::operation_name(arguments);
        let key = document_key(query, operation);
        self.judged.remember(key, document.effect(operation));
        Ok(reach)
    }

    fn call(
        self: Arc<Self>,
        tool: String,
        arguments: Map<String, Value>,
        telling: Telling,
    ) -> BoxFuture<'static, Result<Value, CallFailure>> {
        async move { self.answered(tool, arguments, &telling).await }.boxed()
    }
}

/// A gateway may say the same in JSON that looks like an answer.
pub(super) fn was_looked_at(reply: &Reply) -> bool {
    let refuses = matches!(
        reply.status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
    );
    reply.media() == OWN_MEDIA || !(refuses || reply.status.is_server_error())
}
