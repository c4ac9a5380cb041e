//! How the authorization server behaves, and what is wrong with it.

#[derive(Clone, Debug)]
pub struct Rules {
    /// What metadata says instead of the issuer's own address.
    pub issuer: Option<String>,
    /// `code_challenge_methods_supported`; `None` leaves it out.
    pub challenge_methods: Option<Vec<&'static str>>,
    /// Where the protected resource says that its authorization server is.
    pub authority_at: Option<String>,
    /// What metadata says instead of the token endpoint.
    pub token_endpoint: Option<String>,
    /// A client may be the address of its metadata; those that are registered beforehand are known by it.
    pub metadata_documents: bool,
    /// Clients may register themselves.
    pub registration: bool,
    /// They are given a secret.
    pub client_secrets: bool,
    /// `token_endpoint_auth_methods_supported`.
    pub auth_methods: Vec<&'static str>,
    pub revocation: bool,
    /// The `iss` of the redirect; `None` leaves it out.
    pub iss: Option<String>,
    /// The user says no.
    pub denies: bool,
    /// The user is asked on a page first.
    pub consent: bool,
    /// Of access tokens, in seconds; `None`: nothing is said.
    pub lifetime: Option<u64>,
    pub refresh: Refresh,
    /// A refresh token is dead as soon as there is another, and not when that was first used.
    pub strict: bool,
    /// Metadata as OpenID has it, and not as OAuth has it.
    pub openid: bool,
    /// The 401 says where the metadata is.
    pub points: bool,
    /// What the 401 says of scopes.
    pub scope: &'static str,
    /// The server answers 401 to every token.
    pub accepts_nobody: bool,
    /// Its answer to a token that it does not take repeats it.
    pub repeats: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refresh {
    Good,
    /// The answer is held until it is released; the rotation has happened.
    Held,
    /// `invalid_grant`.
    Rejected,
    /// HTTP 500.
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
        }
    }
}
