//! A simulated API that pages a list in one of many styles.

use axum::http::StatusCode;
use serde_json::json;

use super::super::*;

/// A list, and how an API pages it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pages {
    pub(super) style: Style,
    pub(super) items: u64,
    pub(super) size: u64,
}

/// The way in which an API pages a list. The comments name APIs that use it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Style {
    /// GitHub: no `Link` header on a single page, other links on the last page.
    Link,
    /// RFC 8288: no `Link` header on the last page.
    LinkOnlyNext,
    /// Okta: a cursor in the `Link` header only.
    LinkCursor,
    /// Pages are numbered from 1, and a page beyond the end is empty.
    PageFromOne,
    /// The same, and the page before the first is the first page, too.
    PageFromZero,
    /// A page beyond the end is the last page again.
    PageClamped,
    /// A page beyond the end is 404.
    PageNotFound,
    /// Django REST framework: `next` is a URL or null, and a page beyond the end is 404.
    NextUrl,
    /// Spring: `number` from 0, `last`, `totalPages`.
    Spring,
    /// Laravel: `current_page` from 1, `last_page`.
    Laravel,
    /// `page`, `total_pages`, and a page beyond the end is 500.
    TotalPages,
    /// GitLab: `X-Next-Page`, empty on the last page.
    NextPageHeader,
    /// WordPress: `X-WP-TotalPages`, and a page beyond the end is 400.
    TotalPagesHeader,
    /// A number in `next_page`, which is 0 on the last page.
    NextPageNumber,
    Offset,
    /// The API returns at most two items, regardless of `limit`.
    OffsetClamped,
    /// Jira: `startAt`, `total`.
    OffsetTotal,
    /// SCIM: `startIndex` from 1.
    StartIndex,
    /// `next_offset`, null on the last page.
    NextOffset,
    /// Microsoft Graph: `@odata.nextLink`, which `$skip` does not replace.
    Odata,
    /// `_links.next.href`, relative, and no `_embedded` in an empty page.
    Hal,
    /// `links.next` of JSON:API.
    JsonApi,
    /// Slack: `response_metadata.next_cursor` is empty on the last page.
    Slack,
    /// Notion: `next_cursor` is null and `has_more` false.
    Notion,
    /// Google: `nextPageToken` is absent on the last page, and pages may be empty.
    Google,
    /// AWS: `NextToken` in the body of a POST.
    Aws,
    /// The API always returns a cursor, and `has_more` says when to stop.
    EndlessCursor,
    /// Stripe: `starting_after` and `has_more`.
    After,
    /// `starting_after` without `has_more`.
    AfterUntilEmpty,
    /// Kubernetes: `metadata.continue`.
    Continue,
}

pub(super) const STYLES: [Style; 30] = [
    Style::Link,
    Style::LinkOnlyNext,
    Style::LinkCursor,
    Style::PageFromOne,
    Style::PageFromZero,
    Style::PageClamped,
    Style::PageNotFound,
    Style::NextUrl,
    Style::Spring,
    Style::Laravel,
    Style::TotalPages,
    Style::NextPageHeader,
    Style::TotalPagesHeader,
    Style::NextPageNumber,
    Style::Offset,
    Style::OffsetClamped,
    Style::OffsetTotal,
    Style::StartIndex,
    Style::NextOffset,
    Style::Odata,
    Style::Hal,
    Style::JsonApi,
    Style::Slack,
    Style::Notion,
    Style::Google,
    Style::Aws,
    Style::EndlessCursor,
    Style::After,
    Style::AfterUntilEmpty,
    Style::Continue,
];

pub(super) fn members(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub(super) fn number(seen: &RecordedRequest, name: &str) -> Option<u64> {
    let url = url::Url::parse(&format!("http://h{}", seen.target)).unwrap();
    let mut pairs = url.query_pairs();
    let found = pairs.find(|(key, _)| key == name)?.1.into_owned();
    Some(found.trim_start_matches("c=").parse().unwrap())
}

pub(super) fn cursor(at: u64) -> String {
    format!("c={at}")
}

impl Pages {
    fn page_count(self) -> u64 {
        self.items.div_ceil(self.size).max(1)
    }

    fn slice(self, from: u64, size: u64) -> Vec<Value> {
        (from..self.items.min(from + size))
            .map(|id| json!({ "id": id }))
            .collect()
    }

    /// The page with this number from 0.
    fn page(self, number: u64) -> Vec<Value> {
        self.slice(number.saturating_mul(self.size), self.size)
    }

    pub(super) fn plan(self) -> PaginationPlan {
        let counting = |name: &str, first| {
            Some(CountingParameter {
                name: name.into(),
                first,
            })
        };
        let query = |name: &str| Some(CursorParameter::Query(name.into()));
        let by_page = PaginationPlan {
            page: counting("page", None),
            ..PaginationPlan::default()
        };
        let by_offset = PaginationPlan {
            offset: counting("offset", None),
            ..PaginationPlan::default()
        };
        let by_cursor = |name| PaginationPlan {
            cursor: query(name),
            declares_next: true,
            ..PaginationPlan::default()
        };
        match self.style {
            Style::Link => PaginationPlan {
                declares_next: true,
                ..by_page
            },
            Style::LinkOnlyNext
            | Style::PageFromOne
            | Style::PageFromZero
            | Style::PageClamped
            | Style::PageNotFound
            | Style::NextUrl
            | Style::Spring
            | Style::Laravel
            | Style::TotalPages
            | Style::NextPageHeader
            | Style::TotalPagesHeader
            | Style::NextPageNumber
            | Style::JsonApi => by_page,
            Style::Hal => PaginationPlan {
                items: Some(members(&["_embedded", "orders"])),
                declares_next: true,
                ..by_page
            },
            Style::LinkCursor => PaginationPlan {
                cursor: query("after"),
                ..PaginationPlan::default()
            },
            Style::Offset | Style::OffsetClamped | Style::NextOffset => by_offset,
            Style::OffsetTotal => PaginationPlan {
                offset: counting("startAt", Some(0)),
                ..PaginationPlan::default()
            },
            Style::StartIndex => PaginationPlan {
                offset: counting("startIndex", None),
                ..PaginationPlan::default()
            },
            Style::Odata => PaginationPlan {
                offset: counting("$skip", None),
                declares_next: true,
                ..PaginationPlan::default()
            },
            Style::Slack | Style::EndlessCursor => by_cursor("cursor"),
            Style::Notion => by_cursor("start_cursor"),
            Style::Google => by_cursor("pageToken"),
            Style::Aws => PaginationPlan {
                cursor: Some(CursorParameter::Body("NextToken".into())),
                ..by_cursor("")
            },
            Style::After | Style::AfterUntilEmpty => PaginationPlan {
                after: Some("starting_after".into()),
                ..PaginationPlan::default()
            },
            Style::Continue => by_cursor("continue"),
        }
    }

    pub(super) fn request(self) -> ApiRequest {
        match self.style {
            Style::Aws => ApiRequest {
                body: Some(RequestBody::Json(json!({ "Filter": "x" }))),
                ..request(Method::POST, "/list")
            },
            _ => get("/list"),
        }
    }

    pub(super) fn respond(self, seen: &RecordedRequest) -> Response {
        let body = |value: Value| axum::Json(value).into_response();
        let list = |items: Vec<Value>| axum::Json(Value::from(items));
        let refused =
            |status: StatusCode| (status, "{\"message\":\"no such page\"}").into_response();
        let size = self.size;
        let pages = self.page_count();
        // The number of the page, from 0, of an API that numbers pages from 1.
        let page = number(seen, "page").unwrap_or(1).saturating_sub(1);
        let has_next = page + 1 < pages;
        let next_page = (has_next).then_some(page + 2);
        let next_url = next_page.map(|next| format!("/list?page={next}"));
        let at = |name: &str| number(seen, name).unwrap_or(0);
        let next_cursor = |from: u64| (from + size < self.items).then(|| cursor(from + size));
        match self.style {
            Style::Link => match next_url {
                Some(next) => {
                    let link =
                        format!("<{next}>; rel=\"next\", </list?page={pages}>; rel=\"last\"");
                    ([("link", link)], list(self.page(page))).into_response()
                }
                None if page > 0 => {
                    let link = "</list?page=1>; rel=\"first\"".to_owned();
                    ([("link", link)], list(self.page(page))).into_response()
                }
                None => list(self.page(page)).into_response(),
            },
            Style::LinkOnlyNext => match next_url {
                Some(next) => (
                    [("link", format!("<{next}>; rel=next"))],
                    list(self.page(page)),
                )
                    .into_response(),
                None => list(self.page(page)).into_response(),
            },
            Style::LinkCursor => {
                let from = at("after");
                let items = list(self.slice(from, size));
                match next_cursor(from) {
                    Some(next) => {
                        let link =
                            format!("</list?after={}>; rel=\"next\"", next.replace('=', "%3D"));
                        ([("link", link)], items).into_response()
                    }
                    None => items.into_response(),
                }
            }
            Style::PageFromOne => list(self.page(page)).into_response(),
            Style::PageFromZero => list(self.page(at("page"))).into_response(),
            Style::PageClamped => list(self.page(page.min(pages - 1))).into_response(),
            Style::PageNotFound if page >= pages => refused(StatusCode::NOT_FOUND),
            Style::PageNotFound => body(json!({ "results": self.page(page) })),
            Style::NextUrl if page >= pages => refused(StatusCode::NOT_FOUND),
            Style::NextUrl => body(json!({
                "count": self.items, "next": next_url, "results": self.page(page),
            })),
            Style::Spring => {
                let page = at("page");
                body(json!({
                    "content": self.page(page), "number": page, "totalPages": pages,
                    "last": page + 1 >= pages, "size": size,
                }))
            }
            Style::Laravel => body(json!({
                "data": self.page(page),
                "meta": { "current_page": page + 1, "last_page": pages, "total": self.items },
            })),
            Style::TotalPages if page >= pages => refused(StatusCode::INTERNAL_SERVER_ERROR),
            Style::TotalPages => body(json!({
                "items": self.page(page), "page": page + 1, "total_pages": pages,
            })),
            Style::NextPageHeader => {
                let next = next_page.map_or_else(String::new, |next| next.to_string());
                ([("x-next-page", next)], list(self.page(page))).into_response()
            }
            Style::TotalPagesHeader if page >= pages => refused(StatusCode::BAD_REQUEST),
            Style::TotalPagesHeader => (
                [("x-wp-totalpages", pages.to_string())],
                list(self.page(page)),
            )
                .into_response(),
            Style::NextPageNumber => body(json!({
                "items": self.page(page), "next_page": next_page.unwrap_or(0),
            })),
            Style::Offset => list(self.slice(at("offset"), size)).into_response(),
            Style::OffsetClamped => body(json!({
                "data": self.slice(at("offset"), size.min(2)), "limit": size,
            })),
            Style::OffsetTotal => {
                let from = at("startAt");
                body(json!({
                    "startAt": from, "maxResults": size, "total": self.items,
                    "issues": self.slice(from, size),
                }))
            }
            Style::StartIndex => {
                let from = number(seen, "startIndex").unwrap_or(1);
                let items = self.slice(from.saturating_sub(1), size);
                body(json!({
                    "totalResults": self.items, "startIndex": from, "itemsPerPage": items.len(),
                    "Resources": items,
                }))
            }
            Style::NextOffset => {
                let from = at("offset");
                let next = (from + size < self.items).then_some(from + size);
                body(json!({ "records": self.slice(from, size), "next_offset": next }))
            }
            Style::Odata if seen.target.contains("skip=") => refused(StatusCode::BAD_REQUEST),
            Style::Odata => {
                let from = at("$skiptoken");
                let mut page = json!({ "value": self.slice(from, size) });
                if let Some(next) = next_cursor(from) {
                    let host = seen.header("host").unwrap();
                    page["@odata.nextLink"] =
                        format!("http://{host}/list?$skiptoken={}", next.replace('=', "%3D"))
                            .into();
                }
                body(page)
            }
            Style::Hal => {
                let mut answer = json!({ "_links": { "self": { "href": "/list" } } });
                if let Some(next) = next_url {
                    answer["_links"]["next"] = json!({ "href": next });
                }
                let items = self.page(page);
                if !items.is_empty() {
                    answer["_embedded"] = json!({ "orders": items });
                }
                body(answer)
            }
            Style::JsonApi => body(json!({
                "data": self.page(page),
                "links": { "self": "/list", "next": next_url, "last": format!("/list?page={pages}") },
            })),
            Style::Slack => {
                let from = at("cursor");
                let next = next_cursor(from).unwrap_or_default();
                body(json!({
                    "ok": true, "channels": self.slice(from, size),
                    "response_metadata": { "next_cursor": next },
                }))
            }
            Style::Notion => {
                let from = at("start_cursor");
                let next = next_cursor(from);
                body(json!({
                    "object": "list", "results": self.slice(from, size),
                    "has_more": next.is_some(), "next_cursor": next,
                }))
            }
            Style::Google => {
                // Every other page is empty.
                let from = at("pageToken");
                let start = from / 2 * size;
                let is_empty = from % 2 == 1;
                let items = if is_empty {
                    Vec::new()
                } else {
                    self.slice(start, size)
                };
                let mut page = json!({ "files": items });
                if start + size < self.items {
                    page["nextPageToken"] = cursor(from + 1).into();
                }
                body(page)
            }
            Style::Aws => {
                let sent: Value = serde_json::from_slice(&seen.body).unwrap();
                assert_eq!(sent["Filter"], "x");
                let from = sent["NextToken"]
                    .as_str()
                    .map_or(0, |token| token.trim_start_matches("c=").parse().unwrap());
                let mut page = json!({ "Items": self.slice(from, size) });
                if let Some(next) = next_cursor(from) {
                    page["NextToken"] = next.into();
                }
                body(page)
            }
            Style::EndlessCursor => {
                let from = at("cursor");
                body(json!({
                    "entries": self.slice(from, size), "next_cursor": cursor(from + size),
                    "has_more": from + size < self.items,
                }))
            }
            Style::After | Style::AfterUntilEmpty => {
                let from = number(seen, "starting_after").map_or(0, |id| id + 1);
                let mut page = json!({ "data": self.slice(from, size) });
                if self.style == Style::After {
                    page["has_more"] = (from + size < self.items).into();
                }
                body(page)
            }
            Style::Continue => {
                let from = at("continue");
                body(json!({
                    "items": self.slice(from, size),
                    "metadata": { "continue": next_cursor(from).unwrap_or_default() },
                }))
            }
        }
    }
}
