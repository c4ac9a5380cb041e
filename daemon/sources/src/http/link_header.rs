//! Parses the `Link` header (RFC 8288).
//!
//! Invariant: a header that cannot be parsed has no next page.

use reqwest::header::{HeaderMap, LINK};

/// The target of `rel="next"`.
pub(super) fn linked(headers: &HeaderMap) -> Option<String> {
    let values = headers
        .get_all(LINK)
        .iter()
        .filter_map(|value| value.to_str().ok());
    for value in values {
        let mut rest = value;
        while let Some((_, after)) = rest.split_once('<') {
            let (target, after) = after.split_once('>')?;
            // Parameters end where the next target begins.
            let starts = [",<", ", <"].iter().filter_map(|start| after.find(start));
            let end = starts.min().unwrap_or(after.len());
            let (parameters, next) = after.split_at(end);
            rest = next;
            let is_next = parameters.split(';').any(|parameter| {
                let Some((name, value)) = parameter.split_once('=') else {
                    return false;
                };
                let value = value.trim().trim_end_matches(',').trim_matches('"');
                name.trim().eq_ignore_ascii_case("rel")
                    && value
                        .split_whitespace()
                        .any(|rel| rel.eq_ignore_ascii_case("next"))
            });
            if is_next {
                return Some(target.to_owned());
            }
        }
    }
    None
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
            ("https://h/x; rel=next", None),
            (
                "<https://h/1>; rel=first, <https://h/2>; rel=next,<https://h/9>; rel=last",
                Some("https://h/2"),
            ),
        ] {
            let headers = HeaderMap::from_iter([(LINK, header.parse().unwrap())]);
            assert_eq!(linked(&headers).as_deref(), expected, "{header}");
        }
    }
}
