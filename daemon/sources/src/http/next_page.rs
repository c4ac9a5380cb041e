//! Decides how the next page of a list is requested.
//!
//! In this order, the first rule that applies decides. A response that says that it is the last page ends the list. The
//! next page that a response names is requested. If earlier responses named pages, or the description declares that
//! they do, a response that names none ends the list. Totals end it. Finally the next page is counted, from the
//! parameters of the request.
//!
//! Invariant: pure. A list is ended silently only if no response says that there is more.

use serde_json::Value;

use super::{
    ApiRequest,
    pagination::{CountingParameter, CursorParameter, PaginationPlan},
    paging_hints::{NextHint, PagingHints},
};

/// The number of empty pages in a row that are followed: some APIs filter a page after reading it.
const MAX_EMPTY_PAGES: usize = 10;

/// The next request of a list.
#[derive(Debug, PartialEq)]
pub(super) enum NextStep {
    To(NextTarget, NextReason),
    End,
    /// The response says that there are more pages, which are not requested for this reason.
    Stuck(&'static str),
}

#[derive(Debug, PartialEq)]
pub(super) enum NextTarget {
    Url(String),
    /// Name and value, encoded.
    Query(String, String),
    /// A member of the JSON body.
    Body(String, Value),
}

/// The reason a page is requested.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NextReason {
    /// A response named the page.
    Named,
    /// The page was counted, and a response says that there are more pages.
    Promised,
    /// The page was counted, and may not exist.
    Guessed,
}

/// The pages of a list that have been read.
#[derive(Debug)]
pub(super) struct PagePosition {
    pages: u64,
    items: u64,
    /// The number of items on the last page.
    count: u64,
    empty_pages: usize,
    /// Set if the previous response named the last page.
    was_named: bool,
    /// Set if the list is read from its first item.
    from_start: bool,
    page: CountedNumber,
    offset: CountedNumber,
    /// Set if the last page may be the first page again, because the number of the first page is not known.
    is_probe: bool,
}

/// The number that was sent in a counting parameter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum CountedNumber {
    /// The caller omitted the parameter.
    Absent,
    Known(u64),
    /// The caller sent a value that cannot be counted.
    Opaque,
}

impl CountedNumber {
    fn sent(request: &ApiRequest, parameter: Option<&CountingParameter>) -> Self {
        let value = parameter.and_then(|it| sent(request, &it.name));
        match value.map(str::parse) {
            None => Self::Absent,
            Some(Ok(number)) => Self::Known(number),
            Some(Err(_)) => Self::Opaque,
        }
    }

    fn is_at_least(self, number: u64) -> bool {
        matches!(self, Self::Known(known) if known >= number)
    }

    /// Returns true if the caller asks for the first page or item.
    fn is_first(self, parameter: Option<&CountingParameter>) -> bool {
        match self {
            Self::Absent => true,
            Self::Known(number) => parameter.and_then(|it| it.first) == Some(number),
            Self::Opaque => false,
        }
    }
}

impl PagePosition {
    /// The position before the first page.
    pub(super) fn before(plan: &PaginationPlan, request: &ApiRequest) -> Self {
        let page = CountedNumber::sent(request, plan.page.as_ref());
        let offset = CountedNumber::sent(request, plan.offset.as_ref());
        let has_cursor = match &plan.cursor {
            Some(CursorParameter::Query(name)) => sent(request, name).is_some(),
            // The member may be in the body.
            Some(CursorParameter::Body(_)) => true,
            None => false,
        };
        let after = plan.after.as_ref();
        let has_after = after.is_some_and(|name| sent(request, name).is_some());
        Self {
            pages: 0,
            items: 0,
            count: 0,
            empty_pages: 0,
            was_named: false,
            from_start: !has_cursor
                && !has_after
                && page.is_first(plan.page.as_ref())
                && offset.is_first(plan.offset.as_ref()),
            page,
            offset,
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

    /// Continues after a page that turned out to be the first page again.
    pub(super) fn skip_probe(&mut self) {
        self.is_probe = false;
    }

    /// Decides on the next request after a page with these hints.
    pub(super) fn next(
        &mut self,
        plan: &PaginationPlan,
        hints: &PagingHints,
        last_item: Option<&Value>,
    ) -> NextStep {
        if hints.more == Some(false) {
            return NextStep::End;
        }
        let says_more = hints.more == Some(true);
        let named = hints.next.iter().find_map(|hint| self.target(plan, hint));
        if let Some(target) = named {
            let is_numbered = self.count_named(plan, &target);
            if self.count == 0 && is_numbered && !says_more {
                // Some APIs name the number after every page.
                return NextStep::End;
            }
            return self.unless_empty(NextStep::To(target, NextReason::Named));
        }
        if hints.next.iter().any(|hint| self.is_behind(plan, hint)) {
            return NextStep::End;
        }
        // A name for the next page that no parameter accepts still means that there is a next page.
        let says_more = says_more || !hints.next.is_empty();
        let lacks_pages = self.from_start && hints.total_pages.is_some_and(|it| self.pages < it);
        let ends = hints.has_empty_next || self.was_named || (plan.declares_next && !lacks_pages);
        if !says_more && ends {
            return NextStep::End;
        }
        if !says_more && (self.count == 0 || self.has_all_pages(hints) || self.has_all_items(hints))
        {
            return NextStep::End;
        }
        // The numbers of pages that a response named are not known.
        let target = if self.was_named {
            None
        } else {
            self.counted(plan, hints, last_item)
        };
        let lacks_items = self.from_start && hints.total_items.is_some_and(|it| self.items < it);
        match target {
            Some(target) if says_more || lacks_pages || lacks_items => {
                self.unless_empty(NextStep::To(target, NextReason::Promised))
            }
            Some(target) => NextStep::To(target, NextReason::Guessed),
            None if says_more || lacks_pages => NextStep::Stuck(
                "the response says that there are more pages, but not how to request them",
            ),
            None => NextStep::End,
        }
    }

    fn unless_empty(&self, step: NextStep) -> NextStep {
        if self.empty_pages >= MAX_EMPTY_PAGES {
            return NextStep::Stuck("too many pages in a row are empty");
        }
        step
    }

    /// The request for which a hint stands. `None` if no parameter accepts it, or if it names a page that was already
    /// read.
    fn target(&self, plan: &PaginationPlan, hint: &NextHint) -> Option<NextTarget> {
        if self.is_behind(plan, hint) {
            return None;
        }
        let cursor = |value: Value| {
            Some(match plan.cursor.as_ref()? {
                CursorParameter::Query(name) => {
                    let text = value.as_str().map_or_else(|| value.to_string(), encoded);
                    NextTarget::Query(name.clone(), text)
                }
                CursorParameter::Body(name) => NextTarget::Body(name.clone(), value),
            })
        };
        let counting = |parameter: &Option<CountingParameter>, number: u64| {
            let name = parameter.as_ref()?.name.clone();
            Some(NextTarget::Query(name, number.to_string()))
        };
        match hint {
            NextHint::Url(url) => Some(NextTarget::Url(url.clone())),
            NextHint::Cursor(value) => cursor(value.clone()),
            NextHint::Text(text) => {
                let is_absolute = text.starts_with("http://") || text.starts_with("https://");
                let is_relative = text.starts_with(['/', '?']);
                if is_absolute || (is_relative && (text.contains('?') || plan.cursor.is_none())) {
                    Some(NextTarget::Url(text.clone()))
                } else {
                    cursor(text.as_str().into())
                }
            }
            NextHint::Page(number) => counting(&plan.page, *number),
            NextHint::Offset(number) => counting(&plan.offset, *number),
            NextHint::Number(number) => counting(&plan.page, *number)
                .or_else(|| counting(&plan.offset, *number))
                .or_else(|| cursor((*number).into())),
        }
    }

    /// Returns true if a hint names a page that was already read, as some APIs do at the end.
    fn is_behind(&self, plan: &PaginationPlan, hint: &NextHint) -> bool {
        match hint {
            NextHint::Page(number) => self.page.is_at_least(*number),
            NextHint::Offset(number) => self.offset.is_at_least(*number),
            NextHint::Number(number) if plan.page.is_some() => self.page.is_at_least(*number),
            NextHint::Number(number) if plan.offset.is_some() => self.offset.is_at_least(*number),
            _ => false,
        }
    }

    /// Remembers the number that a response named. Returns `false` if it named none.
    fn count_named(&mut self, plan: &PaginationPlan, target: &NextTarget) -> bool {
        let NextTarget::Query(name, value) = target else {
            return false;
        };
        let Ok(number) = value.parse() else {
            return false;
        };
        let is = |parameter: &Option<CountingParameter>| {
            parameter.as_ref().is_some_and(|it| it.name == *name)
        };
        if is(&plan.page) {
            self.page = CountedNumber::Known(number);
        } else if is(&plan.offset) {
            self.offset = CountedNumber::Known(number);
        } else {
            return false;
        }
        true
    }

    fn has_all_pages(&self, hints: &PagingHints) -> bool {
        let Some(total) = hints.total_pages else {
            return false;
        };
        if self.from_start {
            self.pages >= total
        } else {
            // If pages count from 0, one page is requested too many, and is empty.
            self.page.is_at_least(total)
        }
    }

    /// Some APIs report the number of items on the page as the total, so only a larger total counts.
    fn has_all_items(&self, hints: &PagingHints) -> bool {
        hints
            .total_items
            .is_some_and(|total| total > self.count && self.from_start && self.items >= total)
    }

    /// Counts the next page.
    fn counted(
        &mut self,
        plan: &PaginationPlan,
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
        if let Some(parameter) = &plan.page {
            let next = match self.page {
                CountedNumber::Absent => self.second_page(parameter.first, hints),
                CountedNumber::Known(page) => page.checked_add(1)?,
                CountedNumber::Opaque => return None,
            };
            self.page = CountedNumber::Known(next);
            return Some(NextTarget::Query(parameter.name.clone(), next.to_string()));
        }
        let parameter = plan.offset.as_ref()?;
        let offset = match self.offset {
            CountedNumber::Absent => {
                let first = parameter.first.or(first_number(hints.current_offset));
                first.unwrap_or(0)
            }
            CountedNumber::Known(offset) => offset,
            CountedNumber::Opaque => return None,
        };
        let next = offset.checked_add(self.count)?;
        self.offset = CountedNumber::Known(next);
        Some(NextTarget::Query(parameter.name.clone(), next.to_string()))
    }

    /// The number of the page after the first page, which was requested without a number.
    fn second_page(&mut self, described: Option<u64>, hints: &PagingHints) -> u64 {
        let shown = first_number(hints.current_page);
        // If both are known and differ, one of them counts differently from the parameter.
        let first = match (described, shown) {
            (Some(described), Some(shown)) => described.min(shown),
            (described, shown) => described.or(shown).unwrap_or(0),
        };
        // Page 1 is the second page or, if pages count from 1 despite the description, the first page again.
        self.is_probe = first == 0;
        first + 1
    }
}

/// The value of a query parameter.
fn sent<'a>(request: &'a ApiRequest, name: &str) -> Option<&'a str> {
    let pair = request.query.iter().find(|(known, _)| known == name);
    pair.map(|(_, value)| value.as_str())
}

/// The number that a response gives its first page or item, if it can be a first number.
fn first_number(shown: Option<u64>) -> Option<u64> {
    shown.filter(|number| *number <= 1)
}

/// Encodes a value for a query.
fn encoded(text: &str) -> String {
    let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    encoded.replace('+', "%20")
}
