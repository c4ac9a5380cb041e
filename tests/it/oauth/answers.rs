//! Answers that differ from the specifications, each from a public report or a stack in use. One daemon signs in to
//! a server for each row.

use futures::{StreamExt as _, stream};
use mux_client::{Session, within_seconds};
use mux_proto::{CallRequest, Error, Held, Kind};
use mux_tests::{
    Authority, TestEnv,
    authority::{Form, Oddity, Rules},
};

use serde_json::json;

use super::{PATIENCE, begin_at, client, follow, outcome, refusals::PARSER_WORDS};

type Change = fn(&mut Rules);

/// How many rows are tried at the same time.
const AT_ONCE: usize = 8;

/// Invalid members that have no other effect: the endpoint, and the replaced members of its answer.
const HARMLESS: &[(&str, &str)] = &[
    ("resource", r#"{"scopes_supported": null}"#),
    ("resource", r#"{"scopes_supported": "read write"}"#),
    ("resource", r#"{"scopes_supported": ["read", null, 7]}"#),
    ("resource", r#"{"-scopes_supported": 0}"#),
    ("resource", r#"{"authorization_servers": ["{issuer}/"]}"#),
    (
        "resource",
        r#"{"authorization_servers": ["{issuer}", null]}"#,
    ),
    (
        "resource",
        r#"{"authorization_servers": [null, "{issuer}"]}"#,
    ),
    (
        "resource",
        r#"{"bearer_methods_supported": null, "jwks_uri": null, "resource_name": 7}"#,
    ),
    (
        "resource",
        r#"{"bearer_methods_supported": "header", "resource_documentation": ""}"#,
    ),
    ("metadata", r#"{"scopes_supported": null}"#),
    ("metadata", r#"{"scopes_supported": "read write"}"#),
    ("metadata", r#"{"-scopes_supported": 0}"#),
    ("metadata", r#"{"response_types_supported": null}"#),
    ("metadata", r#"{"-response_types_supported": 0}"#),
    ("metadata", r#"{"response_types_supported": "code"}"#),
    ("metadata", r#"{"grant_types_supported": null}"#),
    (
        "metadata",
        r#"{"grant_types_supported": "authorization_code"}"#,
    ),
    ("metadata", r#"{"-grant_types_supported": 0}"#),
    (
        "metadata",
        r#"{"token_endpoint_auth_methods_supported": null}"#,
    ),
    (
        "metadata",
        r#"{"-token_endpoint_auth_methods_supported": 0}"#,
    ),
    (
        "metadata",
        r#"{"code_challenge_methods_supported": ["plain", null, "S256"]}"#,
    ),
    (
        "metadata",
        r#"{"introspection_endpoint": null, "jwks_uri": null, "service_documentation": null}"#,
    ),
    ("metadata", r#"{"revocation_endpoint": null}"#),
    (
        "metadata",
        r#"{"revocation_endpoint": 7, "userinfo_endpoint": false}"#,
    ),
    ("metadata", r#"{"userinfo_endpoint": null}"#),
    ("metadata", r#"{"prompt_values_supported": null}"#),
    ("metadata", r#"{"prompt_values_supported": "consent"}"#),
    (
        "metadata",
        r#"{"client_id_metadata_document_supported": null}"#,
    ),
    (
        "metadata",
        r#"{"authorization_response_iss_parameter_supported": "true"}"#,
    ),
    (
        "metadata",
        r#"{"ui_locales_supported": "en", "mtls_endpoint_aliases": []}"#,
    ),
    ("register", r#"{"client_secret_expires_at": "0"}"#),
    ("register", r#"{"client_secret_expires_at": null}"#),
    (
        "register",
        r#"{"client_secret_expires_at": "never", "client_id_issued_at": "now"}"#,
    ),
    ("register", r#"{"client_id_issued_at": 1764000000.25}"#),
    (
        "register",
        r#"{"client_id_issued_at": "2026-11-27T10:00:00Z"}"#,
    ),
    (
        "register",
        r#"{"redirect_uris": ["http://127.0.0.1/callback"]}"#,
    ),
    (
        "register",
        r#"{"redirect_uris": "http://127.0.0.1/callback"}"#,
    ),
    ("register", r#"{"redirect_uris": null}"#),
    ("register", r#"{"-redirect_uris": 0}"#),
    (
        "register",
        r#"{"grant_types": null, "response_types": null, "contacts": null, "logo_uri": ""}"#,
    ),
    (
        "register",
        r#"{"grant_types": "authorization_code", "client_name": null}"#,
    ),
    ("register", r#"{"client_secret": null}"#),
    (
        "register",
        r#"{"client_secret": "", "token_endpoint_auth_method": "none"}"#,
    ),
    ("register", r#"{"client_secret": ""}"#),
    ("register", r#"{"token_endpoint_auth_method": null}"#),
    ("register", r#"{"scope": null}"#),
    ("register", r#"{"scope": ["read"]}"#),
    (
        "register",
        r#"{"registration_client_uri": null, "registration_access_token": null}"#,
    ),
    ("token", r#"{"expires_in": "3600"}"#),
    ("token", r#"{"expires_in": 3600.0}"#),
    ("token", r#"{"expires_in": 3599.75}"#),
    ("token", r#"{"expires_in": "3600.0"}"#),
    ("token", r#"{"expires_in": null}"#),
    ("token", r#"{"expires_in": "soon"}"#),
    ("token", r#"{"expires_in": 1e300}"#),
    ("token", r#"{"expires_in": [3600]}"#),
    ("token", r#"{"token_type": "bearer"}"#),
    ("token", r#"{"token_type": "BEARER"}"#),
    ("token", r#"{"token_type": null}"#),
    ("token", r#"{"token_type": ""}"#),
    ("token", r#"{"-token_type": 0}"#),
    ("token", r#"{"scope": null}"#),
    ("token", r#"{"scope": ""}"#),
    ("token", r#"{"scope": ["read"]}"#),
    ("token", r#"{"scope": "read,write"}"#),
    ("token", r#"{"-scope": 0}"#),
    ("token", r#"{"id_token": null}"#),
    ("token", r#"{"id_token": 7}"#),
    ("token", r#"{"id_token": "no.web.token"}"#),
    ("token", r#"{"error": null, "error_description": null}"#),
    ("token", r#"{"error": ""}"#),
    (
        "token",
        r#"{"refresh_token_expires_in": "7", "created_at": 1764000000}"#,
    ),
    ("refresh", r#"{"-refresh_token": 0}"#),
    ("refresh", r#"{"refresh_token": null}"#),
    ("refresh", r#"{"refresh_token": ""}"#),
    (
        "refresh",
        r#"{"-token_type": 0, "expires_in": "3600", "scope": null}"#,
    ),
];

/// Forms of answers that are still read.
const FORMS: &[(&str, Form)] = &[
    ("resource", Form::Marked),
    ("resource", Form::Plain),
    ("metadata", Form::Marked),
    ("metadata", Form::Plain),
    ("register", Form::Marked),
    ("register", Form::Plain),
    ("token", Form::Marked),
    ("token", Form::Plain),
    ("token", Form::Fields),
    ("refresh", Form::Fields),
];

/// Ways in which servers name their authorization server.
const WAYS: &[(&str, Change)] = &[
    ("401 without a header", |rules| {
        rules.challenges = Some(vec![]);
    }),
    ("a challenge without parameters", |rules| {
        rules.challenges = Some(vec!["Bearer"]);
    }),
    ("the scheme in lower case", |rules| {
        rules.challenges = Some(vec![
            "bearer resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\", scope=\"read\"",
        ]);
    }),
    ("unquoted parameters", |rules| {
        rules.resource_metadata_at = "/meta";
        rules.challenges = Some(vec![
            "Bearer error=invalid_token, resource_metadata={origin}/meta, scope=read",
        ]);
    }),
    ("no blank after commas", |rules| {
        rules.resource_metadata_at = "/meta";
        rules.challenges = Some(vec![
            "Bearer realm=\"a\",resource_metadata=\"{origin}/meta\",scope=\"read\"",
        ]);
    }),
    ("commas and quotes in a realm", |rules| {
        rules.resource_metadata_at = "/meta";
        rules.challenges = Some(vec![
            r#"Bearer realm="a, scope=\"no\"", resource_metadata="{origin}/meta", scope="read""#,
        ]);
    }),
    ("several challenges in one header", |rules| {
        rules.resource_metadata_at = "/meta";
        rules.challenges = Some(vec![
            "Basic realm=\"staff\", Bearer resource_metadata=\"{origin}/meta\", scope=\"read\"",
        ]);
    }),
    ("a challenge after the right one", |rules| {
        rules.resource_metadata_at = "/meta";
        rules.challenges = Some(vec![
            "Bearer resource_metadata=\"{origin}/meta\", scope=\"read\", DPoP algs=\"ES256\"",
        ]);
    }),
    ("two headers", |rules| {
        rules.resource_metadata_at = "/meta";
        rules.challenges = Some(vec![
            "Negotiate",
            "Bearer resource_metadata=\"{origin}/meta\", scope=\"read\"",
        ]);
    }),
    ("two headers of Bearer", |rules| {
        rules.resource_metadata_at = "/meta";
        rules.challenges = Some(vec![
            "Bearer realm=\"a\"",
            "Bearer resource_metadata=\"{origin}/meta\", scope=\"read\"",
        ]);
    }),
    ("a wrong address in the challenge", |rules| {
        rules.challenges = Some(vec![
            "Bearer resource_metadata=\"{origin}/nowhere\", scope=\"read\"",
        ]);
    }),
    ("only below the path", |rules| rules.points = false),
    ("only at the root", |rules| {
        rules.resource_metadata_at = "/.well-known/oauth-protected-resource";
        rules.points = false;
    }),
    ("at an address of its own", |rules| {
        rules.resource_metadata_at = "/meta/mcp.json";
    }),
    ("OAuth metadata of a tenant", |rules| {
        rules.tenant = "/t1";
        rules.metadata_at = Some("/.well-known/oauth-authorization-server/t1");
    }),
    ("OpenID metadata of a tenant", |rules| {
        rules.tenant = "/t1";
        rules.metadata_at = Some("/.well-known/openid-configuration/t1");
    }),
    ("OpenID metadata below a tenant", |rules| {
        rules.tenant = "/t1/v2.0";
        rules.metadata_at = Some("/t1/v2.0/.well-known/openid-configuration");
    }),
    ("a tenant with a final slash", |rules| {
        rules.tenant = "/t1/";
        rules.metadata_at = Some("/t1/.well-known/openid-configuration");
    }),
    ("OpenID metadata", |rules| rules.openid = true),
    ("no authorization server is named", |rules| {
        rules.fronted = true;
        rules.oddities = vec![Oddity::members(
            "resource",
            "{\"-authorization_servers\": 0}",
        )];
    }),
    ("an empty list of authorization servers", |rules| {
        rules.fronted = true;
        rules.oddities = vec![Oddity::members(
            "resource",
            "{\"authorization_servers\": []}",
        )];
    }),
    ("no metadata of the resource", |rules| {
        rules.fronted = true;
        rules.points = false;
        rules.resource_metadata_at = "";
    }),
    ("registration is answered with 200", |rules| {
        rules.oddities = vec![Oddity {
            status: Some(200),
            ..Oddity::members("register", "{}")
        }];
    }),
    ("a token is answered with 201", |rules| {
        rules.oddities = vec![Oddity {
            status: Some(201),
            ..Oddity::members("token", "{}")
        }];
    }),
    ("a refresh token without rotation, later", |rules| {
        rules.oddities = vec![Oddity::members(
            "refresh",
            "{\"-refresh_token\": 0, \"-scope\": 0}",
        )];
    }),
];

/// Answers without a token, and the required error.
const FAILURES: &[(&str, &str, &str)] = &[
    (
        "token",
        r#"{"-access_token": 0, "error": "bad_verification_code", "error_description": "The code passed is incorrect or expired."}"#,
        "incorrect or expired",
    ),
    (
        "token",
        r#"{"-access_token": 0, "error": "server_error"}"#,
        "server_error",
    ),
    ("token", r#"{"token_type": "mac"}"#, "bearer"),
    ("token", r#"{"token_type": "DPoP"}"#, "bearer"),
    ("token", r#"{"-access_token": 0}"#, "token"),
    ("token", r#"{"access_token": null}"#, "token"),
    ("token", r#"{"access_token": ""}"#, "token"),
    ("token", r#"{"access_token": 7}"#, "token"),
    (
        "register",
        r#"{"-client_id": 0, "error": "invalid_client_metadata", "error_description": "only partners"}"#,
        "only partners",
    ),
    ("register", r#"{"client_id": null}"#, "regist"),
    ("register", r#"{"client_id": ""}"#, "regist"),
];

/// Web pages instead of answers: the endpoint, the status, and the required error.
const PAGES: &[(&str, u16, &str)] = &[
    ("token", 200, "token"),
    ("token", 400, "400"),
    ("token", 502, "502"),
    ("register", 403, "403"),
    ("register", 500, "500"),
    ("metadata", 503, "503"),
];

struct Row {
    name: String,
    case: String,
    authority: Authority,
}

fn rows<'a>(all: impl IntoIterator<Item = (String, Box<dyn Fn(&mut Rules) + 'a>)>) -> Vec<Row> {
    let all = all.into_iter().enumerate();
    all.map(|(at, (case, change))| {
        let authority = Authority::default();
        authority.change(|rules| change(rules));
        Row {
            name: format!("row{at}"),
            case,
            authority,
        }
    })
    .collect()
}

/// A home with the servers of all rows.
fn home_of(rows: &[Row]) -> TestEnv {
    let entries = rows.iter().map(|row| row.authority.server(&row.name, ""));
    TestEnv::with_config(&entries.collect::<String>())
}

/// Signs in at the server of a row. Returns why it failed.
async fn sign_in(session: &Session, row: &Row) -> Result<(), String> {
    let started = begin_at(session, &row.name).await;
    let started = started.map_err(|error| error.to_string())?;
    follow(&started.url).await;
    match outcome(session, &started.login).await {
        Ok(state) if state.tools == Some(3) => Ok(()),
        Ok(state) => Err(format!("{state:?}")),
        Err(error) => Err(error.to_string()),
    }
}

async fn call(session: &Session, row: &Row) -> Result<Held, Error> {
    let request = CallRequest {
        path: format!("{}.echo", row.name),
        arguments: json!({ "text": "hello" }).into(),
        ..CallRequest::default()
    };
    let called = session.client.call(within_seconds(PATIENCE), request);
    called.await.unwrap().map(|answer| answer.result)
}

/// Signs in, calls, and refreshes.
async fn uses(session: &Session, row: &Row) -> Result<(), String> {
    sign_in(session, row).await?;
    row.authority.expire();
    match call(session, row).await {
        Ok(held) if held == Held::Value(json!("hello").into()) => {}
        other => return Err(format!("{other:?}")),
    }
    let complaints = row.authority.complaints();
    if complaints.is_empty() {
        Ok(())
    } else {
        Err(format!("{complaints:?}"))
    }
}

/// Tries every row, a few at a time. Names all rows that fail.
#[track_caller]
fn every<F>(rows: &[Row], each: impl Fn(Session, usize) -> F)
where
    F: Future<Output = Result<(), String>>,
{
    let env = home_of(rows);
    let failed: Vec<String> = super::runtime().block_on(async {
        let session = client(&env).await;
        let tried = (0..rows.len()).map(|at| {
            let outcome = each(session.clone(), at);
            async move {
                let error = outcome.await.err()?;
                Some(format!("{}: {error}", rows[at].case))
            }
        });
        let failed = stream::iter(tried).buffered(AT_ONCE);
        failed.filter_map(std::future::ready).collect().await
    });
    let count = (failed.len(), rows.len());
    assert!(failed.is_empty(), "{count:?}:\n{}", failed.join("\n"));
}

fn all_work(rows: &[Row]) {
    every(rows, async |session, at| uses(&session, &rows[at]).await);
}

#[test]
fn oauth_odd_members_cost_nothing_but_themselves() {
    let changed = HARMLESS.iter().map(|&(endpoint, members)| {
        let change = move |rules: &mut Rules| {
            rules.oddities = vec![Oddity::members(endpoint, members)];
            if endpoint == "register" && members.contains("\"client_secret_expires_at") {
                rules.client_secrets = true;
            }
        };
        (format!("{endpoint} {members}"), Box::new(change) as _)
    });
    all_work(&rows(changed));
}

#[test]
fn oauth_answers_are_read_in_every_form() {
    let changed = FORMS.iter().map(|&(endpoint, form)| {
        let change = move |rules: &mut Rules| rules.oddities = vec![Oddity::form(endpoint, form)];
        (format!("{endpoint} {form:?}"), Box::new(change) as _)
    });
    all_work(&rows(changed));
}

#[test]
fn oauth_authorization_server_is_found_however_the_server_names_it() {
    let changed = WAYS
        .iter()
        .map(|&(way, change)| (way.to_owned(), Box::new(change) as _));
    let rows = rows(changed);
    all_work(&rows);
    // A call that was refused has learned the challenge already.
    every(&rows, async |session, at| {
        let row = &rows[at];
        match call(&session, row).await {
            Err(error) if error.kind == Kind::AuthRequired => uses(&session, row).await,
            other => Err(format!("{other:?}")),
        }
    });
}

#[test]
fn oauth_answers_without_a_token_are_errors_in_the_issuers_words() {
    let members = FAILURES.iter().map(|&(endpoint, members, part)| {
        let odd = Oddity::members(endpoint, members);
        (format!("{endpoint} {members}"), odd, part)
    });
    let pages = PAGES.iter().map(|&(endpoint, status, part)| {
        let page = "<!doctype html><title>Gateway</title><p>Please sign in.</p>";
        let odd = Oddity::page(endpoint, status, page);
        (format!("{endpoint} page {status}"), odd, part)
    });
    let cases: Vec<_> = members.chain(pages).collect();
    let changed = cases.iter().map(|(case, odd, _)| {
        let change = move |rules: &mut Rules| rules.oddities = vec![odd.clone()];
        (case.clone(), Box::new(change) as _)
    });
    let rows = rows(changed);
    every(&rows, async |session, at| {
        let row = &rows[at];
        let part = cases[at].2;
        let Err(error) = sign_in(&session, row).await else {
            return Err("signed in".into());
        };
        let has_parser_words = PARSER_WORDS.iter().any(|word| error.contains(word));
        if !error.contains(part) || has_parser_words {
            return Err(error);
        }
        match call(&session, row).await {
            Err(error) if error.kind == Kind::AuthRequired => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
}

/// Answers to a refresh without a token, and whether they end the login.
const FAILED_REFRESHES: &[(&str, u16, bool)] = &[
    (
        r#"{"-access_token": 0, "error": "invalid_grant", "error_description": "revoked by its owner"}"#,
        400,
        true,
    ),
    (
        r#"{"-access_token": 0, "error": "invalid_grant", "error_description": "revoked by its owner"}"#,
        200,
        true,
    ),
    (
        r#"{"-access_token": 0, "error": "temporarily_unavailable", "error_description": "revoked by its owner"}"#,
        503,
        false,
    ),
    (
        r#"{"-access_token": 0, "error": "temporarily_unavailable", "error_description": "revoked by its owner"}"#,
        200,
        false,
    ),
];

#[test]
fn oauth_refresh_that_fails_ends_the_login_only_if_the_issuer_says_so() {
    let changed = FAILED_REFRESHES.iter().map(|&(members, status, _)| {
        let change = move |rules: &mut Rules| {
            rules.oddities = vec![Oddity {
                status: Some(status),
                ..Oddity::members("refresh", members)
            }];
        };
        (format!("{status} {members}"), Box::new(change) as _)
    });
    let rows = rows(changed);
    every(&rows, async |session, at| {
        let row = &rows[at];
        let ended = FAILED_REFRESHES[at].2;
        sign_in(&session, row).await?;
        row.authority.expire();
        let kind = if ended {
            Kind::AuthRequired
        } else {
            Kind::Unavailable
        };
        match call(&session, row).await {
            Err(error) if error.kind == kind && error.message.contains("revoked by its owner") => {}
            other => return Err(format!("{other:?}")),
        }
        row.authority.change(|rules| rules.oddities.clear());
        match call(&session, row).await {
            later if later.is_ok() != ended => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
}
