//! The rules of the authorization server of these tests, without muxd: a rule that never rejects a request would
//! prove nothing about a client that obeys it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mux_tests::{
    Authority,
    authority::{Grants, Page, Rejection, Rules, browse, post, visit},
};
use serde_json::{Value, json};
use url::form_urlencoded::Serializer;

use super::values;

const REDIRECT: &str = "http://127.0.0.1:9/callback";
const VERIFIER: &str = "a-verifier-that-is-long-enough-for-the-rule-of-43";
/// The S256 challenge of the verifier.
const CHALLENGE: &str = "aTHcuf1dzpEf1zNTFBMtRAg5g90QcrIBm3OIExpj7a0";

/// A client that sends the given requests.
struct Peer {
    authority: Authority,
}

impl Peer {
    fn of(rules: Rules) -> Self {
        Self {
            authority: Authority::with_servers(rules, 2),
        }
    }

    /// Posts a body, and returns the JSON of the answer.
    fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Value {
        let page = post(&format!("{}{path}", self.authority.issuer()), headers, body);
        serde_json::from_str(&page.text).unwrap_or_else(|_| panic!("{page:?}"))
    }

    fn register(&self, members: Value) -> Result<(String, Option<String>), Value> {
        let mut wanted = json!({ "redirect_uris": [REDIRECT] });
        for (name, value) in members.as_object().unwrap() {
            wanted[name] = value.clone();
        }
        let kind = [("Content-Type", "application/json")];
        let answer = self.post("/register", &kind, &wanted.to_string());
        match answer["client_id"].as_str() {
            Some(id) => Ok((
                id.to_owned(),
                answer["client_secret"].as_str().map(str::to_owned),
            )),
            None => Err(answer),
        }
    }

    fn question(&self, id: &str, more: &[(&str, &str)]) -> String {
        let usual = [
            ("response_type", "code"),
            ("client_id", id),
            ("redirect_uri", REDIRECT),
            ("state", "s"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("resource", self.authority.url()),
        ];
        let query = Serializer::new(String::new())
            .extend_pairs(usual.iter().chain(more))
            .finish();
        format!("{}/authorize?{query}", self.authority.issuer())
    }

    fn ask(&self, id: &str, more: &[(&str, &str)]) -> Page {
        let url = self.question(id, more);
        visit("GET", &url)
    }

    /// The `error` of the redirect, or else the code.
    fn code(&self, id: &str, more: &[(&str, &str)]) -> Result<String, String> {
        let location = self.ask(id, more).location.unwrap();
        match values(&location, "code").pop() {
            Some(code) => Ok(code),
            None => Err(values(&location, "error").concat()),
        }
    }

    fn token(&self, fields: &[(&str, &str)], basic: Option<(&str, &str)>) -> Value {
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        let basic = basic.map(|(id, secret)| STANDARD.encode(format!("{id}:{secret}")));
        let basic = basic.map(|login| format!("Basic {login}"));
        let mut headers = vec![("Content-Type", "application/x-www-form-urlencoded")];
        headers.extend(basic.as_deref().map(|basic| ("Authorization", basic)));
        self.post("/token", &headers, &body)
    }

    fn exchange(&self, id: &str, code: &str) -> Value {
        let fields = self.fields_of(id, code);
        self.token(&fields, None)
    }

    fn fields_of<'a>(&'a self, id: &'a str, code: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![
            ("grant_type", "authorization_code"),
            ("client_id", id),
            ("code", code),
            ("code_verifier", VERIFIER),
            ("redirect_uri", REDIRECT),
            ("resource", self.authority.url()),
        ]
    }

    fn refresh(&self, id: &str, token: &Value, server: usize) -> Value {
        let fields = [
            ("grant_type", "refresh_token"),
            ("client_id", id),
            ("refresh_token", token["refresh_token"].as_str().unwrap()),
            ("resource", self.authority.url_of(server)),
        ];
        self.token(&fields, None)
    }
}

fn public() -> Value {
    json!({ "token_endpoint_auth_method": "none" })
}

#[test]
fn oauth_authority_rejects_unknown_prompts_by_redirect_or_page() {
    let rules = Rules {
        prompts: Some(vec!["consent"]),
        ..Rules::default()
    };
    let peer = Peer::of(rules);
    let (id, _) = peer.register(public()).unwrap();
    let of = |prompt: &str| peer.code(&id, &[("prompt", prompt)]);
    assert!(of("consent").is_ok());
    assert_eq!(of("select_account consent"), Err("invalid_request".into()));
    peer.authority
        .change(|rules| rules.rejection = Rejection::Page(400));
    let page = peer.ask(&id, &[("prompt", "none")]);
    assert_eq!((page.status, page.location), (400, None));
    assert!(page.text.contains("unsupported prompt"), "{}", page.text);
    peer.authority
        .change(|rules| rules.rejection = Rejection::ErrorPage);
    let page = browse(&peer.question(&id, &[("prompt", "none")])).1;
    assert!(page.text.contains("invalid_request"), "{page:?}");
    peer.authority.change(|rules| rules.prompts = None);
    assert!(of("none").is_ok());
}

#[test]
fn oauth_authority_rejects_scopes_beyond_a_registration() {
    let peer = Peer::of(Rules {
        scopes_bound: true,
        ..Rules::default()
    });
    let mut wanted = public();
    wanted["scope"] = "read write".into();
    let (id, _) = peer.register(wanted).unwrap();
    let of = |id: &str, scope: &str| peer.code(id, &[("scope", scope)]);
    assert!(of(&id, "read").is_ok());
    assert_eq!(of(&id, "read admin"), Err("invalid_scope".into()));
    let (free, _) = peer.register(public()).unwrap();
    assert!(of(&free, "admin").is_ok());
    peer.authority.change(|rules| rules.scopes_bound = false);
    assert!(of(&id, "admin").is_ok());
}

#[test]
fn oauth_authority_checks_the_method_of_a_client() {
    let peer = Peer::of(Rules {
        method_bound: true,
        client_secrets: true,
        ..Rules::default()
    });
    for own in ["none", "client_secret_basic", "client_secret_post"] {
        let wanted = json!({ "token_endpoint_auth_method": own });
        let (id, secret) = peer.register(wanted).unwrap();
        let secret = secret.unwrap();
        for used in ["none", "client_secret_basic", "client_secret_post"] {
            let code = peer.code(&id, &[]).unwrap();
            let mut fields = peer.fields_of(&id, &code);
            if used == "client_secret_post" {
                fields.push(("client_secret", &secret));
            }
            let basic = (used == "client_secret_basic").then_some((&*id, &*secret));
            let answer = peer.token(&fields, basic);
            if own == used {
                assert!(answer["access_token"].is_string(), "{own}: {answer}");
            } else {
                assert_eq!(answer["error"], "invalid_client", "{own}, {used}");
            }
        }
    }
    peer.authority
        .change(|rules| rules.auth_methods = vec!["client_secret_post"]);
    let refused = peer.register(public()).unwrap_err();
    assert_eq!(refused["error"], "invalid_client_metadata");
}

#[test]
fn oauth_authority_rotates_before_it_rejects_a_resource() {
    let peer = Peer::of(Rules {
        rotates_first: true,
        strict: true,
        ..Rules::default()
    });
    let (id, _) = peer.register(public()).unwrap();
    let code = peer.code(&id, &[]).unwrap();
    let token = peer.exchange(&id, &code);
    assert_eq!(peer.refresh(&id, &token, 1)["error"], "invalid_target");
    assert_eq!(peer.refresh(&id, &token, 0)["error"], "invalid_grant");
    assert_eq!(peer.authority.complaints().len(), 1);

    peer.authority.change(|rules| rules.rotates_first = false);
    let code = peer.code(&id, &[]).unwrap();
    let token = peer.exchange(&id, &code);
    assert_eq!(peer.refresh(&id, &token, 1)["error"], "invalid_target");
    let next = peer.refresh(&id, &token, 0);
    assert!(next["access_token"].is_string(), "{next}");
}

#[test]
fn oauth_authority_grants_the_servers_that_a_request_names() {
    for (grants, accepted, exchanged) in [
        (Grants::One, false, false),
        (Grants::First, true, false),
        (Grants::Named, true, true),
    ] {
        let peer = Peer::of(Rules {
            grants,
            ..Rules::default()
        });
        let (id, _) = peer.register(public()).unwrap();
        let second = peer.authority.url_of(1).to_owned();
        let code = peer.code(&id, &[("resource", &second)]);
        match code {
            Err(error) => assert!(!accepted && error == "invalid_target", "{grants:?} {error}"),
            Ok(code) => {
                assert!(accepted, "{grants:?}");
                let token = peer.exchange(&id, &code);
                let next = peer.refresh(&id, &token, 1);
                assert_eq!(next["access_token"].is_string(), exchanged, "{grants:?}");
            }
        }
    }
}

#[test]
fn oauth_authority_requires_consent_for_offline_access() {
    let peer = Peer::of(Rules {
        offline_consent: true,
        ..Rules::default()
    });
    let (id, _) = peer.register(public()).unwrap();
    for (scope, prompt, refreshable) in [
        ("read offline_access", "login consent", true),
        ("read offline_access", "login", false),
        ("read", "consent", false),
    ] {
        let more = [("scope", scope), ("prompt", prompt)];
        let code = peer.code(&id, &more).unwrap();
        let token = peer.exchange(&id, &code);
        assert_eq!(token["refresh_token"].is_string(), refreshable, "{token}");
    }
}

#[test]
fn oauth_authority_shows_a_page_to_a_client_that_it_has_forgotten() {
    let peer = Peer::of(Rules {
        unknown_client: 422,
        ..Rules::default()
    });
    let (id, _) = peer.register(public()).unwrap();
    peer.authority.forget_clients();
    let page = peer.ask(&id, &[]);
    assert_eq!((page.status, page.location), (422, None));
    assert_eq!(peer.authority.complaints(), Vec::<String>::new());
    // A client that the server never knew is an error.
    peer.ask("mine", &[]);
    assert_eq!(peer.authority.complaints().len(), 1);
}
