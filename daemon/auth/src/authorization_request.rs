//! Creates the authorization request for the user: the client, scopes, prompts and resources that the issuer accepts.
//!
//! A request that the issuer refuses is changed in one way at a time, and each change is made once: without a prompt, for
//! this server alone, or with a new registration. Invariant: the user's own client goes only to its issuer, and the
//! redirect is for this request and from this issuer.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use mux_http::{
    address_policy::PartyNetwork,
    issuer_words::{IssuerError, one_line_excerpt},
    token_endpoint::{ClientAuthMethod, ClientCredentials},
};
use mux_secrets::Secret;
use mux_settings::OauthSettings;
use sha2::{Digest as _, Sha256};
use tracing::debug;
use url::Url;

use super::{
    account::{Account, LoginCredentials},
    auth_server_client::AuthServerClient,
    authorization_page,
    client_registration::{self, RegisteredClient},
    discovery::{DiscoveredIssuer, discover},
    error::AuthError,
    identity,
    issuer_bindings::is_same_issuer,
    login_record::{LoginRecord, LoginSecrets, is_same_resource, union},
    token_endpoint::TokenRequestError,
};

/// How long the browser may take before the page is checked. Most users take longer, and an error page keeps them.
const LOOK_DELAY: Duration = Duration::from_secs(5);

/// An authorization request that waits for its response.
pub(super) struct AuthorizationRequest {
    client: AuthServerClient,
    pub(super) url: Url,
    /// The `state` parameter, which the response must contain.
    pub(super) state: Secret,
    /// The PKCE code verifier.
    verifier: Secret,
    record: LoginRecord,
    credentials: ClientCredentials,
    /// Set if the client is from the entry, and its secret is not stored.
    is_own_client: bool,
    /// Set if the issuer has accepted the request.
    is_accepted: bool,
    hidden: Vec<Secret>,
    scopes: Vec<String>,
    sends_issuer: bool,
    userinfo_endpoint: Option<String>,
    /// Remarks for the user about the request.
    pub(super) notes: Vec<String>,
}

/// A request that the issuer may refuse.
struct Draft<'a> {
    found: &'a DiscoveredIssuer,
    account: &'a Account,
    redirect: &'a str,
    scopes: Vec<String>,
    client: ClientOfRequest,
    /// The scopes that neither the server nor the entry asks for.
    additional: Vec<String>,
    prompts: Vec<&'static str>,
    /// The secrets that the issuer may repeat in a refusal.
    hidden: Vec<Secret>,
    /// The resource of this server, and the resources of other servers that may share the sign-in.
    resources: Vec<String>,
    /// The reason the resources of other servers were dropped.
    refused_resources: Option<String>,
    notes: Vec<String>,
}

enum ClientOfRequest {
    /// A client that the user registered.
    Own(ClientCredentials),
    Registered {
        client: RegisteredClient,
        /// True for the registration of an earlier login.
        is_reused: bool,
    },
}

/// Finds the authorization server, registers a client if necessary, and creates the request. `others` are the accounts of
/// servers that may share the sign-in.
pub(super) async fn create_request(
    account: &Account,
    options: &OauthSettings,
    redirect: &str,
    others: &[Arc<Account>],
) -> Result<AuthorizationRequest, AuthError> {
    let found = discover(account).await?;
    check_issuer(account, options, &found.issuer).await?;
    let before = account.login().await;
    let before = before.filter(|login| login.record.issuer == found.issuer);
    let before = before.as_deref();
    let additional = if options.scopes.is_empty() {
        additional_scopes(options, &found)
    } else {
        Vec::new()
    };
    let scopes = select_scopes(options, &found, before, &additional);
    let mut hidden: Vec<Secret> = options.client_secret.iter().cloned().collect();
    if let Some(before) = before {
        let LoginSecrets {
            access,
            refresh,
            client,
        } = &before.secrets;
        hidden.extend([access, refresh, client].into_iter().flatten().cloned());
    }
    let mut notes = Vec::new();
    let client = select_client(
        account, options, &found, redirect, &scopes, before, &mut notes,
    )
    .await?;
    let mut resources = vec![found.resource.clone()];
    resources.extend(account.resources_to_share(&found, others).await);
    let mut draft = Draft {
        prompts: select_prompts(account, &found, &scopes),
        found: &found,
        account,
        redirect,
        scopes,
        additional,
        hidden,
        client,
        resources,
        refused_resources: None,
        notes,
    };
    let state = Secret::new(random_text());
    let verifier = Secret::new(random_text());
    // A changed request is checked again.
    let may_be_refused = draft.may_be_refused();
    loop {
        let url = draft.url(&state, &verifier)?;
        if !may_be_refused {
            return Ok(draft.into_request(url, state, verifier));
        }
        let client = &found.client;
        match authorization_page::find_refusal(client, &url, redirect, &draft.hidden).await {
            Ok(Some(refusal)) => draft.adapt_to(refusal).await?,
            Ok(None) => {
                if let Some(why) = &draft.refused_resources {
                    account.remember_unshareable(&found.issuer, why).await;
                }
                let request = draft.into_request(url, state, verifier);
                return Ok(AuthorizationRequest {
                    is_accepted: true,
                    ..request
                });
            }
            // The browser may reach pages that the daemon does not.
            Err(why) => {
                draft
                    .notes
                    .push(format!("the sign-in page could not be checked: {why}"));
                return Ok(draft.into_request(url, state, verifier));
            }
        }
    }
}

impl Draft<'_> {
    fn url(&self, state: &Secret, verifier: &Secret) -> Result<Url, AuthError> {
        let mut url = Url::parse(&self.found.metadata.authorization_endpoint)
            .map_err(|_| AuthError::Unfit("its authorization endpoint is not a URL".into()))?;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose()));
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client.credentials().id)
            .append_pair("redirect_uri", self.redirect)
            .append_pair("state", state.expose())
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        let scopes = self.requested_scopes();
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.join(" "));
        }
        for resource in &self.resources {
            query.append_pair("resource", resource);
        }
        if !self.prompts.is_empty() {
            query.append_pair("prompt", &self.prompts.join(" "));
        }
        let account = self.account.key.account.as_ref();
        if let Some(address) = account.filter(|account| account.contains('@')) {
            query.append_pair("login_hint", address);
        }
        drop(query);
        Ok(url)
    }

    /// Returns true if a part of the request is known to be refused by some issuers. Other requests are checked only if
    /// the browser does not come back soon.
    fn may_be_refused(&self) -> bool {
        // Some issuers list a prompt that they refuse.
        let is_refused_by_some = |prompt: &&str| *prompt == SELECT_ACCOUNT;
        self.client.is_reused()
            || self.account.lacked_answer()
            || self.resources.len() > 1
            || self.prompts.iter().any(is_refused_by_some)
    }

    /// The scopes that the client may request. An issuer that registered none of them decides at the request.
    fn requested_scopes(&self) -> Vec<String> {
        let registered = match &self.client {
            ClientOfRequest::Registered { client, .. } => client.scopes.as_ref(),
            ClientOfRequest::Own(_) => None,
        };
        let is_registered =
            |scope: &&String| registered.is_none_or(|registered| registered.contains(*scope));
        let allowed: Vec<String> = self.scopes.iter().filter(is_registered).cloned().collect();
        if allowed.is_empty() {
            self.scopes.clone()
        } else {
            allowed
        }
    }

    /// Changes the part that the issuer has refused, or returns its refusal.
    async fn adapt_to(&mut self, refusal: IssuerError) -> Result<(), AuthError> {
        let words = refusal.words.to_lowercase();
        let names = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
        let can_drop_prompt = !self.prompts.is_empty();
        let can_drop_resources = self.resources.len() > 1;
        if can_drop_prompt && names(&["prompt", "select_account"]) {
            self.drop_prompt();
        } else if can_drop_resources && names(&["invalid_target"]) {
            self.drop_resources(&refusal.words);
        } else if self.client.is_reused() {
            let scopes = &self.scopes;
            let client = client_registration::register(self.found, self.redirect, scopes).await?;
            self.notes.push(format!(
                "muxd was registered again: the authorization server refused its former client ({})",
                refusal.words
            ));
            self.client = ClientOfRequest::Registered {
                client,
                is_reused: false,
            };
        } else if names(&["scope"]) && !self.additional.is_empty() {
            let additional = std::mem::take(&mut self.additional);
            self.scopes.retain(|scope| !additional.contains(scope));
            self.notes.push(format!(
                "signs in without the scopes {}: the authorization server refused them ({})",
                additional.join(" "),
                refusal.words
            ));
        } else if can_drop_resources {
            self.drop_resources(&refusal.words);
        } else if can_drop_prompt {
            self.drop_prompt();
        } else {
            return Err(AuthError::Denied(refusal.words));
        }
        Ok(())
    }

    /// Drops the first prompt: fewer issuers know the prompt for the user's choice than the prompt for consent.
    fn drop_prompt(&mut self) {
        if self.prompts.remove(0) == SELECT_ACCOUNT {
            self.notes.push(
                "the authorization server cannot ask which user signs in: check which one your browser uses"
                    .into(),
            );
        }
    }

    fn drop_resources(&mut self, why: &str) {
        self.resources.truncate(1);
        self.refused_resources = Some(why.to_owned());
        self.notes.push(format!(
            "the sign-in is only for this server: the authorization server does not share sign-ins ({why})"
        ));
    }

    fn into_request(mut self, url: Url, state: Secret, verifier: Secret) -> AuthorizationRequest {
        // The only time that the user is asked if a server may use another server's sign-in.
        if let Some((_, others)) = self.resources.split_first()
            && !others.is_empty()
        {
            self.notes.push(format!(
                "this sign-in is also for {}, with the same scopes; to exclude a server, remove oauth.share from its entry and sign in again",
                others.join(", ")
            ));
        }
        let scopes = self.requested_scopes();
        let Self { found, account, .. } = self;
        let (credentials, registered, is_own_client) = match self.client {
            ClientOfRequest::Own(credentials) => (credentials, None, true),
            ClientOfRequest::Registered { client, .. } => {
                (client.credentials.clone(), Some(client), false)
            }
        };
        let expires_at = registered.as_ref().and_then(|client| client.expires_at);
        let asked = registered.as_ref().map(|client| client.asked.clone());
        let record = LoginRecord {
            issuer: found.issuer.clone(),
            key: account.key.clone(),
            client_id: credentials.id.clone(),
            redirect: self.redirect.to_owned(),
            audience: found.resource.clone(),
            resources: self.resources,
            token_endpoint: found.metadata.token_endpoint.clone(),
            revocation_endpoint: found.metadata.revocation_endpoint.clone(),
            client_auth: Some(credentials.method),
            registered_scopes: registered.and_then(|client| client.scopes),
            registration_scopes: asked.unwrap_or_default(),
            client_expires_at: expires_at,
            ..LoginRecord::default()
        };
        AuthorizationRequest {
            client: found.client.clone(),
            url,
            state,
            verifier,
            record,
            credentials,
            is_own_client,
            is_accepted: false,
            hidden: self.hidden,
            scopes,
            sends_issuer: found.metadata.sends_issuer,
            userinfo_endpoint: found.metadata.userinfo_endpoint.clone(),
            notes: self.notes,
        }
    }
}

impl ClientOfRequest {
    fn is_reused(&self) -> bool {
        matches!(
            self,
            Self::Registered {
                is_reused: true,
                ..
            }
        )
    }

    fn credentials(&self) -> &ClientCredentials {
        match self {
            Self::Own(credentials) => credentials,
            Self::Registered { client, .. } => &client.credentials,
        }
    }
}

impl AuthorizationRequest {
    pub(super) fn client_id(&self) -> &str {
        &self.record.client_id
    }

    /// Returns true for the client of the entry.
    pub(super) fn is_own_client(&self) -> bool {
        self.is_own_client
    }

    pub(super) fn issuer(&self) -> &str {
        &self.record.issuer
    }

    /// Checks the page of a request that has not been checked yet. Never resolves if the issuer does not refuse the
    /// request.
    pub(super) fn refusal(&self) -> impl Future<Output = AuthError> + use<> {
        let client = self.client.clone();
        let url = self.url.clone();
        let redirect = self.record.redirect.clone();
        let hidden = self.hidden.clone();
        let is_accepted = self.is_accepted;
        async move {
            if !is_accepted {
                tokio::time::sleep(LOOK_DELAY).await;
                let found =
                    authorization_page::find_refusal(&client, &url, &redirect, &hidden).await;
                if let Ok(Some(refusal)) = found {
                    return AuthError::Denied(refusal.words);
                }
            }
            std::future::pending().await
        }
    }

    /// Exchanges the code in the redirect for tokens. `issuer` is the `iss` of the redirect.
    pub(super) async fn exchange_code(
        self,
        code: &Secret,
        issuer: Option<&str>,
    ) -> Result<LoginCredentials, AuthError> {
        self.check_redirect_issuer(issuer)?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", &self.record.redirect),
            ("code_verifier", self.verifier.expose()),
            ("resource", &self.record.audience),
        ];
        let grant = self
            .client
            .request_token(
                &self.record.token_endpoint,
                &self.credentials,
                &fields,
                &[code, &self.state, &self.verifier],
            )
            .await
            .map_err(|error| match error {
                TokenRequestError::Rejected(why)
                | TokenRequestError::WrongTarget(why)
                | TokenRequestError::Refused(why) => AuthError::Denied(why),
                TokenRequestError::Malformed(why) => AuthError::Unfit(format!(
                    "its token endpoint cannot be used: {why}; is it another service, or a web page?"
                )),
                TokenRequestError::Failed(why) => AuthError::Unavailable(why),
            })?;
        let id_token = grant.id_token.clone();
        let mut record = self.record;
        let mut secrets = LoginSecrets::default();
        if !self.is_own_client {
            secrets.client = self.credentials.secret;
        }
        record.take(&mut secrets, grant, &self.scopes);
        record.private = Some(self.client.party_network() == PartyNetwork::Private);
        // An ID token may have no more than the subject (OpenID Connect Core, 5.4).
        if let (Some(endpoint), Some(token)) = (&self.userinfo_endpoint, &secrets.access)
            && !id_token.is_some_and(|token| identity::names_person(&token))
        {
            match self.client.userinfo(endpoint, token).await {
                Ok(claims) => record.who = identity::of_claims(&claims).or(record.who),
                Err(why) => debug!(why, "the authorization server does not say who signed in"),
            }
        }
        Ok(LoginCredentials { record, secrets })
    }

    /// Checks that the redirect is from the issuer that was asked. RFC 9207, 2.4.
    fn check_redirect_issuer(&self, issuer: Option<&str>) -> Result<(), AuthError> {
        let expected = one_line_excerpt(&self.record.issuer);
        match issuer {
            // RFC 9207 compares the strings without normalization.
            Some(issuer) if issuer != self.record.issuer => Err(AuthError::Unfit(format!(
                "issuer mismatch: the redirect is from {}, and the metadata is of {expected}; the authorization \
                     server must write the same issuer into both (RFC 9207)",
                one_line_excerpt(issuer)
            ))),
            None if self.sends_issuer => Err(AuthError::Unfit(format!(
                "the redirect does not name its issuer {expected}, as the metadata announces (RFC 9207)"
            ))),
            _ => Ok(()),
        }
    }
}

const SELECT_ACCOUNT: &str = "select_account";

/// The prompts to request: the user's choice for an entry with an account, because a browser is often already signed in
/// to another, and consent for a refresh token (OpenID Connect Core, 11).
fn select_prompts(
    account: &Account,
    found: &DiscoveredIssuer,
    scopes: &[String],
) -> Vec<&'static str> {
    let mut prompts = Vec::new();
    if account.key.account.is_some() {
        prompts.push(SELECT_ACCOUNT);
    }
    if scopes.iter().any(|scope| scope == "offline_access") {
        prompts.push("consent");
    }
    let listed = found.metadata.prompts.as_ref();
    prompts.retain(|prompt| listed.is_none_or(|listed| listed.iter().any(|value| value == prompt)));
    prompts
}

/// Selects the scopes of the entry or else of the server, and adds the scopes that the former login had or lacked.
fn select_scopes(
    options: &OauthSettings,
    found: &DiscoveredIssuer,
    before: Option<&LoginCredentials>,
    additional: &[String],
) -> Vec<String> {
    let mut scopes = if options.scopes.is_empty() {
        union(&found.scopes, additional)
    } else {
        options.scopes.clone()
    };
    if let Some(before) = before {
        scopes = union(&scopes, &before.record.scopes);
        scopes = union(&scopes, &before.record.wanted);
    }
    scopes
}

/// The scopes for a refresh token, and the scopes with which an authorization server identifies the user, if it knows
/// them. Without other scopes they would replace the server's default scopes, and a client that the user registered may
/// lack the identity scopes.
fn additional_scopes(options: &OauthSettings, found: &DiscoveredIssuer) -> Vec<String> {
    let metadata = &found.metadata;
    if found.scopes.is_empty() {
        return Vec::new();
    }
    let mut scopes = vec!["offline_access"];
    if options.client_id.is_none() && metadata.has_scope("openid") {
        scopes.extend(["openid", "email"]);
    }
    scopes.retain(|scope| metadata.has_scope(scope));
    scopes.into_iter().map(str::to_owned).collect()
}

/// The client of the entry, the registered client, or a new client.
async fn select_client(
    account: &Account,
    options: &OauthSettings,
    found: &DiscoveredIssuer,
    redirect: &str,
    scopes: &[String],
    before: Option<&LoginCredentials>,
    notes: &mut Vec<String>,
) -> Result<ClientOfRequest, AuthError> {
    let metadata = &found.metadata;
    // The URL of a client metadata document requires the authorization server's support.
    let is_usable = |id: &&String| {
        metadata.reads_client_documents
            || metadata.registration_endpoint.is_none()
            || !id.starts_with("https://")
    };
    if let Some(id) = options.client_id.as_ref().filter(is_usable) {
        client_registration::offered_methods(metadata)?;
        let method = match (&options.client_secret, options.auth) {
            (None, _) => ClientAuthMethod::None,
            (Some(_), Some(written)) => written.into(),
            (Some(_), None) => client_registration::method_for_secret(metadata),
        };
        return Ok(ClientOfRequest::Own(ClientCredentials {
            id: id.clone(),
            secret: options.client_secret.clone(),
            method,
        }));
    }
    if let Some(before) = before.filter(|before| before.record.shares.is_none()) {
        let client = before.record.registered_client(&before.secrets);
        let ended = if account.lacked_answer() || before.record.redirect.is_empty() {
            Some("its last login or refresh with it failed")
        } else if !client.allows(scopes) {
            Some("its registration lacks scopes that the server requires")
        } else if client.has_expired() {
            Some("its registration has expired")
        } else if before.record.redirect != redirect {
            // Another program has the port. Nothing is wrong with the registration.
            None
        } else {
            return Ok(ClientOfRequest::Registered {
                client,
                is_reused: true,
            });
        };
        notes.extend(ended.map(|why| format!("muxd was registered again: {why}")));
    }
    let client = client_registration::register(found, redirect, scopes).await?;
    Ok(ClientOfRequest::Registered {
        client,
        is_reused: false,
    })
}

/// Checks that a client that the user registered is used only with the issuer where it is registered. Otherwise a
/// server could name another issuer and get the client's ID and secret, or show the user its own login page.
async fn check_issuer(
    account: &Account,
    options: &OauthSettings,
    found: &str,
) -> Result<(), AuthError> {
    let refused = |why: String| {
        Err(AuthError::ForeignIssuer {
            found: one_line_excerpt(found),
            why,
        })
    };
    if let Some(written) = &options.issuer {
        return if is_same_issuer(written, found) {
            Ok(())
        } else {
            refused(format!("oauth.issuer of its entry is {written}"))
        };
    }
    if !account.key.is_own_client() {
        return Ok(());
    }
    match account.remembered_issuer().await? {
        Some(known) if is_same_issuer(&known, found) => Ok(()),
        Some(known) => refused(format!(
            "its client was used at {} until now",
            one_line_excerpt(&known)
        )),
        None if options.client_secret.is_some() => {
            refused("its entry has a client_secret and no issuer".into())
        }
        None => Ok(()),
    }
}

impl Account {
    /// The resources of other servers for which the sign-in is also valid: servers whose entries share sign-ins, and
    /// whose metadata names this issuer.
    async fn resources_to_share(
        &self,
        found: &DiscoveredIssuer,
        others: &[Arc<Account>],
    ) -> Vec<String> {
        let mut resources = Vec::new();
        if others.is_empty() || self.is_unshareable(&found.issuer).await {
            return resources;
        }
        let discovered = others
            .iter()
            .map(|other| async move { discover(other).await.ok() });
        for other in futures::future::join_all(discovered)
            .await
            .into_iter()
            .flatten()
        {
            let is_offered = found.metadata.resources.as_ref().is_none_or(|offered| {
                offered
                    .iter()
                    .any(|one| is_same_resource(one, &other.resource))
            });
            if other.has_resource_metadata
                && is_offered
                && is_same_issuer(&other.issuer, &found.issuer)
                && !is_same_resource(&other.resource, &found.resource)
            {
                resources.push(other.resource);
            }
        }
        resources
    }
}

/// A string that cannot be guessed: 256 bits.
pub(super) fn random_text() -> String {
    let mut bytes = [0; 32];
    // The system has random numbers, or nothing here can be secure.
    getrandom::fill(&mut bytes).expect("the system gives random numbers");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The URL with other values of these parameters.
pub(super) fn same_but(url: &Url, changed: &[(&str, String)]) -> Url {
    let pairs: Vec<_> = url.query_pairs().into_owned().collect();
    let mut url = url.clone();
    let mut query = url.query_pairs_mut();
    query.clear();
    for (name, value) in &pairs {
        let other = changed.iter().find(|(changed, _)| changed == name);
        query.append_pair(name, other.map_or(value, |(_, other)| other));
    }
    drop(query);
    url
}
