//! Detects whether an operation returns a list in pages, and how the next page is requested.
//!
//! Descriptions do not say so; the names of parameters and members in most APIs do. An operation that is not recognized
//! is called without paging.
//!
//! Invariant: only a GET whose result has one list is paged.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    object_members::members_of,
    openapi_document::{OpenApiDocument, items, members, text},
    operation_responses::SuccessResponses,
    parameter_style::{AllowedCharacters, ParameterLocation, encoded},
    parameters::DescribedParameter,
};
use crate::http::{PageSize, PaginationPlan, PaginationStyle};

/// Names of the member that holds the list.
const LIST_MEMBER_NAMES: [&str; 9] = [
    "data", "items", "results", "values", "value", "records", "entries", "list", "objects",
];
const PAGE_PARAMETER_NAMES: [&str; 4] = ["page", "pagenumber", "pageno", "pageindex"];
const OFFSET_PARAMETER_NAMES: [&str; 5] = ["offset", "skip", "start", "startat", "pageoffset"];
const PAGE_SIZE_PARAMETER_NAMES: [&str; 9] = [
    "perpage",
    "pagesize",
    "limit",
    "pagelimit",
    "maxresults",
    "size",
    "count",
    "top",
    "max",
];
const CURSOR_PARAMETER_NAMES: [&str; 11] = [
    "cursor",
    "pagetoken",
    "nexttoken",
    "nextpagetoken",
    "continuationtoken",
    "pagecursor",
    "after",
    "marker",
    "continue",
    "nextcursor",
    "offset",
];
/// Members that lead to the next page: letters and digits in lowercase; `a.b` is the member `b` in `a`.
const CURSOR_MEMBER_NAMES: [&str; 14] = [
    "nextcursor",
    "nextpagetoken",
    "nexttoken",
    "nextmarker",
    "nextcontinuationtoken",
    "continuationtoken",
    "nextpagecursor",
    "endcursor",
    "metadata.continue",
    "nextpage.offset",
    "cursors.after",
    "next.after",
    "next.cursor",
    "cursor.next",
];
/// The nesting of members that are searched.
const MAX_MEMBER_DEPTH: usize = 3;

pub(super) fn read(
    document: &OpenApiDocument,
    parameters: &[DescribedParameter],
    answers: &SuccessResponses,
) -> Option<PaginationPlan> {
    let schema = answers.schema.as_ref()?;
    let list = list(document, schema)?;
    let query: Vec<&DescribedParameter> = parameters
        .iter()
        .filter(|it| it.parameter.place == ParameterLocation::Query)
        .collect();
    let sent = |it: &DescribedParameter| encoded(&it.parameter.name, AllowedCharacters::Unreserved);
    let named = |names: &[&str]| {
        let mut found = query.iter().filter_map(|it| {
            let letters = letters(&it.parameter.name);
            let rank = names.iter().position(|name| *name == letters)?;
            Some((rank, *it))
        });
        let first = found.next()?;
        Some(
            found
                .fold(first, |best, it| if it.0 < best.0 { it } else { best })
                .1,
        )
    };
    let counts = |it: &DescribedParameter| {
        let schema = document.resolve(&it.schema).unwrap_or(&Value::Null);
        text(schema, "type") != Some("string")
    };
    let size = || {
        named(&PAGE_SIZE_PARAMETER_NAMES).map(|it| PageSize {
            parameter: sent(it),
            default: number(document, &it.schema, "default"),
        })
    };
    let after = query
        .iter()
        .find(|it| letters(&it.parameter.name) == "startingafter");
    let page = named(&PAGE_PARAMETER_NAMES).filter(|it| counts(it));
    let by = if let Some(after) = after {
        PaginationStyle::After {
            parameter: sent(after),
            id: "id".into(),
            more: lead(document, schema, &["hasmore"]),
        }
    } else if answers.links {
        PaginationStyle::Link
    } else if let (Some(cursor), Some(field)) = (
        named(&CURSOR_PARAMETER_NAMES),
        lead(document, schema, &CURSOR_MEMBER_NAMES),
    ) {
        PaginationStyle::Cursor {
            parameter: sent(cursor),
            field,
        }
    } else if let Some(page) = page {
        PaginationStyle::Page {
            parameter: sent(page),
            first: number(document, &page.schema, "default")
                .or_else(|| number(document, &page.schema, "minimum"))
                .map_or(1, |first| first.min(1)),
            size: size(),
        }
    } else {
        let offset = named(&OFFSET_PARAMETER_NAMES).filter(|it| counts(it))?;
        PaginationStyle::Offset {
            parameter: sent(offset),
            size: size(),
        }
    };
    Some(PaginationPlan { by, items: list })
}

/// Normalizes a name: `per_page` and `perPage` become `perpage`, `page[number]` becomes `pagenumber`.
fn letters(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

fn number(document: &OpenApiDocument, schema: &Value, member: &str) -> Option<u64> {
    let own = schema.get(member);
    let found = own.or_else(|| document.resolve(schema).ok()?.get(member));
    found?.as_u64()
}

/// The path of members to the list.
fn list(document: &OpenApiDocument, schema: &Value) -> Option<Vec<String>> {
    let schema = present(document, schema)?;
    if is_list(schema) {
        return Some(Vec::new());
    }
    let properties = members_of(document, schema)?;
    let lists: Vec<&str> = properties
        .iter()
        .filter(|(_, member)| document.resolve(member).is_ok_and(is_list))
        .map(|(name, _)| name)
        .collect();
    let usual = LIST_MEMBER_NAMES
        .iter()
        .find(|usual| lists.contains(*usual));
    match (usual, lists.as_slice()) {
        (Some(usual), _) => Some(vec![(*usual).to_owned()]),
        (None, [only]) => Some(vec![(*only).to_owned()]),
        _ => None,
    }
}

/// The alternative that is not null, if there is exactly one.
fn present<'a>(document: &'a OpenApiDocument, schema: &'a Value) -> Option<&'a Value> {
    let schema = document.resolve(schema).ok()?;
    let mut some = items(schema, "anyOf").filter(|it| text(it, "type") != Some("null"));
    match (some.next(), some.next()) {
        (Some(only), None) => document.resolve(only).ok(),
        _ => Some(schema),
    }
}

fn is_list(schema: &Value) -> bool {
    text(schema, "type") == Some("array") || schema.get("items").is_some()
}

/// The path to the member with one of these names, the outermost first. A schema is searched once under each name:
/// further in, it would be the same.
fn lead(document: &OpenApiDocument, schema: &Value, names: &[&str]) -> Option<Vec<String>> {
    let mut level: Vec<(Vec<&str>, &Value)> = vec![(Vec::new(), present(document, schema)?)];
    let mut known = HashSet::new();
    for depth in 1..=MAX_MEMBER_DEPTH {
        let mut next = Vec::new();
        for (path, schema) in &level {
            let Some(properties) = members_of(document, schema) else {
                continue;
            };
            let before = path.last().map(|name| letters(name));
            let before = before.unwrap_or_default();
            for (name, member) in properties.iter() {
                let own = letters(name);
                let both = format!("{before}.{own}");
                let deeper = || [path.as_slice(), &[name]].concat();
                if names.iter().any(|it| *it == own || *it == both) {
                    return Some(deeper().into_iter().map(str::to_owned).collect());
                }
                let Ok(holds) = document.resolve(member) else {
                    continue;
                };
                if depth < MAX_MEMBER_DEPTH
                    && !is_list(holds)
                    && members(holds, "properties").next().is_some()
                    && known.insert((std::ptr::from_ref(holds), own))
                {
                    next.push((deeper(), holds));
                }
            }
        }
        level = next;
    }
    None
}
