//! Answers that differ from the usual ones, as public reports describe them.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use url::form_urlencoded;

/// How the answer of one endpoint differs.
#[derive(Clone, Debug)]
pub struct Oddity {
    /// `resource`, `metadata`, `register`, `token`, `refresh` or `userinfo`.
    pub endpoint: &'static str,
    /// A JSON object whose members replace those of the usual answer. `-name` removes the member `name`. `{url}` and
    /// `{origin}` are those of the MCP server, `{issuer}` is the URL of the authorization server.
    pub members: &'static str,
    pub form: Form,
    /// The status, if not the usual one.
    pub status: Option<u16>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    Json,
    /// A byte order mark before the JSON.
    Marked,
    /// The JSON as `text/plain`.
    Plain,
    /// Fields of a form.
    Fields,
    /// A web page with this text.
    Page(&'static str),
}

/// The URLs that placeholders stand for.
pub(super) struct Places<'a> {
    pub(super) url: &'a str,
    pub(super) issuer: &'a str,
}

impl Oddity {
    /// The usual answer with these members.
    pub fn members(endpoint: &'static str, members: &'static str) -> Self {
        Self {
            endpoint,
            members,
            form: Form::Json,
            status: None,
        }
    }

    /// The usual answer in another form.
    pub fn form(endpoint: &'static str, form: Form) -> Self {
        Self {
            form,
            ..Self::members(endpoint, "{}")
        }
    }

    /// A web page with this status.
    pub fn page(endpoint: &'static str, status: u16, text: &'static str) -> Self {
        Self {
            status: Some(status),
            ..Self::form(endpoint, Form::Page(text))
        }
    }
}

/// Writes an answer as the oddity of its endpoint wants it.
pub(super) fn written(
    odd: Option<&Oddity>,
    status: StatusCode,
    mut answer: Value,
    places: &Places<'_>,
) -> Response {
    let Some(odd) = odd else {
        return json(status, &answer.to_string());
    };
    let status = odd.status.map_or(status, status_of);
    let members: Value = serde_json::from_str(&places.filled(odd.members)).unwrap();
    for (name, value) in members.as_object().unwrap() {
        let fields = answer.as_object_mut().unwrap();
        match name.strip_prefix('-') {
            Some(removed) => drop(fields.remove(removed)),
            None => drop(fields.insert(name.clone(), value.clone())),
        }
    }
    match odd.form {
        Form::Json => json(status, &answer.to_string()),
        Form::Marked => json(status, &format!("\u{feff}{answer}")),
        Form::Plain => (status, answer.to_string()).into_response(),
        Form::Fields => {
            let mut fields = form_urlencoded::Serializer::new(String::new());
            for (name, value) in answer.as_object().unwrap() {
                let text = value.as_str().map_or_else(|| value.to_string(), Into::into);
                fields.append_pair(name, &text);
            }
            let kind = [(header::CONTENT_TYPE, "application/x-www-form-urlencoded")];
            (status, kind, fields.finish()).into_response()
        }
        Form::Page(text) => {
            let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
            (status, kind, text).into_response()
        }
    }
}

pub(super) fn status_of(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap()
}

fn json(status: StatusCode, text: &str) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (status, kind, text.to_owned()).into_response()
}

impl Places<'_> {
    /// The text with URLs instead of placeholders.
    pub(super) fn filled(&self, text: &str) -> String {
        text.replace("{url}", self.url)
            .replace("{origin}", self.origin())
            .replace("{issuer}", self.issuer)
    }

    pub(super) fn origin(&self) -> &str {
        self.url.trim_end_matches("/mcp")
    }
}
