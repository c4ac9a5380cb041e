//! Joins several pages of a list into one result: the last page's response, with the items of all pages.
//!
//! A response says best how its list continues, so its hints (`paging_hints`) are followed first. Only if there are none
//! does the next page follow from the parameters that the description declares (`next_page`).
//!
//! Invariant: each item is joined once, in order, and the pages that were read are not lost: if a later page fails or
//! exceeds a limit, the result holds the pages before it, and its `_meta` holds the error as a warning.

use std::{collections::HashSet, sync::Arc};

use reqwest::{StatusCode, Url};
use serde_json::{Value, json};

use super::{
    ApiClient, ApiRequest, ApiResponse, RequestBody,
    api_response::{MAX_RESPONSE_BYTES, MAX_RESPONSE_VALUES},
    call_result,
    next_page::{NextReason, NextStep, NextTarget, PagePosition},
    paging_hints::PagingHints,
};
use crate::{CallFailure, SOURCE_WARNING, call_progress::CallProgress, weight};
use mux_process::blocking_pool;

/// The number of pages in one call.
pub(crate) const MAX_PAGES: usize = 100;
/// The maximum length of the reason for a missing page, which may hold the API's words.
const MAX_PROBLEM_BYTES: usize = 2 << 10;
/// Longer bodies are parsed off the runtime's threads.
const LONG_BODY_BYTES: usize = 64 << 10;
/// The nesting of the list in a response.
const MAX_LIST_DEPTH: usize = 3;
/// The number of members on one level that are searched for the list.
const MAX_LIST_CANDIDATES: usize = 10_000;
/// Statuses with which APIs answer a request for a page beyond the last one.
const BEYOND_THE_END: [StatusCode; 5] = [
    StatusCode::BAD_REQUEST,
    StatusCode::NOT_FOUND,
    StatusCode::GONE,
    StatusCode::RANGE_NOT_SATISFIABLE,
    StatusCode::UNPROCESSABLE_ENTITY,
];
/// Names of the member that holds the list.
pub(crate) const LIST_MEMBER_NAMES: [&str; 11] = [
    "data", "items", "results", "values", "value", "records", "entries", "content", "list",
    "objects", "rows",
];

/// The paging parameters of a function, as far as its description declares them. Names are encoded.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct PaginationPlan {
    /// The path of members to the list, empty if the response itself is the list; `None` if it is not described.
    pub(crate) items: Option<Vec<String>>,
    pub(crate) page: Option<CountingParameter>,
    pub(crate) offset: Option<CountingParameter>,
    pub(crate) cursor: Option<CursorParameter>,
    /// Takes the `id` of the last item.
    pub(crate) after: Option<String>,
    /// The description declares a header or a member for the next page. A response without it is the last page.
    pub(crate) declares_next: bool,
}

/// A query parameter that numbers pages or items.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct CountingParameter {
    pub(crate) name: String,
    /// The number of the first page or item, if the description says it.
    pub(crate) first: Option<u64>,
}

/// A parameter that takes a cursor of a response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum CursorParameter {
    Query(String),
    /// A member of the JSON body.
    Body(String),
}

/// Why no further page is read.
#[derive(Debug, Eq, PartialEq)]
enum ListEnd {
    /// The last page was read.
    Last,
    /// The caller wants no more pages.
    More,
    /// The next page could not be read, for this reason.
    Missing(String),
}

/// A response that was read as a page.
struct Page {
    reply: ApiResponse,
    body: Option<Value>,
    hints: PagingHints,
}

impl ApiClient {
    /// Fetches up to `most` pages and joins them to one MCP `CallToolResult`.
    pub(crate) async fn pages(
        &self,
        request: &ApiRequest,
        plan: &PaginationPlan,
        most: usize,
        progress: &CallProgress,
    ) -> Result<Value, CallFailure> {
        let most = most.clamp(1, MAX_PAGES);
        let mut request = request.clone();
        let mut url = self.url(&request)?;
        let mut requested = HashSet::from([request_key(&request, &url)]);
        let reply = self.send_to(&request, url.clone(), progress).await?;
        let first = self.read_page(reply).await;
        let list = first.body.as_ref().and_then(|body| list_path(body, plan));
        let (Some(body), Some(list)) = (first.body, list) else {
            let mut result = self.result(&request, &first.reply);
            if first.reply.status.is_success() {
                warn(
                    &mut result,
                    "the response is not one list, so `$pages` has no effect",
                );
            }
            return Ok(result);
        };
        let mut position = PagePosition::first(plan, &request);
        position.advance(item_count(&body, &list), NextReason::Named);
        let mut joined = JoinedPages::new(body, &first.reply, list);
        let mut hints = first.hints;
        let mut last_reply = first.reply;
        let report = |pages: usize| {
            progress.progress(pages as f64, Some(most as f64), &format!("page {pages}"));
        };
        report(joined.pages);
        let end = loop {
            let step = position.next(plan, &request, &hints, joined.last_item());
            let (target, reason) = match step {
                NextStep::To(target, reason) => (target, reason),
                NextStep::End => break ListEnd::Last,
                NextStep::Unknown => {
                    break ListEnd::Missing(
                        "the response says that there are more pages, and not how to request them"
                            .into(),
                    );
                }
            };
            if joined.pages == most {
                break ListEnd::More;
            }
            match self.apply(target, &mut request, &url) {
                Ok(next) => url = next,
                Err(failure) => break ListEnd::Missing(failure.to_string()),
            }
            if !requested.insert(request_key(&request, &url)) {
                // A page that leads back ends the list.
                break ListEnd::Last;
            }
            let page = match self.send_to(&request, url.clone(), progress).await {
                Ok(reply) => self.read_page(reply).await,
                Err(failure) => break ListEnd::Missing(failure.to_string()),
            };
            let may_be_beyond = reason == NextReason::Guessed;
            let status = page.reply.status;
            if !status.is_success() {
                if may_be_beyond && BEYOND_THE_END.contains(&status) {
                    break ListEnd::Last;
                }
                let failure = self.result(&request, &page.reply);
                let text = failure["content"][0]["text"].as_str().unwrap_or_default();
                break ListEnd::Missing(text.to_owned());
            }
            let body = match page.body {
                Some(body) if joined.is_alike(&body) => body,
                // Beyond the end, some APIs answer with an empty body, null or a message.
                body if page.reply.body.is_empty() || (body.is_some() && may_be_beyond) => {
                    json!({})
                }
                _ => {
                    break ListEnd::Missing(
                        "the page is not a list like the pages before it".into(),
                    );
                }
            };
            if joined.repeats(&body) {
                if position.is_probe() {
                    // The first page has the number 1.
                    position.skip_probe();
                    continue;
                }
                // Beyond the end, some APIs answer with the last page.
                if may_be_beyond {
                    break ListEnd::Last;
                }
                break ListEnd::Missing("the API repeats the page before it".into());
            }
            position.advance(item_count(&body, &joined.list), reason);
            if let Err(limit) = joined.add(body, &page.reply) {
                break ListEnd::Missing(limit);
            }
            report(joined.pages);
            (hints, last_reply) = (page.hints, page.reply);
        };
        let meta = call_result::meta(&last_reply, self.mask());
        Ok(joined.finish(meta, &end))
    }

    async fn read_page(&self, reply: ApiResponse) -> Page {
        if !reply.status.is_success() {
            return Page {
                reply,
                body: None,
                hints: PagingHints::default(),
            };
        }
        let mask = Arc::clone(&self.shared.mask);
        let is_long = reply.body.len() > LONG_BODY_BYTES;
        blocking_pool::run_if(is_long, move || {
            let body: Option<Value> = serde_json::from_str(&mask.content(&reply.text())).ok();
            let hints = PagingHints::read(&reply.headers, body.as_ref().unwrap_or(&Value::Null));
            Page { reply, body, hints }
        })
        .await
    }

    /// Changes the request to that for the next page, and returns its URL.
    fn apply(
        &self,
        target: NextTarget,
        request: &mut ApiRequest,
        current: &Url,
    ) -> Result<Url, CallFailure> {
        match target {
            NextTarget::Url(url) => self.page_url(current, &url),
            NextTarget::Query(name, value) => {
                request.query.retain(|(known, _)| *known != name);
                request.query.push((name, value));
                self.url(request)
            }
            NextTarget::Body(name, value) => {
                if let Some(RequestBody::Json(Value::Object(body))) = &mut request.body {
                    body.insert(name, value.into());
                }
                self.url(request)
            }
        }
    }

    /// The URL of the next page. Only within the origin, because the request carries credentials.
    pub(super) fn page_url(&self, current: &Url, next: &str) -> Result<Url, CallFailure> {
        let Ok(mut url) = current.join(next) else {
            return Err(CallFailure::Declined(
                "the URL of the next page cannot be read".into(),
            ));
        };
        // APIs behind a proxy often do not know that they are called over TLS.
        let is_downgrade = current.scheme() == "https"
            && url.scheme() == "http"
            && url.port().is_none()
            && current.port().is_none();
        if is_downgrade {
            // Fails for no pair of these schemes.
            _ = url.set_scheme("https");
        }
        if url.origin() == current.origin() {
            return Ok(url);
        }
        Err(CallFailure::Declined(format!(
            "the next page is at another origin, {}, and credentials go to one origin only",
            url.host_str().unwrap_or_default()
        )))
    }
}

/// Identifies a request among those of one call.
fn request_key(request: &ApiRequest, url: &Url) -> String {
    match &request.body {
        Some(RequestBody::Json(body)) => format!("{url} {body}"),
        _ => url.to_string(),
    }
}

/// Adds a warning to a result, which is shown beside it.
fn warn(result: &mut Value, text: &str) {
    result["_meta"][SOURCE_WARNING] = text.into();
}

/// The path of members to the list of a response: the described one, or the list that the response shows. A response
/// without lists has an empty one if the description says where it is.
fn list_path(body: &Value, plan: &PaginationPlan) -> Option<Vec<String>> {
    let described = plan.items.as_ref();
    let is_there = |path: &&Vec<String>| at(body, path).is_some_and(Value::is_array);
    if let Some(path) = described.filter(is_there) {
        return Some(path.clone());
    }
    let found = shown_list_path(body);
    found.or_else(|| {
        described
            .filter(|path| body.is_object() && !path.is_empty())
            .cloned()
    })
}

/// The only list or the one with a usual name, on the outermost level that has lists.
fn shown_list_path(body: &Value) -> Option<Vec<String>> {
    let mut level: Vec<(Vec<&str>, &Value)> = vec![(Vec::new(), body)];
    for _ in 0..=MAX_LIST_DEPTH {
        let lists: Vec<&Vec<&str>> = level
            .iter()
            .filter(|(_, value)| value.is_array())
            .map(|(path, _)| path)
            .collect();
        if !lists.is_empty() {
            let usual = LIST_MEMBER_NAMES
                .iter()
                .find_map(|usual| lists.iter().find(|path| path.last() == Some(usual)));
            let only = lists.first().filter(|_| lists.len() == 1);
            let path = usual.or(only)?;
            return Some(path.iter().map(|name| (*name).to_owned()).collect());
        }
        let objects = level
            .into_iter()
            .filter_map(|(path, value)| Some((path, value.as_object()?)));
        level = objects
            .flat_map(|(path, members)| {
                let below = |(name, value)| ([path.as_slice(), &[name]].concat(), value);
                let members = members.iter().map(|(name, value)| (name.as_str(), value));
                members.map(below).collect::<Vec<_>>()
            })
            .take(MAX_LIST_CANDIDATES)
            .collect();
    }
    None
}

fn item_count(body: &Value, list: &[String]) -> u64 {
    let items = at(body, list).and_then(Value::as_array);
    items.map_or(0, Vec::len) as u64
}

/// The pages fetched so far.
struct JoinedPages {
    /// The last page, with the items of all.
    body: Value,
    /// The path of members to the list.
    list: Vec<String>,
    pages: usize,
    /// The number of items on the last page that had some.
    last_count: usize,
    bytes: usize,
    /// In `json_weight` values.
    values: usize,
}

impl JoinedPages {
    fn new(body: Value, reply: &ApiResponse, list: Vec<String>) -> Self {
        let last_count = at(&body, &list)
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        Self {
            body,
            list,
            pages: 1,
            last_count,
            bytes: reply.body.len(),
            values: values(reply),
        }
    }

    fn items(&self) -> &[Value] {
        let items = at(&self.body, &self.list).and_then(Value::as_array);
        items.map_or(&[], Vec::as_slice)
    }

    /// Whether a response can be a page of this list. The last page of some lists has no member for its items.
    fn is_alike(&self, body: &Value) -> bool {
        if self.list.is_empty() {
            body.is_array()
        } else {
            body.is_object()
        }
    }

    fn last_item(&self) -> Option<&Value> {
        self.items().last()
    }

    /// Whether a page has the same items as the page before it.
    fn repeats(&self, page: &Value) -> bool {
        let items = self.items();
        let last = &items[items.len() - self.last_count..];
        let page = at(page, &self.list).and_then(Value::as_array);
        page.is_some_and(|page| !page.is_empty() && page == last)
    }

    /// Appends the items of a page. The other members are replaced by those of this page. Returns the limit that the
    /// page exceeds.
    fn add(&mut self, mut page: Value, reply: &ApiResponse) -> Result<(), String> {
        let (bytes, values) = (self.bytes + reply.body.len(), self.values + values(reply));
        if bytes > MAX_RESPONSE_BYTES {
            return Err(format!(
                "the pages are longer than {} MiB together: ask for fewer with `$pages`, or for fewer fields",
                MAX_RESPONSE_BYTES >> 20
            ));
        }
        if values > MAX_RESPONSE_VALUES {
            return Err(format!(
                "the pages hold more than {MAX_RESPONSE_VALUES} JSON values together, {}: ask for fewer with `$pages`, \
                 or for fewer fields",
                weight::WEIGHT_RULE_TEXT
            ));
        }
        (self.bytes, self.values) = (bytes, values);
        self.pages += 1;
        let Some(Value::Array(new)) = at_mut(&mut page, &self.list) else {
            return Ok(());
        };
        if !new.is_empty() {
            self.last_count = new.len();
        }
        if let Some(Value::Array(items)) = at_mut(&mut self.body, &self.list) {
            items.append(new);
            std::mem::swap(items, new);
        }
        self.body = page;
        Ok(())
    }

    /// The result, with its `_meta` so far.
    fn finish(self, mut meta: Value, end: &ListEnd) -> Value {
        let pages = self.pages;
        meta["pages"] = pages.into();
        meta["more"] = (*end != ListEnd::Last).into();
        let mut result = call_result::json_result(self.body.to_string(), self.body, meta);
        if let ListEnd::Missing(problem) = end {
            let problem = &problem[..problem.floor_char_boundary(MAX_PROBLEM_BYTES)];
            let before = match pages {
                1 => "the page before it".to_owned(),
                _ => format!("the {pages} pages before it"),
            };
            let next = pages + 1;
            let warning = format!("page {next}: {problem}; the result holds the items of {before}");
            warn(&mut result, &warning);
        }
        result
    }
}

fn values(reply: &ApiResponse) -> usize {
    weight::of(&reply.body, MAX_RESPONSE_VALUES).unwrap_or(MAX_RESPONSE_VALUES)
}

fn at<'a>(body: &'a Value, members: &[String]) -> Option<&'a Value> {
    members.iter().try_fold(body, |value, name| value.get(name))
}

fn at_mut<'a>(body: &'a mut Value, members: &[String]) -> Option<&'a mut Value> {
    members
        .iter()
        .try_fold(body, |value, name| value.get_mut(name))
}
