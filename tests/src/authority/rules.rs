//! The behavior of both servers, and their faults.

use super::oddity::Oddity;

#[derive(Clone, Debug)]
pub struct Rules {
    /// The `issuer` of the metadata, if not the server's own URL.
    pub issuer: Option<String>,
    /// The path of the issuer, below which there are also other issuers.
    pub tenant: &'static str,
    /// The path of the metadata, if not the one of [`Rules::openid`].
    pub metadata_at: Option<&'static str>,
    /// The metadata is at the origin of the MCP server, which is the issuer. Servers of the first revision have that.
    pub fronted: bool,
    /// `code_challenge_methods_supported`. `None` leaves it out.
    pub challenge_methods: Option<Vec<&'static str>>,
    /// The authorization server that the protected resource names, if not this one.
    pub authority_at: Option<String>,
    /// The token endpoint of the metadata, if not the server's own.
    pub token_endpoint: Option<String>,
    /// Supports client ID metadata documents. Such clients must be registered by hand.
    pub metadata_documents: bool,
    /// Supports dynamic client registration.
    pub registration: bool,
    /// Registration requires a token.
    pub registration_token: bool,
    /// Registered clients get a secret.
    pub client_secrets: bool,
    /// `token_endpoint_auth_methods_supported`.
    pub auth_methods: Vec<&'static str>,
    /// A client must use the method of its registration, which must be a supported one.
    pub method_bound: bool,
    /// The method of every client, regardless of what its registration asks for.
    pub method_given: Option<&'static str>,
    /// A client may ask only for the scopes of its registration.
    pub scopes_bound: bool,
    /// A registration that names scopes is rejected.
    pub scopes_unregistrable: bool,
    /// The status of the page that an unknown client gets.
    pub unknown_client: u16,
    pub revocation: bool,
    /// The `iss` of the redirect: `None` leaves it out, an empty text is the issuer's URL.
    pub iss: Option<String>,
    /// The user denies access.
    pub denies: bool,
    /// The user is asked for consent on a page first.
    pub consent: bool,
    /// The origin of a page where the user signs in first.
    pub login_page: Option<String>,
    /// The status of the authorization page for a client that is not a browser.
    pub programs_get: Option<u16>,
    /// The values of `prompt` that are accepted. `None` ignores the parameter.
    pub prompts: Option<Vec<&'static str>>,
    /// The metadata lists the values of `prompt`.
    pub prompts_listed: bool,
    /// Every authorization request is rejected with this `error` and description.
    pub rejects: Option<(&'static str, &'static str)>,
    /// How an authorization request is rejected, unless the user does it.
    pub rejection: Rejection,
    /// A refresh token is issued only for `offline_access` with `prompt=consent` (OpenID Connect Core, 11).
    pub offline_consent: bool,
    /// `expires_in` of access tokens, in seconds. `None` leaves it out.
    pub lifetime: Option<u64>,
    pub refresh: Refresh,
    /// A refresh token is invalid as soon as it was exchanged, instead of when its successor is first used.
    pub strict: bool,
    /// A refresh token is exchanged even if the answer is `invalid_target`.
    pub rotates_first: bool,
    /// Which MCP servers one login is for.
    pub grants: Grants,
    /// Serves OpenID metadata instead of OAuth metadata.
    pub openid: bool,
    /// The 401 response has `resource_metadata`.
    pub points: bool,
    /// The `scope` of the 401 response.
    pub scope: &'static str,
    /// The `scope` of the 403 response.
    pub step_up: &'static str,
    /// The `WWW-Authenticate` headers of the 401 response, if not the usual one. See [`Oddity::members`].
    pub challenges: Option<Vec<&'static str>>,
    /// The path of the metadata of the MCP server. Empty if there is none.
    pub resource_metadata_at: &'static str,
    /// The `resource` of that metadata. See [`Oddity::members`].
    pub resource: &'static str,
    /// The MCP server needs no token for the handshake.
    pub open_handshake: bool,
    /// The MCP server answers 401 to every token.
    pub accepts_nobody: bool,
    /// Refusals repeat the secrets of the request.
    pub repeats: bool,
    /// The mail address of the user who signs in. An ID token names it, and the MCP server has a tool that does.
    pub user: Option<&'static str>,
    /// The userinfo endpoint names the user, and no ID token does.
    pub userinfo: bool,
    /// There is an ID token, which names only the `sub`.
    pub subject_only: bool,
    /// Access tokens are JSON web tokens with an audience.
    pub audiences: bool,
    /// Answers that differ from the usual ones.
    pub oddities: Vec<Oddity>,
    /// The endpoint that answers only when it is released.
    pub silent: Option<&'static str>,
}

impl Rules {
    pub(super) fn oddity(&self, endpoint: &str) -> Option<&Oddity> {
        let mut all = self.oddities.iter();
        all.find(|odd| odd.endpoint == endpoint)
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refresh {
    Good,
    /// The response is held until it is released, after the token was rotated.
    Held,
    /// Every refresh fails with `invalid_grant`.
    Rejected,
    /// Every refresh fails with HTTP 500.
    Broken,
}

/// Which MCP servers a login is for, if the authorization request names several.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Grants {
    /// A request that names several is rejected.
    One,
    /// The first one.
    First,
    /// The resources that the request names.
    Named,
    /// All servers of the issuer.
    All,
}

/// How an authorization request is rejected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rejection {
    /// A redirect to the client.
    Redirect,
    /// A page with this status.
    Page(u16),
    /// A redirect to a page of the authorization server, whose address has `error`.
    ErrorPage,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            issuer: None,
            tenant: "",
            metadata_at: None,
            fronted: false,
            challenge_methods: Some(vec!["S256"]),
            authority_at: None,
            token_endpoint: None,
            metadata_documents: false,
            registration: true,
            registration_token: false,
            client_secrets: false,
            auth_methods: vec!["none", "client_secret_basic", "client_secret_post"],
            method_bound: false,
            method_given: None,
            scopes_bound: false,
            scopes_unregistrable: false,
            unknown_client: 400,
            revocation: true,
            iss: Some(String::new()),
            denies: false,
            consent: false,
            login_page: None,
            programs_get: None,
            prompts: None,
            prompts_listed: false,
            rejects: None,
            rejection: Rejection::Redirect,
            offline_consent: false,
            lifetime: Some(3600),
            refresh: Refresh::Good,
            strict: false,
            rotates_first: false,
            grants: Grants::One,
            openid: false,
            points: true,
            scope: "read",
            step_up: "admin",
            challenges: None,
            resource_metadata_at: "/.well-known/oauth-protected-resource/mcp",
            resource: "{url}",
            open_handshake: false,
            accepts_nobody: false,
            repeats: false,
            user: None,
            userinfo: false,
            subject_only: false,
            audiences: false,
            oddities: Vec::new(),
            silent: None,
        }
    }
}
