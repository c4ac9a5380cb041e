//! Paging hints of a response: the next page, the end of the list, totals and the current position.
//!
//! APIs put them into `Link` and other headers, and into members of the body beside the list. [`hint_of`] is the only
//! table of their names. `openapi/paging_detection` looks up the members of a described response in it.
//!
//! Invariant: a hint is read only where its name and its kind of value agree. A member that only resembles a hint is
//! ignored.

use reqwest::header::{CONTENT_RANGE, HeaderMap, LINK};
use serde_json::{Map, Value};

use super::link_header::PageLinks;

/// The nesting of members that are searched. Lists are not searched.
pub(crate) const MAX_HINT_DEPTH: usize = 3;
/// The number of members that are searched in one response.
const MAX_HINT_MEMBERS: usize = 10_000;

/// The length of a name of a hint.
const MAX_NAME_BYTES: usize = 64;
/// The number of links of a response that are searched.
const MAX_LINKS: usize = 50;

/// The kind of a hint, by its name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PagingHint {
    Next(NextKind),
    /// A boolean: there are more pages.
    More,
    /// A boolean: this is the last page.
    Last,
    TotalPages,
    TotalItems,
    CurrentPage,
    CurrentOffset,
}

/// The form in which a hint names the next page.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum NextKind {
    Url,
    Cursor,
    /// A URL, a cursor or a number, by its value.
    Any,
    Page,
    Offset,
}

const NEXT_URLS: [&str; 19] = [
    "nextlink",
    "nexturl",
    "nexturi",
    "nexthref",
    "nextpageurl",
    "nextpageuri",
    "nextpagelink",
    "nextpagehref",
    "odatanextlink",
    "nextrecordsurl",
    "next.href",
    "next.link",
    "next.url",
    "next.uri",
    "nextpage.href",
    "nextpage.link",
    "nextpage.url",
    "nextpage.uri",
    "nextlink.href",
];
const NEXT_CURSORS: [&str; 27] = [
    "nextcursor",
    "nextpagetoken",
    "nexttoken",
    "nextmarker",
    "nextcontinuationtoken",
    "nextcontinuation",
    "nextpagecursor",
    "nextpageid",
    "nextbatch",
    "nextid",
    "nextkey",
    "nextpagekey",
    "nextpagination",
    "endcursor",
    "metadata.continue",
    "nextpage.offset",
    "nextpage.cursor",
    "nextpage.token",
    "next.after",
    "next.cursor",
    "next.token",
    "cursor.next",
    "cursors.next",
    "cursors.after",
    "paginationtoken",
    "continuationtoken",
    "mscontinuation",
];
/// Names of objects with hints. In other objects, such a member is data, unless the list is inside.
const CONTAINERS: [&str; 25] = [
    "",
    "next",
    "nextpage",
    "links",
    "meta",
    "metadata",
    "page",
    "pages",
    "paging",
    "pageinfo",
    "paginginfo",
    "pagination",
    "paginationinfo",
    "paginator",
    "pageable",
    "cursor",
    "cursors",
    "responsemetadata",
    "responseinfo",
    "resultinfo",
    "result",
    "results",
    "response",
    "data",
    "odata",
];

/// The hint with this name in an object of this name, both as [`letters`]. The response itself and the objects around
/// its list have the empty name.
pub(crate) fn hint_of(container: &str, name: &str) -> Option<PagingHint> {
    if name.len() > MAX_NAME_BYTES || !CONTAINERS.contains(&container) {
        return None;
    }
    let qualified = format!("{container}.{name}");
    let is_in = |names: &[&str]| names.contains(&name) || names.contains(&&*qualified);
    if is_in(&NEXT_URLS) {
        return Some(PagingHint::Next(NextKind::Url));
    }
    if is_in(&NEXT_CURSORS) {
        return Some(PagingHint::Next(NextKind::Cursor));
    }
    Some(match name {
        "next" | "nextpage" => PagingHint::Next(NextKind::Any),
        "nextpagenumber" | "nextpageno" | "nextpagenum" | "nextpageindex" => {
            PagingHint::Next(NextKind::Page)
        }
        "nextoffset" | "nextstart" | "nextstartat" | "nextstartindex" | "nextskip" => {
            PagingHint::Next(NextKind::Offset)
        }
        "hasmore" | "hasnext" | "hasnextpage" | "hasmorepages" | "hasmoreitems"
        | "hasmoreresults" | "hasmorerecords" | "hasmoredata" | "more" | "moreitems"
        | "morerecords" | "moreresults" | "moreavailable" | "istruncated" | "truncated" => {
            PagingHint::More
        }
        "last" | "islast" | "islastpage" | "done" | "isdone" | "eof" | "endoflist" | "isend"
        | "isfinished" => PagingHint::Last,
        // The number of the last page, or whether this is the last page.
        "lastpage" => PagingHint::TotalPages,
        "totalpages" | "totalpage" | "totalpagecount" | "pagecount" | "pagescount"
        | "pagetotal" | "numpages" | "numberofpages" | "nbpages" | "pages" => {
            PagingHint::TotalPages
        }
        "total" | "totalcount" | "totalitems" | "totalresults" | "totalelements"
        | "totalrecords" | "totalentries" | "totalrows" | "totalobjects" | "totalhits"
        | "numfound" | "odatacount" => PagingHint::TotalItems,
        "page" | "currentpage" | "pagenumber" | "pageno" | "pagenum" | "pageindex" | "number" => {
            PagingHint::CurrentPage
        }
        "offset" | "startindex" | "startat" => PagingHint::CurrentOffset,
        _ => return None,
    })
}

/// The letters and digits of a name in lowercase: `per_page` and `perPage` become `perpage`, `page[number]` becomes
/// `pagenumber`.
pub(crate) fn letters(name: &str) -> String {
    // Longer names have no meaning here.
    let letters = name.chars().take(2 * MAX_NAME_BYTES);
    let letters = letters.filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// The next page, as named by a response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum NextHint {
    /// May be relative.
    Url(String),
    /// A string or a number.
    Cursor(Value),
    /// A URL or a cursor.
    Text(String),
    Page(u64),
    Offset(u64),
    /// The number of a page, an offset or a cursor.
    Number(u64),
}

/// All hints of one response.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PagingHints {
    /// The most explicit hint first.
    pub(super) next: Vec<NextHint>,
    /// Set if a member for the next page is null or empty, or a `Link` header names only other pages.
    pub(super) has_empty_next: bool,
    pub(super) more: Option<bool>,
    pub(super) total_pages: Option<u64>,
    pub(super) total_items: Option<u64>,
    pub(super) current_page: Option<u64>,
    pub(super) current_offset: Option<u64>,
}

impl PagingHints {
    /// Reads the hints of a response with a list at this path of members.
    pub(super) fn read(headers: &HeaderMap, body: &Value, list: &[String]) -> Self {
        let mut reader = HintReader {
            hints: Self::default(),
            next: Vec::new(),
            left: MAX_HINT_MEMBERS,
        };
        reader.read_headers(headers);
        if let Value::Object(members) = body {
            reader.read_object(members, "", Some(list), 1);
        }
        reader.finish()
    }
}

struct HintReader {
    hints: PagingHints,
    next: Vec<(NextKind, NextHint)>,
    /// The number of members that may still be read.
    left: usize,
}

impl HintReader {
    fn read_headers(&mut self, headers: &HeaderMap) {
        if headers.contains_key(LINK) {
            let links = PageLinks::read(headers);
            self.hints.has_empty_next |= links.next.is_none() && links.has_other;
            let next = links.next.map(|url| (NextKind::Url, NextHint::Url(url)));
            self.next.extend(next);
        }
        for (name, value) in headers {
            let Ok(value) = value.to_str() else {
                continue;
            };
            if name == CONTENT_RANGE {
                // `items 0-24/319`
                let total = value
                    .rsplit_once('/')
                    .and_then(|(_, total)| total.parse().ok());
                self.hints.total_items = self.hints.total_items.or(total);
                continue;
            }
            let Some(name) = name.as_str().strip_prefix("x-") else {
                if name == "opc-next-page" {
                    self.read_member("", "nextcursor", &value.into());
                }
                continue;
            };
            let name = letters(name);
            if name == "pagination"
                && let Ok(Value::Object(members)) = serde_json::from_str(value)
            {
                self.read_object(&members, "", None, MAX_HINT_DEPTH);
                continue;
            }
            let plain = ["pagination", "wp"]
                .iter()
                .find_map(|prefix| name.strip_prefix(prefix))
                .filter(|rest| !rest.is_empty());
            self.read_member("", plain.unwrap_or(&name), &value.into());
        }
    }

    /// `list` is the path to the list from here, if the list is inside.
    fn read_object(
        &mut self,
        members: &Map<String, Value>,
        container: &str,
        list: Option<&[String]>,
        depth: usize,
    ) {
        for (name, value) in members {
            let Some(left) = self.left.checked_sub(1) else {
                return;
            };
            self.left = left;
            let plain = letters(name);
            match value {
                Value::Array(links) if matches!(plain.as_str(), "link" | "links") => {
                    self.read_links(links);
                }
                Value::Array(_) => {}
                Value::Object(members) if depth < MAX_HINT_DEPTH => {
                    let below = list
                        .and_then(<[String]>::split_first)
                        .filter(|(first, rest)| *first == name && !rest.is_empty())
                        .map(|(_, rest)| rest);
                    let container = if below.is_some() { "" } else { &plain };
                    self.read_object(members, container, below, depth + 1);
                }
                _ => self.read_member(container, &plain, value),
            }
        }
    }

    /// Reads links as objects with a relation: `[{ "rel": "next", "href": "…" }]`.
    fn read_links(&mut self, links: &[Value]) {
        let mut has_other = false;
        let found = links.iter().take(MAX_LINKS).find_map(|link| {
            let text = |names: [&str; 2]| names.iter().find_map(|name| link.get(name)?.as_str());
            match text(["rel", "relation"])? {
                "next" => text(["href", "url"]),
                relation => {
                    has_other |= matches!(relation, "first" | "prev" | "previous" | "last");
                    None
                }
            }
        });
        self.hints.has_empty_next |= found.is_none() && has_other;
        let next = found.map(|url| (NextKind::Url, NextHint::Url(url.to_owned())));
        self.next.extend(next);
    }

    fn read_member(&mut self, container: &str, name: &str, value: &Value) {
        let Some(hint) = hint_of(container, name) else {
            return;
        };
        let hints = &mut self.hints;
        match hint {
            PagingHint::Next(kind) => match next_hint(kind, value) {
                Some(next) => self.next.push((kind, next)),
                None if is_empty(value) => hints.has_empty_next = true,
                // `next: true`
                None => hints.more = hints.more.or_else(|| boolean(value)),
            },
            PagingHint::More => hints.more = boolean(value).or(hints.more),
            PagingHint::Last => hints.more = boolean(value).map(|last| !last).or(hints.more),
            PagingHint::TotalPages => match value {
                Value::Bool(last) => hints.more = Some(!last),
                _ => hints.total_pages = hints.total_pages.or_else(|| number(value)),
            },
            PagingHint::TotalItems => {
                hints.total_items = hints.total_items.or_else(|| number(value));
            }
            PagingHint::CurrentPage => {
                hints.current_page = hints.current_page.or_else(|| number(value));
            }
            PagingHint::CurrentOffset => {
                hints.current_offset = hints.current_offset.or_else(|| number(value));
            }
        }
    }

    fn finish(mut self) -> PagingHints {
        self.next.sort_by_key(|(kind, _)| *kind);
        self.hints.next = self.next.into_iter().map(|(_, next)| next).collect();
        self.hints
    }
}

fn next_hint(kind: NextKind, value: &Value) -> Option<NextHint> {
    match (kind, value) {
        (_, value) if is_empty(value) => None,
        (NextKind::Url, Value::String(url)) => Some(NextHint::Url(url.clone())),
        (NextKind::Cursor, Value::String(_) | Value::Number(_)) => {
            Some(NextHint::Cursor(value.clone()))
        }
        (NextKind::Page, value) => number(value).map(NextHint::Page),
        (NextKind::Offset, value) => number(value).map(NextHint::Offset),
        (NextKind::Any, Value::Number(number)) => number.as_u64().map(NextHint::Number),
        (NextKind::Any, Value::String(text)) => Some(match text.parse::<u64>() {
            // Others, such as `007`, are cursors.
            Ok(number) if number.to_string() == *text => NextHint::Number(number),
            _ => NextHint::Text(text.clone()),
        }),
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        // Some APIs return cursor 0 or -1 at the end.
        Value::Number(number) => number.as_u64().is_none_or(|number| number == 0),
        Value::String(text) => matches!(text.as_str(), "" | "0" | "-1"),
        _ => false,
    }
}

fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hints(headers: &[(&'static str, &str)], body: &Value) -> PagingHints {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        PagingHints::read(
            &headers.collect(),
            body,
            &["data", "users", "items"].map(str::to_owned),
        )
    }

    #[test]
    fn next_page_is_read_from_every_usual_place() {
        let url = |url: &str| NextHint::Url(url.to_owned());
        let cursor = |cursor: &str| NextHint::Cursor(cursor.into());
        let text = |text: &str| NextHint::Text(text.to_owned());
        for (body, next) in [
            (
                json!({ "@odata.nextLink": "https://h/a?$skiptoken=b" }),
                url("https://h/a?$skiptoken=b"),
            ),
            (
                json!({ "next": "https://h/?page=2" }),
                text("https://h/?page=2"),
            ),
            (json!({ "next": 2 }), NextHint::Number(2)),
            (json!({ "next_page": "3" }), NextHint::Number(3)),
            (
                json!({ "_links": { "next": { "href": "/a?page=2" } } }),
                url("/a?page=2"),
            ),
            (json!({ "links": { "next": "?page=2" } }), text("?page=2")),
            (
                json!({ "next_page": { "uri": "https://h/" } }),
                url("https://h/"),
            ),
            (
                json!({ "response_metadata": { "next_cursor": "ab==" } }),
                cursor("ab=="),
            ),
            (json!({ "next_cursor": 17 }), NextHint::Cursor(17.into())),
            (json!({ "next": "007" }), text("007")),
            (
                json!({ "links": [{ "rel": "self", "href": "/a" }, { "rel": "next", "href": "/b" }] }),
                url("/b"),
            ),
            (
                json!({ "link": [{ "relation": "next", "url": "/b" }] }),
                url("/b"),
            ),
            (
                json!({ "data": { "users": { "nextPageToken": "t" } } }),
                cursor("t"),
            ),
            (json!({ "metadata": { "continue": "c" } }), cursor("c")),
            (
                json!({ "meta": { "next_offset": 20 } }),
                NextHint::Offset(20),
            ),
        ] {
            assert_eq!(hints(&[], &body).next, [next], "{body}");
        }
        let headers = [("link", "</a?page=2>; rel=\"next\""), ("x-next-page", "2")];
        let found = hints(&headers, &json!([]));
        assert_eq!(found.next, [url("/a?page=2"), NextHint::Number(2)]);
    }

    #[test]
    fn end_of_the_list_is_read_from_every_usual_place() {
        for body in [
            json!({ "next": null }),
            json!({ "next_cursor": "" }),
            json!({ "next_page": false }),
            json!({ "next_page": 0 }),
            json!({ "next_cursor": 0 }),
            json!({ "next_cursor": "-1" }),
            json!({ "links": [{ "rel": "first", "href": "/a" }] }),
            json!({ "links": { "next": null } }),
        ] {
            assert!(hints(&[], &body).has_empty_next, "{body}");
        }
        for (headers, body) in [
            (vec![], json!({ "has_more": false })),
            (vec![], json!({ "page": { "last": true } })),
            (vec![], json!({ "meta": { "isLastPage": "true" } })),
            (vec![("x-pagination", "{\"HasNext\":false}")], json!([])),
        ] {
            assert_eq!(hints(&headers, &body).more, Some(false), "{body}");
        }
        for (headers, body) in [
            (vec![], json!({ "total_pages": 3, "total": 7, "page": 2 })),
            (
                vec![],
                json!({ "meta": { "last_page": 3, "current_page": "2", "totalCount": 7 } }),
            ),
            (
                vec![
                    ("x-wp-total", "7"),
                    ("x-wp-totalpages", "3"),
                    ("x-page", "2"),
                ],
                json!([]),
            ),
        ] {
            let found = hints(&headers, &body);
            let totals = (found.total_pages, found.total_items, found.current_page);
            assert_eq!(totals, (Some(3), Some(7), Some(2)), "{body}");
        }
        let range = hints(&[("content-range", "items 0-24/319")], &json!([]));
        assert_eq!(range.total_items, Some(319));
    }

    #[test]
    fn other_members_are_no_hints() {
        for body in [
            json!({ "items": [{ "next": "a", "has_more": false }] }),
            json!({ "episode": { "next": null, "page": 3, "total": 1, "last": true } }),
            json!({ "a": { "b": { "c": { "next_cursor": "d" } } } }),
            json!({ "settings": { "next_url": "/v1/secrets", "next_cursor": "c" } }),
            json!({ "x".repeat(1 << 20): { "a": 1 }, "next".repeat(100): "a" }),
            json!({ "links": [{ "rel": "self", "href": "/a" }] }),
            json!({ "links": { "last": "https://h/?page=9", "self": "https://h/" } }),
            json!({ "next": {}, "total": "many", "page": { "a": 1 } }),
        ] {
            assert_eq!(hints(&[], &body), PagingHints::default(), "{body}");
        }
        let preload = [("link", "</app.css>; rel=preload"), ("x-request-id", "7")];
        assert_eq!(hints(&preload, &json!([])), PagingHints::default());
    }
}
