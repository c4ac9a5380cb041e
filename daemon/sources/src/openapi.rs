//! REST operations of an OpenAPI description as functions.
//!
//! `openapi_document` parses the text and resolves references, `object_members` joins objects. `function_names`,
//! `parameters`, `operation_body` with `media_types`, `operation_responses`, `paging_detection`,
//! `security_requirements` and `server_address` each read their part of an `operation`. `schema_dialect`,
//! `schema_keywords`, `schema_walk` and `schema_closure` translate its schemas. `operation_request` makes a request
//! from arguments, with `parameter_style`. `openapi_description` is the whole description, and `left_out` lists the
//! operations that did not become functions.
//!
//! Invariant: everything except the call is pure.

mod exploded_members;
mod foreign_formats;
mod function_names;
#[cfg(test)]
mod fuzz;
mod left_out;
mod media_types;
mod object_members;
mod openapi_description;
mod openapi_document;
mod operation;
mod operation_body;
mod operation_request;
mod operation_responses;
mod paging_detection;
mod parameter_style;
mod parameters;
mod repeated_keys;
mod schema_closure;
mod schema_dialect;
mod schema_keywords;
mod schema_walk;
mod security_requirements;
mod server_address;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    panic::resume_unwind,
    sync::Arc,
    thread,
};

use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tracing::info;

pub use self::{
    left_out::SkippedOperation,
    openapi_description::{FunctionSelection, OpenApiDescription},
    server_address::ServerOverrides,
};
use super::{
    call_progress::CallProgress,
    description::DescriptionDocument,
    first_seen_origins::DescribedOrigins,
    http::{AllowedOrigins, ApiClient, MAX_PAGES, allowed_origins},
    source::{CallFailure, Source, SourceReport},
    source_config::SourceConfig,
};
use mux_messages::SourceNote;
use mux_process::malloc_trim;

/// The stack of the thread that reads a description. Without optimizations, 128 levels of YAML need 3 MiB. Only used
/// pages take memory.
const READER_STACK_BYTES: usize = 16 << 20;

/// A description that was read, with the API that it describes.
struct OpenApiSource {
    description: OpenApiDescription,
    api: ApiClient,
    /// The clients of functions with their own address, by that address.
    elsewhere: HashMap<String, ApiClient>,
    /// Problems with the origins of functions.
    notes: Vec<SourceNote>,
}

/// Reads a description. With ten thousand operations this takes seconds and hundreds of megabytes, most of them for the
/// parsed text, which is dropped.
pub(super) fn read(
    config: &SourceConfig,
    document: &DescriptionDocument,
) -> Result<Arc<dyn Source>, String> {
    let entry = ServerOverrides {
        base_url: config.settings.base_url.clone(),
        variables: config.settings.variables.clone(),
        at: document.base.clone(),
    };
    let settings = &config.settings;
    let selection = FunctionSelection::new(&settings.exclude, settings.max_functions);
    let read = || OpenApiDescription::read(&document.text, &entry, &selection);
    let settled = on_reader_thread(read).map(|mut description| {
        description.settle();
        description
    });
    malloc_trim::give_back_small_values();
    let description = settled?;
    let (origins, notes) = trusted_origins(config, &description);
    let api = config.api(description.base(), origins, description.schemes.clone())?;
    let bases = description.operations.values();
    let bases = bases.filter_map(|operation| operation.base.as_ref());
    let elsewhere = bases.map(|base| (base.clone(), api.at(base))).collect();
    let functions = description.operations.len();
    let left_out = description.left_out().len();
    info!(
        source = config.name,
        functions, left_out, "description read"
    );
    Ok(Arc::new(OpenApiSource {
        description,
        api,
        elsewhere,
        notes,
    }))
}

/// Reads on a separate thread: it has its own malloc arena, which is returned to the system because nothing stays in
/// it, and a stack for the deepest description.
fn on_reader_thread<T: Send>(read: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    let started = thread::Builder::new().stack_size(READER_STACK_BYTES);
    thread::scope(|scope| match started.spawn_scoped(scope, read) {
        Ok(reader) => reader.join().unwrap_or_else(|cause| resume_unwind(cause)),
        Err(error) => Err(format!(
            "the system starts no thread that reads the description: {error}"
        )),
    })
}

/// The origins at which functions may be called and to which credentials may go: origins that the entry names, and
/// origins that the description named when it was first read.
fn trusted_origins(
    config: &SourceConfig,
    description: &OpenApiDescription,
) -> (AllowedOrigins, Vec<SourceNote>) {
    let settings = &config.settings;
    let named = &description.origins;
    let origins = AllowedOrigins::listed(&config.name, settings);
    let (first, mut notes) = match config.first(named) {
        Ok(first) => (first, Vec::new()),
        Err(problem) => (DescribedOrigins::default(), vec![SourceNote::from(problem)]),
    };
    let known: BTreeSet<&String> = first
        .calls
        .iter()
        .chain(first.functions.iter().flatten())
        .collect();
    let operations = description.operations.values();
    let called = operations.filter_map(|operation| {
        let origin = operation.origin.as_ref().or(named.calls.as_ref())?;
        let base = operation.base.as_deref().unwrap_or(description.base());
        known
            .contains(origin)
            .then(|| allowed_origins::of(base))
            .flatten()
    });
    let origins = origins.with_bare_calls(called).with_tokens(first.tokens);
    if settings.base_url.is_some() || first.calls == named.calls {
        return (origins.with_calls(description.base()), notes);
    }
    if let (Some(now), Some(before)) = (&named.calls, &first.calls) {
        notes.push(SourceNote::from(format!(
            "its functions are called at {now}, and at {before} when its description was first read"
        )));
    }
    (origins, notes)
}

impl OpenApiSource {
    /// Functions that cannot be called or must not send their credentials: notes on both, and the names of the former.
    /// Not cached, because the result depends on the current knowledge of the description's own address.
    fn blocked_functions(&self) -> (Vec<SourceNote>, BTreeSet<String>) {
        let mut by_base = HashMap::<Option<&String>, Vec<&String>>::new();
        for (name, operation) in &self.description.operations {
            by_base
                .entry(operation.base.as_ref())
                .or_default()
                .push(name);
        }
        let mut counts = BTreeMap::<(String, String), usize>::new();
        let mut forbidden = BTreeSet::new();
        for (base, names) in by_base {
            let api = base.and_then(|base| self.elsewhere.get(base));
            let api = api.unwrap_or(&self.api);
            let found = match api.forbidden() {
                Some((why, line)) => {
                    forbidden.extend(names.iter().map(|name| (*name).clone()));
                    Some((format!("cannot be called: {why}"), line))
                }
                None => api.withheld().map(|(origin, line)| {
                    let text = format!("are called at {origin}, which gets no credentials");
                    (text, line)
                }),
            };
            if let Some(found) = found {
                *counts.entry(found).or_default() += names.len();
            }
        }
        let notes = counts.into_iter().map(|((text, line), count)| {
            SourceNote::with_fix(format!("{count} of its functions {text}"), line)
        });
        (notes.collect(), forbidden)
    }

    async fn call_operation(
        &self,
        tool: String,
        mut arguments: Map<String, Value>,
        telling: CallProgress,
    ) -> Result<Value, CallFailure> {
        let Some(operation) = self.description.operations.get(&tool) else {
            return Err(CallFailure::Unknown(tool));
        };
        let pages = operation
            .paged
            .as_ref()
            .and_then(|_| arguments.shift_remove("$pages")?.as_u64());
        let body = operation.body.as_ref();
        let media = body.and_then(|body| media_types::asked(body, &mut arguments));
        let mut request = operation_request::request(operation, arguments)
            .map_err(|misfit| CallFailure::Unfit(misfit.to_string()))?;
        if let Some(media) = media {
            request.body = request.body.map(|body| media_types::sent_as(body, media));
        }
        let base = operation.base.as_ref();
        let api = base
            .and_then(|base| self.elsewhere.get(base))
            .unwrap_or(&self.api);
        match (&operation.paged, pages) {
            (Some(paged), Some(pages)) if pages > 1 => {
                let most = usize::try_from(pages).unwrap_or(MAX_PAGES);
                api.pages(&request, paged, most, &telling).await
            }
            _ => api.call(&request, &telling).await,
        }
    }
}

impl std::fmt::Debug for OpenApiSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenApiSource")
            .field("description", &self.description.identity())
            .finish_non_exhaustive()
    }
}

impl Source for OpenApiSource {
    fn identity(&self) -> (String, String) {
        let (title, version) = self.description.identity();
        (title.to_owned(), version.to_owned())
    }

    fn tools(&self, page: usize) -> Vec<Value> {
        self.description.tool_pages().page(page)
    }

    fn tool_page_count(&self) -> usize {
        self.description.tool_pages().page_count()
    }

    fn function_count(&self) -> usize {
        self.description.operations.len()
    }

    fn report(&self) -> SourceReport {
        let left_out = left_out::notes(self.description.left_out());
        let notes = self
            .description
            .notes()
            .iter()
            .cloned()
            .map(SourceNote::from);
        let operations = self.description.operations.values();
        let (stopped, forbidden) = self.blocked_functions();
        SourceReport {
            notes: notes
                .chain(self.notes.iter().cloned())
                .chain(stopped)
                .chain(self.api.notes())
                .chain(left_out.into_iter().map(SourceNote::from))
                .collect(),
            missing: self
                .api
                .wanting(operations.map(|operation| operation.security.as_slice())),
            forbidden,
            origins: self.description.told_origins(),
            requests: self.api.requests(),
        }
    }

    fn members_as_arguments(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Vec<Map<String, Value>> {
        let operation = self.description.operations.get(tool);
        operation.map_or_else(Vec::new, |operation| {
            exploded_members::members_as_arguments(operation, arguments)
        })
    }

    fn call(
        self: Arc<Self>,
        tool: String,
        arguments: Map<String, Value>,
        telling: CallProgress,
    ) -> BoxFuture<'static, Result<Value, CallFailure>> {
        Box::pin(async move { self.call_operation(tool, arguments, telling).await })
    }
}
