//! Decides how the next page of a list is requested.
//!
//! In this order: a response that says it is the last page ends the list; the next page that a response names is
//! requested; if responses named pages before, or the description declares that they do, a response that names none
//! ends the list; totals end it; finally the next page is counted, from the parameters of the request.
//!
//! Invariant: pure. An empty page ends a list that is counted.

use serde_json::Value;

use super::{
    ApiRequest,
    pagination::{CountingParameter, CursorParameter, PaginationPlan},
    paging_hints::{NextHint, PagingHints},
};

/// The number of empty pages in a row whose hints are followed: some APIs filter a page after they have read it.
const MAX_EMPTY_PAGES: usize = 5;

/// The next request of a list.
#[derive(Debug, PartialEq)]
pub(super) enum NextStep {
    To(NextTarget, NextReason),
    End,
    /// The response says that there are more pages, and nothing says how to request them.
    Unknown,
}

#[derive(Debug, PartialEq)]
pub(super) enum NextTarget {
    Url(String),
    /// Name and value, encoded.
    Query(String, String),
    /// A member of the JSON body.
    Body(String, String),
}

/// Why a page is requested.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NextReason {
    /// A response named it.
    Named,
    /// It was counted, and a response says that there are more pages.
    Promised,
    /// It was counted, and may not exist.
    Guessed,
}

/// The pages of a list that were read.
#[derive(Debug)]
pub(super) struct PagePosition {
    pages: u64,
    items: u64,
    /// The number of items on the last page.
    count: u64,
    empty_pages: usize,
    /// The last page was named by the response before it.
    was_named: bool,
    /// The list is read from its first item.
    from_start: bool,
    /// The number of the last page that was requested by its number.
    page: Option<u64>,
    offset: Option<u64>,
    /// The last page may be the first one again, because the number of the first page is not known.
    is_probe: bool,
}

impl PagePosition {
    /// The position before the first page.
    pub(super) fn first(plan: &PaginationPlan, request: &ApiRequest) -> Self {
        let sent = |name: &str| {
            let pair = request.query.iter().find(|(known, _)| known == name);
            pair.map(|(_, value)| value.parse::<u64>().ok())
        };
        let counting = |parameter: &Option<CountingParameter>| {
            parameter.as_ref().and_then(|it| sent(&it.name))
        };
        let (page, offset) = (counting(&plan.page), counting(&plan.offset));
        let has_cursor = match &plan.cursor {
            Some(CursorParameter::Query(name)) => sent(name).is_some(),
            // The member may be in the body.
            Some(CursorParameter::Body(_)) => true,
            None => false,
        };
        let has_after = plan.after.as_ref().is_some_and(|name| sent(name).is_some());
        Self {
            pages: 0,
            items: 0,
            count: 0,
            empty_pages: 0,
            was_named: false,
            from_start: page.is_none() && offset.is_none() && !has_cursor && !has_after,
            page: page.flatten(),
            offset: offset.flatten(),
            is_probe: false,
        }
    }

    /// Counts a page that was read.
    pub(super) fn advance(&mut self, count: u64, reason: NextReason) {
        self.was_named = self.pages > 0 && reason == NextReason::Named;
        self.pages += 1;
        self.items += count;
        self.count = count;
        self.empty_pages = if count == 0 { self.empty_pages + 1 } else { 0 };
        self.is_probe = false;
    }

    pub(super) fn is_probe(&self) -> bool {
        self.is_probe
    }

    /// Continues after the page that turned out to be the first one again.
    pub(super) fn skip_probe(&mut self) {
        self.is_probe = false;
    }

    /// Decides on the next request after a page with these hints.
    pub(super) fn next(
        &mut self,
        plan: &PaginationPlan,
        request: &ApiRequest,
        hints: &PagingHints,
        last_item: Option<&Value>,
    ) -> NextStep {
        if hints.more == Some(false) {
            return NextStep::End;
        }
        let named = hints.next.iter().find_map(|hint| self.target(plan, hint));
        if let Some(target) = named {
            let is_counted = self.count_named(plan, &target);
            return match self.count {
                0 if is_counted || self.empty_pages >= MAX_EMPTY_PAGES => NextStep::End,
                _ => NextStep::To(target, NextReason::Named),
            };
        }
        if hints.next.iter().any(|hint| self.is_behind(plan, hint)) {
            return NextStep::End;
        }
        // A name for the next page that no parameter takes still says that there is one.
        let more = hints.more == Some(true) || !hints.next.is_empty();
        if !more && (hints.has_empty_next || self.was_named || plan.declares_next) {
            return NextStep::End;
        }
        if self.count == 0 || self.has_all_pages(plan, hints) || self.has_all_items(hints) {
            return NextStep::End;
        }
        let reason = if more || self.lacks_items(hints) {
            NextReason::Promised
        } else {
            NextReason::Guessed
        };
        match self.counted(plan, request, hints, last_item) {
            Some(target) => NextStep::To(target, reason),
            None if more => NextStep::Unknown,
            None => NextStep::End,
        }
    }

    /// The request that a hint stands for; `None` if no parameter takes it.
    fn target(&self, plan: &PaginationPlan, hint: &NextHint) -> Option<NextTarget> {
        let cursor = |value: &str| {
            Some(match plan.cursor.as_ref()? {
                CursorParameter::Query(name) => NextTarget::Query(name.clone(), encoded(value)),
                CursorParameter::Body(name) => NextTarget::Body(name.clone(), value.to_owned()),
            })
        };
        let counting = |parameter: &Option<CountingParameter>, number: u64| {
            let name = parameter.as_ref()?.name.clone();
            Some(NextTarget::Query(name, number.to_string()))
        };
        let page = |number| counting(&plan.page, number).filter(|_| !self.is_behind(plan, hint));
        let offset =
            |number| counting(&plan.offset, number).filter(|_| !self.is_behind(plan, hint));
        match hint {
            NextHint::Url(url) => Some(NextTarget::Url(url.clone())),
            NextHint::Cursor(value) => cursor(value),
            NextHint::Text(text) => {
                let is_absolute = text.starts_with("http://") || text.starts_with("https://");
                let is_relative = text.starts_with(['/', '?']);
                match is_absolute || is_relative && (text.contains('?') || plan.cursor.is_none()) {
                    true => Some(NextTarget::Url(text.clone())),
                    false => cursor(text),
                }
            }
            NextHint::Page(number) => page(*number),
            NextHint::Offset(number) => offset(*number),
            NextHint::Number(number) => page(*number)
                .or_else(|| offset(*number))
                .or_else(|| cursor(&number.to_string())),
        }
    }

    /// Whether a hint names a page that was already read, as some APIs do at the end: `next_page: 0`.
    fn is_behind(&self, plan: &PaginationPlan, hint: &NextHint) -> bool {
        let is_behind_page = |number: u64| self.page.is_some_and(|page| number <= page);
        let is_behind_offset = |number: u64| self.offset.is_some_and(|offset| number <= offset);
        match hint {
            NextHint::Page(number) => number == &0 || is_behind_page(*number),
            NextHint::Offset(number) => number == &0 || is_behind_offset(*number),
            NextHint::Number(0) => plan.cursor.is_none(),
            NextHint::Number(number) if plan.page.is_some() => is_behind_page(*number),
            NextHint::Number(number) if plan.offset.is_some() => is_behind_offset(*number),
            _ => false,
        }
    }

    /// Remembers the number that a response named; `false` if it named none.
    fn count_named(&mut self, plan: &PaginationPlan, target: &NextTarget) -> bool {
        let NextTarget::Query(name, value) = target else {
            return false;
        };
        let is = |parameter: &Option<CountingParameter>| {
            parameter.as_ref().is_some_and(|it| it.name == *name)
        };
        if is(&plan.page) {
            self.page = value.parse().ok();
        } else if is(&plan.offset) {
            self.offset = value.parse().ok();
        } else {
            return false;
        }
        true
    }

    fn has_all_pages(&self, plan: &PaginationPlan, hints: &PagingHints) -> bool {
        let Some(total) = hints.total_pages else {
            return false;
        };
        let is_zero_based = plan.page.as_ref().is_some_and(|page| page.first == Some(0));
        if self.from_start {
            return self.pages >= total;
        }
        self.page
            .is_some_and(|page| page + u64::from(is_zero_based) >= total)
    }

    /// Some APIs report the number of items on the page as the total, so only a larger total counts.
    fn has_all_items(&self, hints: &PagingHints) -> bool {
        hints
            .total_items
            .is_some_and(|total| total > self.count && self.from_start && self.items >= total)
    }

    /// Whether the totals say that there are more pages.
    fn lacks_items(&self, hints: &PagingHints) -> bool {
        let pages = hints.total_pages.is_some_and(|total| self.pages < total);
        let items = hints.total_items.is_some_and(|total| self.items < total);
        self.from_start && (pages || items)
    }

    /// Counts the next page.
    fn counted(
        &mut self,
        plan: &PaginationPlan,
        request: &ApiRequest,
        hints: &PagingHints,
        last_item: Option<&Value>,
    ) -> Option<NextTarget> {
        if let Some(after) = &plan.after {
            let id = match last_item?.get("id")? {
                Value::String(id) => encoded(id),
                Value::Number(id) => id.to_string(),
                _ => return None,
            };
            return Some(NextTarget::Query(after.clone(), id));
        }
        if let Some(page) = &plan.page {
            let next = match self.page {
                Some(current) => current + 1,
                None => self.second_page(page.first, hints),
            };
            self.page = Some(next);
            return Some(NextTarget::Query(page.name.clone(), next.to_string()));
        }
        let offset = plan.offset.as_ref()?;
        let is_sent = request.query.iter().any(|(name, _)| *name == offset.name);
        let current = match self.offset {
            Some(current) => current,
            // It is not a number.
            None if is_sent => return None,
            None => first_number(hints.current_offset)
                .or(offset.first)
                .unwrap_or(0),
        };
        let next = current + self.count;
        self.offset = Some(next);
        Some(NextTarget::Query(offset.name.clone(), next.to_string()))
    }

    /// The number of the page after the first one, which was requested without a number.
    fn second_page(&mut self, first: Option<u64>, hints: &PagingHints) -> u64 {
        let first = first_number(hints.current_page).or(first).unwrap_or(0);
        // Page 1 is the second one or, if pages count from 1 in spite of what is said, the first one again.
        self.is_probe = first == 0;
        first + 1
    }
}

/// The number that a response gives its first page or item, if it can be one.
fn first_number(said: Option<u64>) -> Option<u64> {
    said.filter(|number| *number <= 1)
}

/// Encodes a value for a query.
fn encoded(text: &str) -> String {
    let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    encoded.replace('+', "%20")
}
