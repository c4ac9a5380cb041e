//! Extracts the reason for an error from a response body, in one sentence. Pure.
//!
//! The formats of RFC 9457, JSON:API, OAuth, Google, GitHub, Stripe, FastAPI and similar formats are known. Others give
//! no reason.

use serde_json::Value;

use mux_text::error_chain::excerpt;

/// The number of errors in a list that are named.
const MAX_LISTED_ERRORS: usize = 3;

/// The reason in the parsed body, or in the body's text if it is not JSON.
pub(super) fn reason(json: Option<&Value>, text: &str, is_page: bool) -> Option<String> {
    let said = match json {
        Some(body) => of_json(body)?,
        None if is_page => title(text)?.to_owned(),
        None => text.to_owned(),
    };
    let said = excerpt(&said);
    (!said.is_empty()).then_some(said)
}

fn of_json(body: &Value) -> Option<String> {
    match body {
        Value::String(text) => Some(text.clone()),
        Value::Array(errors) => listed(errors),
        Value::Object(members) => {
            let text = |name: &str| members.get(name)?.as_str().filter(|text| !text.is_empty());
            // RFC 9457: `title` is the kind of the problem, and `detail` is this occurrence.
            if let (Some(title), Some(detail)) = (text("title"), text("detail")) {
                return Some(joined(title, detail));
            }
            let own = [
                "message",
                "error_description",
                "error_message",
                "errorMessage",
            ]
            .iter()
            .find_map(|name| text(name));
            let listed = members.get("errors").and_then(|errors| match errors {
                Value::Array(errors) => listed(errors),
                // An object with field names as keys.
                Value::Object(fields) => {
                    let fields =
                        fields
                            .iter()
                            .take(MAX_LISTED_ERRORS)
                            .filter_map(|(field, errors)| {
                                Some(format!("{field}: {}", of_json(errors)?))
                            });
                    let fields: Vec<String> = fields.collect();
                    (!fields.is_empty()).then(|| fields.join("; "))
                }
                _ => None,
            });
            match (own, listed) {
                (Some(own), Some(listed)) => return Some(joined(own, &listed)),
                (Some(own), None) => return Some(own.to_owned()),
                (None, Some(listed)) => return Some(listed),
                (None, None) => {}
            }
            [
                "error",
                "detail",
                "fault",
                "reason",
                "msg",
                "title",
                "faultstring",
                "description",
            ]
            .iter()
            .find_map(|name| of_json(members.get(*name)?))
        }
        _ => None,
    }
}

fn listed(errors: &[Value]) -> Option<String> {
    let named: Vec<String> = errors
        .iter()
        .take(MAX_LISTED_ERRORS)
        .filter_map(one)
        .collect();
    let left = errors.len().saturating_sub(MAX_LISTED_ERRORS);
    match (named.is_empty(), left) {
        (true, _) => None,
        (false, 0) => Some(named.join("; ")),
        (false, left) => Some(format!("{}; and {left} more", named.join("; "))),
    }
}

/// One error of a list, with the field that it is about.
fn one(error: &Value) -> Option<String> {
    let said = of_json(error)?;
    let place = ["field", "loc", "path", "pointer", "location", "param"]
        .iter()
        .find_map(|name| match error.get(*name)? {
            Value::String(place) => Some(place.clone()),
            Value::Array(parts) => {
                let parts: Vec<String> = parts
                    .iter()
                    .map(|part| {
                        part.as_str()
                            .map_or_else(|| part.to_string(), str::to_owned)
                    })
                    .collect();
                Some(parts.join("."))
            }
            _ => None,
        });
    Some(match place.filter(|place| !said.contains(place.as_str())) {
        Some(place) => format!("{place}: {said}"),
        None => said,
    })
}

fn joined(first: &str, second: &str) -> String {
    if second.contains(first) {
        second.to_owned()
    } else {
        format!("{}: {second}", first.trim_end_matches(['.', ':']))
    }
}

/// The title of an HTML page.
fn title(page: &str) -> Option<&str> {
    // Lowercasing ASCII keeps the length.
    let small = page.to_ascii_lowercase();
    let start = small.find("<title")?;
    let start = start + small[start..].find('>')? + 1;
    let end = start + small[start..].find("</title")?;
    page.get(start..end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reason_is_found_in_common_error_formats() {
        for (body, expected) in [
            (
                json!({ "title": "Out of credit.", "detail": "30 < 50", "status": 403 }),
                Some("Out of credit: 30 < 50"),
            ),
            (
                json!({ "message": "Not Found", "documentation_url": "https://d" }),
                Some("Not Found"),
            ),
            (
                json!({ "message": "Validation Failed", "errors": [{ "resource": "Issue", "field": "title", "message": "is missing" }] }),
                Some("Validation Failed: title: is missing"),
            ),
            (
                json!({ "error": { "code": 404, "message": "no such thing" } }),
                Some("no such thing"),
            ),
            (
                json!({ "error": { "type": "card_error", "message": "declined", "param": "number" } }),
                Some("declined"),
            ),
            (
                json!({ "error": "invalid_grant", "error_description": "it is over" }),
                Some("it is over"),
            ),
            (json!({ "error": "unauthorized" }), Some("unauthorized")),
            (
                json!({ "errors": [{ "title": "Invalid", "detail": "too short" }, "second", { "message": "3" }, "4", "5"] }),
                Some("Invalid: too short; second; 3; and 2 more"),
            ),
            (
                json!({ "errors": { "name": ["is taken"], "age": "is odd" } }),
                Some("name: is taken; age: is odd"),
            ),
            (
                json!({ "detail": [{ "loc": ["body", 0, "id"], "msg": "field required" }] }),
                Some("body.0.id: field required"),
            ),
            (
                json!({ "fault": { "faultstring": "quota" } }),
                Some("quota"),
            ),
            (json!(["one", "two"]), Some("one; two")),
            (json!("plain"), Some("plain")),
            (json!({ "ok": false }), None),
            (json!(null), None),
            (json!({ "message": "" }), None),
        ] {
            assert_eq!(
                reason(Some(&body), "", false).as_deref(),
                expected,
                "{body}"
            );
        }
    }

    #[test]
    fn reason_of_a_page_is_its_title_and_of_a_text_its_beginning() {
        let page = "<HTML><head><title lang=en> 502 Bad\nGateway</TITLE></head>";
        assert_eq!(reason(None, page, true).as_deref(), Some("502 Bad Gateway"));
        assert_eq!(reason(None, "<p>x", true), None);
        assert_eq!(
            reason(None, " no \n way ", false).as_deref(),
            Some("no way")
        );
        assert_eq!(reason(None, "", false), None);
    }
}
