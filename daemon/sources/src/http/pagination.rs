//! Joins several pages of a list into one result: the last page's response, with the items of all pages.
//!
//! A response is the best source for how its list continues, so its hints (`paging_hints`) are followed first. Only
//! without hints does the next page follow from the parameters that the description declares (`next_page`).
//!
//! Invariant: each item is joined once, in order, and the pages that were read are not lost: if a later page fails or
//! exceeds a limit, the result contains the pages before it, and its `_meta` contains the error as a warning.

use std::{collections::HashSet, sync::Arc};

use reqwest::{StatusCode, Url};
use serde_json::{Value, json};

use super::{
    ApiClient, ApiRequest, ApiResponse, RequestBody,
    api_response::{LONG_BODY_BYTES, MAX_RESPONSE_BYTES, MAX_RESPONSE_VALUES},
    call_result,
    error_reason::reason,
    next_page::{NextReason, NextStep, NextTarget, PagePosition},
    paging_hints::{MAX_HINT_DEPTH, PagingHints},
};
use crate::{
    call_progress::CallProgress,
    source::{CallFailure, SOURCE_WARNING},
};
use mux_process::blocking_pool;
use mux_text::json_weight as weight;

/// The number of pages in one call.
pub(crate) const MAX_PAGES: usize = 100;
/// The maximum length of the reason for a missing page, which may contain the API's words.
const MAX_PROBLEM_BYTES: usize = 2 << 10;
/// The number of members on one level that are searched for the list.
const MAX_LIST_CANDIDATES: usize = 10_000;
/// Statuses with which APIs answer a request for a page beyond the last.
const BEYOND_THE_END: [StatusCode; 5] = [
    StatusCode::BAD_REQUEST,
    StatusCode::NOT_FOUND,
    StatusCode::GONE,
    StatusCode::RANGE_NOT_SATISFIABLE,
    StatusCode::UNPROCESSABLE_ENTITY,
];
/// Names of the member that holds the list.
const LIST_MEMBER_NAMES: [&str; 11] = [
    "data", "items", "results", "values", "value", "records", "entries", "content", "list",
    "objects", "rows",
];

/// The paging parameters of a function, as far as its description declares them. Names are encoded.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct PaginationPlan {
    /// The path of members to the list, empty if the response itself is the list. `None` if the list is not described.
    pub(crate) items: Option<Vec<String>>,
    pub(crate) page: Option<CountingParameter>,
    pub(crate) offset: Option<CountingParameter>,
    pub(crate) cursor: Option<CursorParameter>,
    /// The parameter that takes the `id` of the last item.
    pub(crate) after: Option<String>,
    /// Set if the description declares a header or a member for the next page. A response without it is the last page.
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

/// The reason no further page is read.
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
    /// `None` if the body is not JSON.
    body: Option<Value>,
    /// The path of members to the list. `None` if there is no list.
    list: Option<Vec<String>>,
    hints: PagingHints,
    /// `None` if the page has no items.
    digests: Option<PageDigests>,
}

/// Identifies a page.
#[derive(Clone, Copy)]
struct PageDigests {
    response: blake3::Hash,
    items: blake3::Hash,
}

/// The pages that have been read.
#[derive(Default)]
struct ReadPages {
    responses: HashSet<blake3::Hash>,
    items: HashSet<blake3::Hash>,
}

impl ReadPages {
    /// Adds a page. Returns `false` if it was already read.
    fn add(&mut self, page: Option<PageDigests>, reason: NextReason) -> bool {
        let Some(page) = page else {
            return true;
        };
        let is_new_response = self.responses.insert(page.response);
        let are_new_items = self.items.insert(page.items);
        // Items may repeat if a response names the next page.
        is_new_response && (are_new_items || reason == NextReason::Named)
    }
}

/// The location of a page's list.
enum PageList {
    Planned(PaginationPlan),
    At(Vec<String>),
}

impl ApiClient {
    /// Fetches up to `most` pages and joins them into one MCP `CallToolResult`.
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
        let first = self.read_page(reply, PageList::Planned(plan.clone())).await;
        let (Some(body), Some(list)) = (first.body, first.list) else {
            let mut result = self.result(&request, &first.reply);
            if first.reply.status.is_success() {
                warn(
                    &mut result,
                    "the response is not one list, so `$pages` has no effect",
                );
            }
            return Ok(result);
        };
        let mut position = PagePosition::before(plan, &request);
        position.advance(item_count(&body, &list), NextReason::Named);
        let mut read_pages = ReadPages::default();
        read_pages.add(first.digests, NextReason::Named);
        let mut joined = JoinedPages::new(body, &first.reply, list);
        let mut hints = first.hints;
        let mut last_reply = first.reply;
        let report = |pages: usize| {
            progress.progress(pages as f64, Some(most as f64), &format!("page {pages}"));
        };
        report(joined.pages);
        let end = loop {
            let step = position.next(plan, &hints, joined.last_item());
            let (target, reason) = match step {
                NextStep::To(target, reason) => (target, reason),
                NextStep::End => break ListEnd::Last,
                NextStep::Stuck(why) => break ListEnd::Missing(why.into()),
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
                Ok(reply) => {
                    let list = PageList::At(joined.list.clone());
                    self.read_page(reply, list).await
                }
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
            let count = item_count(&body, &joined.list);
            if count == 0
                && !may_be_beyond
                && let Some(error) = error_in(&body)
            {
                break ListEnd::Missing(error);
            }
            let shown = page.hints.current_page;
            let is_first_again =
                position.is_probe() && shown.is_some() && shown == hints.current_page;
            let is_new = read_pages.add(page.digests, reason);
            if count > 0 && (!is_new || is_first_again) {
                if position.is_probe() {
                    // The first page has the number 1.
                    position.skip_probe();
                    continue;
                }
                // Beyond the end, some APIs answer with the last page.
                if may_be_beyond {
                    break ListEnd::Last;
                }
                break ListEnd::Missing("the API repeats a page that was read".into());
            }
            position.advance(count, reason);
            if let Err(limit) = joined.add(body, &page.reply) {
                break ListEnd::Missing(limit);
            }
            report(joined.pages);
            (hints, last_reply) = (page.hints, page.reply);
        };
        let meta = call_result::meta(&last_reply, self.mask());
        Ok(joined.finish(meta, &end))
    }

    async fn read_page(&self, reply: ApiResponse, list: PageList) -> Page {
        let mut page = Page {
            reply,
            body: None,
            list: None,
            hints: PagingHints::default(),
            digests: None,
        };
        if !page.reply.status.is_success() {
            return page;
        }
        let mask = Arc::clone(&self.shared.mask);
        let is_long = page.reply.body.len() > LONG_BODY_BYTES;
        blocking_pool::run_if(is_long, move || {
            let body: Option<Value> = serde_json::from_str(&mask.content(&page.reply.text())).ok();
            let Some(body) = body else {
                return page;
            };
            page.list = match list {
                PageList::Planned(plan) => list_path(&body, &plan),
                PageList::At(path) => Some(path),
            };
            let path = page.list.as_deref().unwrap_or_default();
            page.hints = PagingHints::read(&page.reply.headers, &body, path);
            page.digests = items_digest(&body, path).map(|items| PageDigests {
                response: blake3::hash(&page.reply.body),
                items,
            });
            page.body = Some(body);
            page
        })
        .await
    }

    /// Changes the request to the request for the next page, and returns its URL.
    fn apply(
        &self,
        target: NextTarget,
        request: &mut ApiRequest,
        current: &Url,
    ) -> Result<Url, CallFailure> {
        match target {
            NextTarget::Url(url) => page_url(current, &url),
            NextTarget::Query(name, value) => {
                request.query.retain(|(known, _)| *known != name);
                request.query.push((name, value));
                self.url(request)
            }
            NextTarget::Body(name, value) => {
                let body = request
                    .body
                    .get_or_insert_with(|| RequestBody::Json(json!({})));
                let RequestBody::Json(Value::Object(members)) = body else {
                    return Err(CallFailure::Unfit(
                        "the cursor of the next page cannot be added to a body of this media type"
                            .into(),
                    ));
                };
                members.insert(name, value);
                self.url(request)
            }
        }
    }
}

/// The URL of the next page. Must be within the origin, because the request carries credentials.
pub(super) fn page_url(current: &Url, next: &str) -> Result<Url, CallFailure> {
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

/// Identifies a request among those of one call.
fn request_key(request: &ApiRequest, url: &Url) -> String {
    match &request.body {
        Some(RequestBody::Json(body)) => format!("{url} {body}"),
        _ => url.to_string(),
    }
}

/// Adds a warning to a result. The warning is shown beside the result.
fn warn(result: &mut Value, text: &str) {
    result["_meta"][SOURCE_WARNING] = text.into();
}

/// The path of members to the list of a response: the described path, even if the list is absent, because some APIs
/// have no member for an empty list. If something else is there or nothing is described, the path to the list that the
/// response shows.
fn list_path(body: &Value, plan: &PaginationPlan) -> Option<Vec<String>> {
    if let Some(path) = &plan.items {
        let is_there = match at(body, path) {
            Some(value) => value.is_array() || value.is_null(),
            None => body.is_object(),
        };
        if is_there {
            return Some(path.clone());
        }
    }
    shown_list_path(body)
}

/// The list on the outermost level that has lists.
fn shown_list_path(body: &Value) -> Option<Vec<String>> {
    let mut level: Vec<(Vec<&str>, &Value)> = vec![(Vec::new(), body)];
    for _ in 0..=MAX_HINT_DEPTH {
        let lists: Vec<Vec<&str>> = level
            .iter()
            .filter(|(_, value)| value.is_array())
            .map(|(path, _)| path.clone())
            .collect();
        if !lists.is_empty() {
            return choose_list(&lists);
        }
        let mut next = Vec::new();
        for (path, value) in level {
            for (name, value) in value.as_object().into_iter().flatten() {
                if next.len() == MAX_LIST_CANDIDATES {
                    return None;
                }
                next.push(([path.as_slice(), &[name.as_str()]].concat(), value));
            }
        }
        level = next;
    }
    None
}

/// The only list on a level, or the list with a usual name. Lists are paths of members.
pub(crate) fn choose_list(lists: &[Vec<&str>]) -> Option<Vec<String>> {
    let usual = LIST_MEMBER_NAMES
        .iter()
        .find_map(|usual| lists.iter().find(|path| path.last() == Some(usual)));
    let ((Some(path), _) | (None, [path])) = (usual, lists) else {
        return None;
    };
    Some(path.iter().map(|name| (*name).to_owned()).collect())
}

/// Identifies the items of a page. `None` if there are none.
fn items_digest(body: &Value, list: &[String]) -> Option<blake3::Hash> {
    let items = at(body, list)?
        .as_array()
        .filter(|items| !items.is_empty())?;
    let mut hasher = blake3::Hasher::new();
    serde_json::to_writer(&mut hasher, items).ok()?;
    Some(hasher.finalize())
}

/// The error in a successful response without items.
fn error_in(body: &Value) -> Option<String> {
    let is_false = |name: &str| body.get(name) == Some(&Value::Bool(false));
    let has = |name: &str| match body.get(name) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(errors)) => !errors.is_empty(),
        Some(_) => true,
    };
    let is_error = is_false("ok") || is_false("success") || has("error") || has("errors");
    is_error.then(|| {
        let why = reason(Some(body), "", false);
        why.unwrap_or_else(|| "the response says that the request failed".into())
    })
}

fn item_count(body: &Value, list: &[String]) -> u64 {
    let items = at(body, list).and_then(Value::as_array);
    items.map_or(0, Vec::len) as u64
}

/// The pages fetched so far.
struct JoinedPages {
    /// The last page, with the items of all pages.
    body: Value,
    /// The path of members to the list.
    list: Vec<String>,
    pages: usize,
    bytes: usize,
    /// In `json_weight` values.
    values: usize,
}

impl JoinedPages {
    fn new(body: Value, reply: &ApiResponse, list: Vec<String>) -> Self {
        Self {
            body,
            list,
            pages: 1,
            bytes: reply.body.len(),
            values: values(reply),
        }
    }

    fn items(&self) -> &[Value] {
        let items = at(&self.body, &self.list).and_then(Value::as_array);
        items.map_or(&[], Vec::as_slice)
    }

    /// Returns true if a response can be a page of this list. The last page of some lists has no member for its items.
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

    /// Appends the items of a page. This page's other members replace the earlier ones. Returns the limit that the page
    /// exceeds.
    fn add(&mut self, mut page: Value, reply: &ApiResponse) -> Result<(), String> {
        let bytes = self.bytes + reply.body.len();
        let values = self.values + values(reply);
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
