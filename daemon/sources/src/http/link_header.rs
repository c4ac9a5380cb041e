//! Parses the `Link` header (RFC 8288).
//!
//! Invariant: a header that cannot be parsed has no next page.

use reqwest::header::{HeaderMap, LINK};

/// The links of a response to other pages of its list.
#[derive(Debug, Default)]
pub(super) struct PageLinks {
    pub(super) next: Option<String>,
    /// Set if there is a link to the first, previous or last page.
    pub(super) has_other: bool,
}

impl PageLinks {
    pub(super) fn read(headers: &HeaderMap) -> Self {
        let mut links = Self::default();
        let values = headers.get_all(LINK).iter();
        for value in values.filter_map(|value| value.to_str().ok()) {
            links.read_value(value);
        }
        links
    }

    fn read_value(&mut self, value: &str) {
        let mut rest = value;
        while let Some((_, after)) = rest.split_once('<') {
            let Some((target, after)) = after.split_once('>') else {
                return;
            };
            // Parameters end where the next target begins.
            let starts = [",<", ", <"].iter().filter_map(|start| after.find(start));
            let end = starts.min().unwrap_or(after.len());
            let (parameters, next) = after.split_at(end);
            rest = next;
            for relation in relations(parameters) {
                match relation.to_ascii_lowercase().as_str() {
                    "next" if self.next.is_none() => self.next = Some(target.to_owned()),
                    "first" | "prev" | "previous" | "last" => self.has_other = true,
                    _ => {}
                }
            }
        }
    }
}

/// The relation types in the parameters of a link.
fn relations(parameters: &str) -> impl Iterator<Item = &str> {
    let parameters = parameters.split(';').filter_map(|it| it.split_once('='));
    let values = parameters
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("rel"))
        .map(|(_, value)| value.trim().trim_end_matches(',').trim_matches('"'));
    values.flat_map(str::split_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_page_is_found_in_the_link_header() {
        for (header, expected) in [
            (
                "<https://h/x?page=2>; rel=\"next\", <https://h/x?page=9>; rel=\"last\"",
                Some("https://h/x?page=2"),
            ),
            (
                "</x?page=1>; rel=prev,</x?page=3>; title=\"a\"; rel=next",
                Some("/x?page=3"),
            ),
            (
                "<https://h/a,b?c=<d>; REL=\"last next\"",
                Some("https://h/a,b?c=<d"),
            ),
            ("<https://h/x>; rel=\"nextish\"", None),
            ("<https://h/x", None),
            ("https://h/x; rel=next", None),
            (
                "<https://h/1>; rel=first, <https://h/2>; rel=next,<https://h/9>; rel=last",
                Some("https://h/2"),
            ),
        ] {
            let headers = HeaderMap::from_iter([(LINK, header.parse().unwrap())]);
            let links = PageLinks::read(&headers);
            assert_eq!(links.next.as_deref(), expected, "{header}");
        }
    }
}
