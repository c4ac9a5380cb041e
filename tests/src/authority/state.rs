//! The clients, codes and tokens that the authorization server knows.

use std::{collections::HashMap, fs, path::PathBuf};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::rules::Rules;

pub(super) struct State {
    pub(super) rules: Rules,
    pub(super) clients: HashMap<String, Client>,
    pub(super) codes: HashMap<String, Code>,
    /// By access token.
    pub(super) tokens: HashMap<String, Token>,
    pub(super) happened: Vec<String>,
    pub(super) complaints: Vec<String>,
    pub(super) secrets: Vec<String>,
    /// The requests for a registration.
    pub(super) registrations: Vec<Value>,
    /// The clients that were forgotten, by their ids.
    pub(super) forgotten: HashMap<String, Client>,
    /// The values that the client itself has sent to the authorization endpoint: the `state` and the challenge.
    pub(super) looked: Vec<String>,
    pub(super) watched: Option<PathBuf>,
    last: u64,
}

#[derive(Clone)]
pub(super) struct Client {
    pub(super) secret: Option<String>,
    pub(super) redirect: String,
    /// How it authenticates.
    pub(super) method: String,
    /// The scopes of its registration. `None` allows any.
    pub(super) scopes: Option<Vec<String>>,
}

#[derive(Clone)]
pub(super) struct Code {
    pub(super) client: String,
    pub(super) redirect: String,
    pub(super) challenge: String,
    pub(super) scopes: Vec<String>,
    /// True if the code was issued to the client itself, not to a browser.
    pub(super) looks: bool,
    pub(super) holder: GrantHolder,
}

/// Whose token it is, and the MCP servers that it is for.
#[derive(Clone)]
pub(super) struct GrantHolder {
    pub(super) user: Option<&'static str>,
    pub(super) audience: String,
    /// The audiences that its refresh token is good for.
    pub(super) resources: Vec<String>,
    /// True if there is a refresh token.
    pub(super) refreshable: bool,
}

#[derive(Clone)]
pub(super) struct Token {
    pub(super) client: String,
    pub(super) refresh: String,
    pub(super) scopes: Vec<String>,
    pub(super) holder: GrantHolder,
    /// The number of the login that all its tokens share.
    family: u64,
    /// The refresh token that this one replaced.
    before: Option<String>,
    expired: bool,
    /// True if the refresh token was exchanged. The token stays valid until its successor is used.
    pub(super) replaced: bool,
    revoked: bool,
    used: bool,
}

impl State {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules,
            clients: HashMap::new(),
            codes: HashMap::new(),
            tokens: HashMap::new(),
            happened: Vec::new(),
            complaints: Vec::new(),
            secrets: Vec::new(),
            registrations: Vec::new(),
            forgotten: HashMap::new(),
            looked: Vec::new(),
            watched: None,
            last: 0,
        }
    }

    /// Makes a unique text that must not leak.
    pub(super) fn secret(&mut self, what: &str) -> String {
        self.last += 1;
        let text = format!("canary-{what}-{}-{}", std::process::id(), self.last);
        self.secrets.push(text.clone());
        text
    }

    pub(super) fn happened(&mut self, what: &str) {
        self.happened.push(what.to_owned());
    }

    pub(super) fn complain(&mut self, what: impl Into<String>) {
        self.complaints.push(what.into());
    }

    pub(super) fn preregister(&mut self, id: &str, secret: Option<&str>, redirect: &str) {
        let secret = secret.map(str::to_owned);
        self.secrets.extend(secret.clone());
        let method = match (self.rules.method_given, &secret) {
            (Some(method), _) => method,
            (None, Some(_)) => "client_secret_basic",
            (None, None) => "none",
        };
        let client = Client {
            secret,
            redirect: redirect.to_owned(),
            method: method.to_owned(),
            scopes: None,
        };
        self.clients.insert(id.to_owned(), client);
    }

    pub(super) fn forget_clients(&mut self) {
        self.forgotten.extend(self.clients.drain());
    }

    pub(super) fn expire(&mut self) {
        for token in self.tokens.values_mut() {
            token.expired = true;
        }
    }

    /// Issues the first tokens of a login, or the tokens that replace `before`.
    pub(super) fn issue(
        &mut self,
        client: &str,
        scopes: Vec<String>,
        holder: GrantHolder,
        before: Option<&Token>,
    ) -> (String, Token) {
        let access = if self.rules.audiences {
            let claims = json!({ "aud": holder.audience, "sub": holder.user });
            web_token(&claims, &self.secret("access"))
        } else {
            self.secret("access")
        };
        let refresh = self.secret("refresh");
        self.last += 1;
        let token = Token {
            client: client.to_owned(),
            refresh,
            scopes,
            holder,
            family: before.map_or(self.last, |before| before.family),
            before: before.map(|before| before.refresh.clone()),
            expired: false,
            replaced: false,
            revoked: false,
            used: false,
        };
        self.tokens.insert(access.clone(), token.clone());
        (access, token)
    }

    /// The secrets that a client still has: its own, and those of its latest tokens.
    pub(super) fn secrets_of(&self, id: &str, client: Option<&Client>) -> Vec<String> {
        let own = client.and_then(|client| client.secret.clone());
        let is_latest = |token: &&Token| token.client == id && !token.replaced && !token.revoked;
        let tokens = self.tokens.iter().filter(|(_, token)| is_latest(token));
        let tokens = tokens.flat_map(|(access, token)| [access.clone(), token.refresh.clone()]);
        own.into_iter().chain(tokens).collect()
    }

    /// The token that a valid refresh token belongs to. Reuse after its successor was used is taken for theft, and ends
    /// the whole login.
    pub(super) fn by_refresh(&mut self, refresh: &str) -> Option<Token> {
        let token = self
            .tokens
            .values()
            .find(|t| t.refresh == refresh)
            .cloned()?;
        if token.revoked {
            return None;
        }
        let stolen = token.replaced
            && (self.rules.strict
                || self
                    .tokens
                    .values()
                    .any(|next| next.before.as_deref() == Some(refresh) && next.used));
        if stolen {
            self.complain("a refresh token was used twice");
            self.revoke_family(token.family);
            return None;
        }
        Some(token)
    }

    pub(super) fn replace(&mut self, refresh: &str) {
        for token in self.tokens.values_mut().filter(|t| t.refresh == refresh) {
            token.replaced = true;
        }
    }

    pub(super) fn revoke(&mut self, text: &str) {
        let found = self
            .tokens
            .iter()
            .find(|(access, token)| access.as_str() == text || token.refresh == text);
        if let Some(family) = found.map(|(_, token)| token.family) {
            self.revoke_family(family);
        }
    }

    fn revoke_family(&mut self, family: u64) {
        for token in self.tokens.values_mut().filter(|t| t.family == family) {
            token.revoked = true;
        }
    }

    /// The valid token with this access token, at the MCP server that got it.
    pub(super) fn admit(&mut self, access: &str, resource: &str) -> Option<Token> {
        let watched = self.watched.clone();
        let token = self.tokens.get_mut(access)?;
        if token.expired || token.revoked {
            return None;
        }
        let first = !token.used;
        token.used = true;
        let token = token.clone();
        if token.holder.audience != resource {
            self.complain(format!(
                "a token for {} came to {resource}",
                token.holder.audience
            ));
            return None;
        }
        let is_watched = first && token.holder.refreshable;
        if let Some(file) = watched.filter(|_| is_watched) {
            let text = fs::read_to_string(file).unwrap_or_default();
            if !text.contains(&token.refresh) {
                self.complain("a token was used before what came with it was on the disk");
            }
        }
        Some(token)
    }
}

/// A JSON web token with this signature.
pub(super) fn web_token(claims: &Value, signature: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    format!(
        "{}.{}.{signature}",
        part("{\"alg\":\"none\"}"),
        part(&claims.to_string())
    )
}

/// The PKCE S256 challenge of a verifier.
pub(super) fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}
