//! Detects operations that return a list in pages, and the parameters that request the next page.
//!
//! Descriptions do not state this. In most APIs the names of parameters and of response members tell, and responses
//! tell the rest when they arrive (`http/paging_hints` has their member names).
//!
//! Invariant: only a GET, or a POST that takes a cursor of its response, is paged.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    object_members::members_of,
    openapi_document::{OpenApiDocument, items, members, text},
    operation_body::{BodyArguments, BodyKind, DescribedBody},
    operation_responses::SuccessResponses,
    parameter_style::{AllowedCharacters, ParameterLocation, encoded},
    parameters::DescribedParameter,
};
use crate::http::{
    CountingParameter, CursorParameter, MAX_HINT_DEPTH, NextKind, PaginationPlan, PagingHint,
    choose_list, hint_of, letters,
};

const PAGE_PARAMETER_NAMES: [&str; 7] = [
    "page",
    "pagenumber",
    "pageno",
    "pagenum",
    "pageindex",
    "currentpage",
    "pagenr",
];
const OFFSET_PARAMETER_NAMES: [&str; 7] = [
    "offset",
    "skip",
    "startindex",
    "start",
    "startat",
    "pageoffset",
    "firstresult",
];
const PAGE_SIZE_PARAMETER_NAMES: [&str; 10] = [
    "perpage",
    "pagesize",
    "limit",
    "pagelimit",
    "maxresults",
    "maxitems",
    "size",
    "count",
    "top",
    "max",
];
const CURSOR_PARAMETER_NAMES: [&str; 24] = [
    "cursor",
    "startcursor",
    "pagetoken",
    "nexttoken",
    "nextpagetoken",
    "paginationtoken",
    "continuationtoken",
    "continuation",
    "starttoken",
    "skiptoken",
    "pagecursor",
    "pageafter",
    "aftercursor",
    "after",
    "marker",
    "continue",
    "nextcursor",
    "nextpage",
    "nextmarker",
    "next",
    "bookmark",
    "scrollid",
    "pageid",
    "offset",
];
/// Words in descriptions that say that pages or items count from 0, and from 1.
const ZERO_BASED: [&str; 12] = [
    "zero-based",
    "zero based",
    "zero-indexed",
    "zero indexed",
    "0-based",
    "0 based",
    "0-indexed",
    "0..n",
    "starting at 0",
    "starts at 0",
    "starts from 0",
    "starting from 0",
];
const ONE_BASED: [&str; 8] = [
    "one-based",
    "1-based",
    "1-indexed",
    "one-indexed",
    "starting at 1",
    "starts at 1",
    "starts from 1",
    "starting from 1",
];
/// The number of members that are searched in one response.
const MAX_SEARCHED_MEMBERS: usize = 2_000;

pub(super) fn read(
    document: &OpenApiDocument,
    verb: &str,
    parameters: &[DescribedParameter],
    body: Option<&DescribedBody>,
    responses: &SuccessResponses,
) -> Option<PaginationPlan> {
    let response = match &responses.schema {
        Some(schema) => DescribedResponse::read(document, schema),
        None if responses.may_be_json => DescribedResponse::default(),
        None => return None,
    };
    match verb {
        "get" => read_get(document, parameters, &response, responses.links),
        "post" => read_post(body?, &response),
        _ => None,
    }
}

fn read_get(
    document: &OpenApiDocument,
    parameters: &[DescribedParameter],
    response: &DescribedResponse,
    has_link_header: bool,
) -> Option<PaginationPlan> {
    let query = QueryParameters {
        document,
        parameters: parameters
            .iter()
            .filter(|it| it.parameter.location == ParameterLocation::Query)
            .collect(),
    };
    // A page that is a string may be a cursor.
    let page = query
        .named(&PAGE_PARAMETER_NAMES)
        .filter(|it| query.is_number(it) || response.next.is_empty());
    let offset = query
        .named(&OFFSET_PARAMETER_NAMES)
        .filter(|it| query.is_number(it));
    let cursor = query
        .named(&CURSOR_PARAMETER_NAMES)
        .filter(|it| offset.is_none_or(|offset| !std::ptr::eq(*it, offset)))
        .or_else(|| {
            query
                .named(&PAGE_PARAMETER_NAMES)
                .filter(|_| page.is_none())
        });
    let after = query.named(&["startingafter"]);
    let can_continue = [page, offset, cursor, after].iter().any(Option::is_some);
    let is_offered = match &response.list {
        ListPath::Members(path) => {
            // A plain list may have a `Link` header that no description mentions.
            path.is_empty()
                || can_continue
                || query.named(&PAGE_SIZE_PARAMETER_NAMES).is_some()
                || response.has_hints
                || has_link_header
        }
        ListPath::Unknown => can_continue,
        ListPath::Absent => false,
    };
    if !is_offered {
        return None;
    }
    let declares_next = has_link_header
        || response.next.iter().any(|kind| match kind {
            NextKind::Url | NextKind::Any => true,
            NextKind::Cursor => cursor.is_some(),
            NextKind::Page => page.is_some(),
            NextKind::Offset => offset.is_some(),
        });
    Some(PaginationPlan {
        items: response.list.members(),
        page: page.map(|it| query.counting(it)),
        offset: offset.map(|it| query.counting(it)),
        cursor: cursor.map(|it| CursorParameter::Query(encoded_name(it))),
        after: after.map(encoded_name),
        declares_next,
    })
}

/// A POST whose body takes the cursor that its response declares only reads, page by page.
fn read_post(body: &DescribedBody, response: &DescribedResponse) -> Option<PaginationPlan> {
    let declares_cursor = response
        .next
        .iter()
        .any(|kind| matches!(kind, NextKind::Cursor | NextKind::Any));
    let is_json = body.body.kind == BodyKind::Json && body.body.media == "application/json";
    if !declares_cursor || !is_json || body.body.given != BodyArguments::Members {
        return None;
    }
    let items = response.list.members()?;
    let name = CURSOR_PARAMETER_NAMES.iter().find_map(|wanted| {
        let mut names = body.properties.keys();
        names.find(|name| letters(name) == *wanted)
    })?;
    Some(PaginationPlan {
        items: Some(items),
        cursor: Some(CursorParameter::Body(name.clone())),
        declares_next: true,
        ..PaginationPlan::default()
    })
}

/// The query parameters of an operation.
struct QueryParameters<'a> {
    document: &'a OpenApiDocument,
    parameters: Vec<&'a DescribedParameter>,
}

impl<'a> QueryParameters<'a> {
    /// The parameter with the first of these names.
    fn named(&self, names: &[&str]) -> Option<&'a DescribedParameter> {
        names
            .iter()
            .find_map(|name| {
                let mut parameters = self.parameters.iter();
                parameters.find(|it| letters(&it.parameter.name) == *name)
            })
            .copied()
    }

    fn is_number(&self, parameter: &DescribedParameter) -> bool {
        let kind = effective(self.document, &parameter.schema).and_then(|it| it.get("type"));
        match kind {
            Some(Value::Array(kinds)) => !kinds.iter().any(|kind| kind == "string"),
            Some(kind) => kind != "string",
            None => true,
        }
    }

    fn counting(&self, parameter: &DescribedParameter) -> CountingParameter {
        CountingParameter {
            name: encoded_name(parameter),
            first: self.first_number(parameter),
        }
    }

    /// The number of the first page or item: by its default, its minimum or its description.
    fn first_number(&self, parameter: &DescribedParameter) -> Option<u64> {
        let schema = &parameter.schema;
        let member = |name: &str| {
            let own = schema.get(name);
            let found = own.or_else(|| effective(self.document, schema)?.get(name));
            found?.as_u64()
        };
        let description = text(schema, "description")
            .unwrap_or_default()
            .to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| description.contains(word));
        if let Some(first) = member("default") {
            Some(first.min(1))
        } else if says(&ZERO_BASED) {
            Some(0)
        } else if says(&ONE_BASED) {
            Some(1)
        } else {
            member("minimum").map(|first| first.min(1))
        }
    }
}

fn encoded_name(parameter: &DescribedParameter) -> String {
    encoded(&parameter.parameter.name, AllowedCharacters::Unreserved)
}

/// The position of the list in a described response.
#[derive(Debug, Default, PartialEq)]
enum ListPath {
    /// The path of members to the list, empty if the response itself is the list.
    Members(Vec<String>),
    /// The response is described and has no list, or several.
    Absent,
    /// The response is not described.
    #[default]
    Unknown,
}

impl ListPath {
    fn members(&self) -> Option<Vec<String>> {
        match self {
            Self::Members(path) => Some(path.clone()),
            Self::Absent | Self::Unknown => None,
        }
    }
}

/// The described list of a response, and the members for paging beside it.
#[derive(Debug, Default)]
struct DescribedResponse {
    list: ListPath,
    /// The kinds of members for the next page.
    next: Vec<NextKind>,
    /// Set if a member has the name of a paging hint.
    has_hints: bool,
}

impl DescribedResponse {
    fn read(document: &OpenApiDocument, schema: &Value) -> Self {
        let mut response = Self::default();
        let Some(schema) = present(document, schema) else {
            return response;
        };
        if is_list(schema) {
            response.list = ListPath::Members(Vec::new());
            return response;
        }
        if text(schema, "type").is_some_and(|kind| kind != "object") {
            response.list = ListPath::Absent;
            return response;
        }
        let mut level: Vec<(Vec<&str>, &Value)> = vec![(Vec::new(), schema)];
        let mut known = HashSet::new();
        let mut left = MAX_SEARCHED_MEMBERS;
        let mut found: Vec<(Vec<&str>, &str)> = Vec::new();
        let mut has_lists = false;
        for depth in 1..=MAX_HINT_DEPTH {
            let mut next = Vec::new();
            let mut lists = Vec::new();
            for (path, schema) in level {
                let Some(properties) = members_of(document, schema) else {
                    continue;
                };
                for (name, member) in properties {
                    let Some(rest) = left.checked_sub(1) else {
                        return response;
                    };
                    left = rest;
                    if response.list == ListPath::Unknown {
                        response.list = ListPath::Absent;
                    }
                    let Some(member) = present(document, member) else {
                        continue;
                    };
                    let deeper = || [path.as_slice(), &[name]].concat();
                    let is_object = members(member, "properties").next().is_some()
                        || member.get("allOf").is_some();
                    if is_list(member) {
                        lists.push(deeper());
                    } else if !is_object {
                        found.push((path.clone(), name));
                    } else if depth < MAX_HINT_DEPTH
                        && known.insert((std::ptr::from_ref(member), name))
                    {
                        next.push((deeper(), member));
                    }
                }
            }
            // Lists deeper than the first belong to other members.
            if !lists.is_empty() && !has_lists {
                has_lists = true;
                if let Some(path) = choose_list(&lists) {
                    response.list = ListPath::Members(path);
                }
            }
            level = next;
        }
        for (path, name) in found {
            response.add_hint(&path, name);
        }
        response
    }

    fn add_hint(&mut self, path: &[&str], name: &str) {
        let is_around_list = matches!(&self.list, ListPath::Members(list) if list.len() > path.len() && list.iter().zip(path).all(|(one, other)| one == other));
        let container = match path.last() {
            Some(container) if !is_around_list => letters(container),
            _ => String::new(),
        };
        match hint_of(&container, &letters(name)) {
            Some(PagingHint::Next(kind)) => {
                self.next.push(kind);
                self.has_hints = true;
            }
            Some(PagingHint::CurrentPage | PagingHint::CurrentOffset) | None => {}
            Some(_) => self.has_hints = true,
        }
    }
}

/// Looks through null, references and an `allOf` of one part.
fn effective<'a>(document: &'a OpenApiDocument, schema: &'a Value) -> Option<&'a Value> {
    let mut found = present(document, schema)?;
    for _ in 0..MAX_HINT_DEPTH {
        match found
            .get("allOf")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
        {
            Some([only]) if found.get("type").is_none() => found = present(document, only)?,
            _ => break,
        }
    }
    Some(found)
}

/// The alternative that is not null, if there is exactly one.
fn present<'a>(document: &'a OpenApiDocument, schema: &'a Value) -> Option<&'a Value> {
    let schema = document.resolve(schema).ok()?;
    let alternatives = ["anyOf", "oneOf"]
        .iter()
        .flat_map(|keyword| items(schema, keyword));
    let mut some = alternatives.filter(|it| text(it, "type") != Some("null"));
    match (some.next(), some.next()) {
        (Some(only), None) => document.resolve(only).ok(),
        _ => Some(schema),
    }
}

fn is_list(schema: &Value) -> bool {
    let is_array = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        Some(kind) => kind == "array",
        None => false,
    };
    is_array || schema.get("items").is_some()
}
