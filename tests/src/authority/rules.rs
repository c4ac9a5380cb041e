//! The behavior of both servers, and their faults.

#[derive(Clone, Debug)]
pub struct Rules {
    /// The `issuer` of the metadata, if not the server's own URL.
    pub issuer: Option<String>,
    /// `code_challenge_methods_supported`; `None` leaves it out.
    pub challenge_methods: Option<Vec<&'static str>>,
    /// The authorization server that the protected resource names, if not this one.
    pub authority_at: Option<String>,
    /// The token endpoint of the metadata, if not the server's own.
    pub token_endpoint: Option<String>,
    /// Supports client ID metadata documents. Such clients have to be registered by hand.
    pub metadata_documents: bool,
    /// Supports dynamic client registration.
    pub registration: bool,
    /// Registered clients get a secret.
    pub client_secrets: bool,
    /// `token_endpoint_auth_methods_supported`.
    pub auth_methods: Vec<&'static str>,
    pub revocation: bool,
    /// The `iss` of the redirect: `None` leaves it out, an empty text is the issuer's URL.
    pub iss: Option<String>,
    /// The user denies access.
    pub denies: bool,
    /// The user is asked for consent on a page first.
    pub consent: bool,
    /// `expires_in` of access tokens, in seconds; `None` leaves it out.
    pub lifetime: Option<u64>,
    pub refresh: Refresh,
    /// A refresh token is invalid as soon as it was exchanged, instead of when its successor is first used.
    pub strict: bool,
    /// Serves OpenID metadata instead of OAuth metadata.
    pub openid: bool,
    /// The 401 response has `resource_metadata`.
    pub points: bool,
    /// The `scope` of the 401 response.
    pub scope: &'static str,
    /// The MCP server answers 401 to every token.
    pub accepts_nobody: bool,
    /// The body of the 401 response repeats the token.
    pub repeats: bool,
    /// The mail address of the user who signs in. An ID token names it, and the MCP server has a tool that does.
    pub user: Option<&'static str>,
    /// The userinfo endpoint names the user, and no ID token does.
    pub userinfo: bool,
    /// Access tokens are JSON web tokens with an audience, and a refresh token is good for every MCP server.
    pub audiences: bool,
    /// An endpoint, and what it answers with status 200: `metadata`, `register` or `token`.
    pub odd_answer: Option<(&'static str, &'static str)>,
}

impl Rules {
    /// The text that the endpoint answers in place of its own.
    pub(super) fn odd_answer_of(&self, endpoint: &str) -> Option<&'static str> {
        let odd = self.odd_answer.filter(|(of, _)| *of == endpoint);
        odd.map(|(_, text)| text)
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

impl Default for Rules {
    fn default() -> Self {
        Self {
            issuer: None,
            challenge_methods: Some(vec!["S256"]),
            authority_at: None,
            token_endpoint: None,
            metadata_documents: false,
            registration: true,
            client_secrets: false,
            auth_methods: vec!["none", "client_secret_basic", "client_secret_post"],
            revocation: true,
            iss: Some(String::new()),
            denies: false,
            consent: false,
            lifetime: Some(3600),
            refresh: Refresh::Good,
            strict: false,
            openid: false,
            points: true,
            scope: "read",
            accepts_nobody: false,
            repeats: false,
            user: None,
            userinfo: false,
            audiences: false,
            odd_answer: None,
        }
    }
}
