//! Joins several pages of a list: the first page's response, with the items of all.
//!
//! Invariant: the joined list is complete up to its last page. A page that fails or exceeds a limit fails the call.
//! `_meta` says whether there are more pages, and the other members are those of the last page.

use std::mem;

use reqwest::{
    Url,
    header::{HeaderMap, LINK},
};
use serde_json::{Value, json};

use super::{
    ApiClient, ApiRequest, ApiResponse,
    api_response::{MAX_RESPONSE_BYTES, MAX_RESPONSE_VALUES},
    call_result,
    link_header::linked,
};
use crate::{CallFailure, call_progress::CallProgress, weight};

/// The number of pages in one call.
pub(crate) const MAX_PAGES: usize = 100;

/// How the pages of a function continue.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct PaginationPlan {
    pub(crate) by: PaginationStyle,
    /// The path of members to the list; empty if the response itself is the list.
    pub(crate) items: Vec<String>,
}

/// How the next page is requested. Parameters are in the query, by their encoded names. A `Link` header in a response
/// takes precedence.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum PaginationStyle {
    /// `Link: <…>; rel="next"`.
    Link,
    /// Pages are numbered.
    Page {
        parameter: String,
        first: u64,
        size: Option<PageSize>,
    },
    /// Items are numbered, from 0.
    Offset {
        parameter: String,
        size: Option<PageSize>,
    },
    /// The response holds the parameter of the next page, a string or a number, or its URL.
    Cursor {
        parameter: String,
        field: Vec<String>,
    },
    /// The next page begins after the last item of this one.
    After {
        parameter: String,
        id: String,
        /// The path of the member that says whether there are more pages.
        more: Option<Vec<String>>,
    },
}

/// The number of items on a page.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct PageSize {
    pub(crate) parameter: String,
    pub(crate) default: Option<u64>,
}

/// The location of the next page.
enum NextPage {
    Query(String, String),
    Address(Url),
}

impl ApiClient {
    /// Fetches up to `most` pages and joins them to one MCP `CallToolResult`.
    pub(crate) async fn pages(
        &self,
        request: &ApiRequest,
        paged: &PaginationPlan,
        most: usize,
        telling: &CallProgress,
    ) -> Result<Value, CallFailure> {
        let most = most.clamp(1, MAX_PAGES);
        let mut request = request.clone();
        let mut url = self.url(&request)?;
        let mut joined: Option<JoinedPages> = None;
        let mut page = 1;
        loop {
            let reply = self.send_to(&request, url.clone(), telling).await?;
            let body = match reply.status.is_success() {
                true => self.read(&reply),
                false => None,
            };
            let Some(body) =
                body.filter(|body| at(body, &paged.items).is_some_and(Value::is_array))
            else {
                return match (joined, reply.status.is_success()) {
                    // The response is not a list, so it is the result.
                    (None, _) => Ok(self.result(&request, &reply)),
                    (Some(joined), false) => Ok(joined.broken(self.result(&request, &reply), page)),
                    (Some(_), true) => Err(CallFailure::Declined(format!(
                        "page {page} is not a list like the pages before it; no page is used"
                    ))),
                };
            };
            let next = self.next(&url, &request, paged, &body, &reply.headers)?;
            match &mut joined {
                None => joined = Some(JoinedPages::new(body, &reply)),
                Some(joined) => joined.add(body, &reply, &paged.items, page)?,
            }
            telling.progress(page as f64, Some(most as f64), &format!("page {page}"));
            match (next, &mut joined) {
                (Some(next), _) if page < most => match next {
                    NextPage::Query(name, value) => {
                        request.query.retain(|(known, _)| *known != name);
                        request.query.push((name, value));
                        url = self.url(&request)?;
                    }
                    NextPage::Address(address) if address == url => {
                        return Err(CallFailure::Declined(format!(
                            "page {page} names itself as the next one; nothing of it is used"
                        )));
                    }
                    NextPage::Address(address) => url = address,
                },
                (next, Some(joined)) => {
                    let meta = call_result::meta(&reply, self.mask());
                    return Ok(mem::take(joined).whole(meta, page, next.is_some()));
                }
                (_, None) => return Ok(self.result(&request, &reply)),
            }
            page += 1;
        }
    }

    fn read(&self, reply: &ApiResponse) -> Option<Value> {
        serde_json::from_str(&self.mask().content(&reply.text())).ok()
    }

    fn next(
        &self,
        url: &Url,
        request: &ApiRequest,
        paged: &PaginationPlan,
        body: &Value,
        headers: &HeaderMap,
    ) -> Result<Option<NextPage>, CallFailure> {
        if headers.contains_key(LINK) || paged.by == PaginationStyle::Link {
            return match linked(headers) {
                Some(to) => self.leads(url, &to).map(Some),
                None => Ok(None),
            };
        }
        let items = at(body, &paged.items).and_then(Value::as_array);
        let count = items.map_or(0, Vec::len) as u64;
        let sent = |name: &str| {
            let pair = request.query.iter().find(|(known, _)| known == name);
            pair.map(|(_, value)| value.as_str())
        };
        // A page that is not full is the last one.
        let full = |size: &Option<PageSize>| {
            let size = size.as_ref().and_then(|size| {
                let said = sent(&size.parameter).and_then(|said| said.parse().ok());
                said.or(size.default)
            });
            count > 0 && size.is_none_or(|size: u64| count >= size)
        };
        let number = |name: &str| sent(name).and_then(|said| said.parse::<u64>().ok());
        let query = |name: &String, value: String| Ok(Some(NextPage::Query(name.clone(), value)));
        match &paged.by {
            PaginationStyle::Link => Ok(None),
            PaginationStyle::Page {
                parameter,
                first,
                size,
            } => match full(size) {
                true => query(
                    parameter,
                    (number(parameter).unwrap_or(*first) + 1).to_string(),
                ),
                false => Ok(None),
            },
            PaginationStyle::Offset { parameter, size } => match full(size) {
                true => query(
                    parameter,
                    (number(parameter).unwrap_or(0) + count).to_string(),
                ),
                false => Ok(None),
            },
            PaginationStyle::Cursor { parameter, field } => match at(body, field) {
                Some(Value::String(cursor)) if cursor.is_empty() => Ok(None),
                Some(Value::String(to))
                    if to.starts_with("http://") || to.starts_with("https://") =>
                {
                    self.leads(url, to).map(Some)
                }
                Some(Value::String(cursor)) => {
                    self.advance(parameter, encoded(cursor), sent(parameter))
                }
                Some(Value::Number(cursor)) => {
                    self.advance(parameter, cursor.to_string(), sent(parameter))
                }
                _ => Ok(None),
            },
            PaginationStyle::After {
                parameter,
                id,
                more,
            } => {
                let more = more.as_ref().map(|more| at(body, more));
                let ended = matches!(more, Some(Some(Value::Bool(false)) | None));
                let last = items.and_then(|items| items.last()?.get(id));
                match last {
                    Some(Value::String(id)) if !ended => {
                        self.advance(parameter, encoded(id), sent(parameter))
                    }
                    Some(Value::Number(id)) if !ended => {
                        self.advance(parameter, id.to_string(), sent(parameter))
                    }
                    _ => Ok(None),
                }
            }
        }
    }

    /// A page whose parameter does not change would repeat forever.
    fn advance(
        &self,
        parameter: &str,
        to: String,
        from: Option<&str>,
    ) -> Result<Option<NextPage>, CallFailure> {
        match from == Some(to.as_str()) {
            false => Ok(Some(NextPage::Query(parameter.to_owned(), to))),
            true => Err(CallFailure::Declined(
                "a page names itself as the next one; nothing of it is used".into(),
            )),
        }
    }

    /// Only within the origin, because the request carries credentials.
    fn leads(&self, from: &Url, to: &str) -> Result<NextPage, CallFailure> {
        match from.join(to) {
            Ok(to) if to.origin() == from.origin() => Ok(NextPage::Address(to)),
            Ok(to) => Err(CallFailure::Declined(format!(
                "the next page is at another origin, {}, and credentials go to one origin only; no page is used",
                to.host_str().unwrap_or_default()
            ))),
            Err(_) => Err(CallFailure::Declined(
                "the address of the next page cannot be read".into(),
            )),
        }
    }
}

/// The pages fetched so far.
#[derive(Default)]
struct JoinedPages {
    body: Value,
    bytes: usize,
    /// In `json_weight` values.
    values: usize,
}

impl JoinedPages {
    fn new(body: Value, reply: &ApiResponse) -> Self {
        Self {
            body,
            bytes: reply.body.len(),
            values: values(reply),
        }
    }

    /// Appends the items of a page. The other members are replaced by those of this page.
    fn add(
        &mut self,
        mut body: Value,
        reply: &ApiResponse,
        items: &[String],
        page: usize,
    ) -> Result<(), CallFailure> {
        self.bytes += reply.body.len();
        if self.bytes > MAX_RESPONSE_BYTES {
            return Err(CallFailure::TooMuch(format!(
                "{page} pages are longer than {} MiB together, and nothing of them is used: ask for fewer with \
                 `$pages`, or for fewer fields",
                MAX_RESPONSE_BYTES >> 20
            )));
        }
        self.values += values(reply);
        if self.values > MAX_RESPONSE_VALUES {
            return Err(CallFailure::TooMuch(format!(
                "{page} pages hold more than {MAX_RESPONSE_VALUES} JSON values together, {}, and nothing of them is used: ask \
                 for fewer with `$pages`, or for fewer fields",
                weight::WEIGHT_RULE_TEXT
            )));
        }
        let before = at_mut(&mut self.body, items).map(Value::take);
        let more = at_mut(&mut body, items);
        if let (Some(Value::Array(mut before)), Some(Value::Array(more))) = (before, more) {
            before.append(more);
            *more = before;
        }
        self.body = body;
        Ok(())
    }

    fn whole(self, mut meta: Value, pages: usize, more: bool) -> Value {
        meta["pages"] = pages.into();
        meta["more"] = more.into();
        call_result::json_result(self.body.to_string(), self.body, meta)
    }

    /// The error result of a page that the API refused.
    fn broken(self, mut failure: Value, page: usize) -> Value {
        let before = page - 1;
        failure["structuredContent"]["page"] = json!(page);
        if let Some(Value::String(text)) = failure["content"][0].get_mut("text") {
            *text = format!("page {page}: {text}; the {before} before it are not used");
        }
        failure
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

fn encoded(text: &str) -> String {
    let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    encoded.replace('+', "%20")
}
