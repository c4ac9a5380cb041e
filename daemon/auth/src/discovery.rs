//! Finds the authorization server of an MCP server: RFC 9728, then RFC 8414 or OpenID Connect Discovery, or the default
//! endpoints of MCP's first revision.
//!
//! Documents are read leniently: a member of the wrong kind counts as absent, and URLs may differ in a final slash.
//! Invariant: a document is used only if it is about this server or this issuer, and its endpoints are checked before a
//! client is registered or the user is redirected.

use serde_json::{Map, Value, json};
use tokio::time::timeout;
use tracing::debug;
use url::Url;

use super::{
    account::Account,
    auth_server_client::{AUTH_SERVER_TIMEOUT, AuthServerClient},
    challenge::BearerChallenge,
    error::AuthError,
    issuer_bindings::is_same_issuer,
};
use mux_http::{
    address_policy::{PartyNetwork, url_without_secrets},
    issuer_words::one_line_excerpt,
    token_endpoint::list_of_words,
};

const RESOURCE_PATH: &str = "/.well-known/oauth-protected-resource";
const ISSUER_PATH: &str = "/.well-known/oauth-authorization-server";
const OPENID_PATH: &str = "/.well-known/openid-configuration";

/// The authorization server that an MCP server names.
pub(super) struct DiscoveredIssuer {
    pub(super) client: AuthServerClient,
    pub(super) issuer: String,
    pub(super) metadata: IssuerMetadata,
    /// The `resource` for which tokens are requested (RFC 8707), as the server writes it.
    pub(super) resource: String,
    /// True if the server has resource metadata (RFC 9728).
    pub(super) has_resource_metadata: bool,
    /// The scopes that the server requires.
    pub(super) scopes: Vec<String>,
}

/// The metadata of an authorization server.
#[derive(Debug, Default)]
pub(super) struct IssuerMetadata {
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) userinfo_endpoint: Option<String>,
    pub(super) scopes: Vec<String>,
    /// `token_endpoint_auth_methods_supported`.
    pub(super) auth_methods: Option<Vec<String>>,
    /// `prompt_values_supported`.
    pub(super) prompts: Option<Vec<String>>,
    /// `protected_resources`: the resources for which tokens may be requested.
    pub(super) resources: Option<Vec<String>>,
    /// Set if redirects name the issuer (RFC 9207).
    pub(super) sends_issuer: bool,
    /// Set if a client ID may be the URL of a client metadata document.
    pub(super) reads_client_documents: bool,
    pub(super) issuer: Option<String>,
    pub(super) challenge_methods: Option<Vec<String>>,
    /// Set if these are the default endpoints because the server has no metadata.
    pub(super) is_assumed: bool,
}

/// The metadata of an MCP server (RFC 9728).
struct ResourceMetadata {
    resource: Option<String>,
    issuers: Vec<String>,
    scopes: Vec<String>,
}

/// Finds the authorization server of an MCP server.
pub(super) async fn discover(account: &Account) -> Result<DiscoveredIssuer, AuthError> {
    let limit = AUTH_SERVER_TIMEOUT * 2;
    match timeout(limit, discover_unlimited(account)).await {
        Ok(found) => found,
        Err(_) => Err(AuthError::Unavailable(format!(
            "its metadata took longer than {limit:?}"
        ))),
    }
}

async fn discover_unlimited(account: &Account) -> Result<DiscoveredIssuer, AuthError> {
    let client = account.endpoints(PartyNetwork::Unknown).await;
    let client = client.map_err(AuthError::Unavailable)?;
    let server = &account.server;
    let challenge = account.challenge().unwrap_or_default();
    let mut challenge = BearerChallenge::parse(&challenge, server);
    let asks_first = client.party_network() == PartyNetwork::Unknown;
    let asked = if asks_first || challenge.resource_metadata.is_none() {
        request_challenge(&client, server).await
    } else {
        None
    };
    if asks_first && client.party_network() != PartyNetwork::Elsewhere {
        // The stored challenge may come from another network, and must not name private addresses.
        challenge.resource_metadata = None;
    }
    if challenge.resource_metadata.is_none()
        && let Some(asked) = asked
    {
        let asked = BearerChallenge::parse(&asked, server);
        challenge.resource_metadata = asked.resource_metadata;
        if challenge.scopes.is_empty() {
            challenge.scopes = asked.scopes;
        }
    }
    let own = find_resource_metadata(&client, server, challenge.resource_metadata.as_ref()).await?;
    let has_resource_metadata = own.is_some();
    let (resource, issuers, scopes) = match own {
        Some(own) => (own.resource, own.issuers, own.scopes),
        None => (None, Vec::new(), Vec::new()),
    };
    let metadata = if issuers.is_empty() {
        find_issuer_beside(&client, server).await?
    } else {
        find_named_issuer(&client, server, &issuers).await?
    };
    check_metadata(&metadata, &client)?;
    let issuer = metadata.issuer.clone();
    Ok(DiscoveredIssuer {
        client,
        issuer: issuer.unwrap_or_else(|| server.origin().ascii_serialization()),
        metadata,
        resource: resource.unwrap_or_else(|| account.key.resource.clone()),
        has_resource_metadata,
        scopes: if challenge.scopes.is_empty() {
            scopes
        } else {
            challenge.scopes
        },
    })
}

/// Asks for the challenge of a server that has not named its metadata yet. A ping opens no session and changes nothing.
pub(super) async fn request_challenge(client: &AuthServerClient, server: &Url) -> Option<String> {
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let response = client.post_json("address", server, &ping).await.ok()?;
    let challenges = response.headers.get_all("www-authenticate").iter();
    let challenges: Vec<&str> = challenges.filter_map(|one| one.to_str().ok()).collect();
    (response.status == 401).then(|| challenges.join(", "))
}

async fn find_resource_metadata(
    client: &AuthServerClient,
    server: &Url,
    advertised: Option<&Url>,
) -> Result<Option<ResourceMetadata>, AuthError> {
    let mut failure = None;
    let mut unreadable = None;
    let guesses = well_known(server, &[RESOURCE_PATH]);
    let guesses = guesses.iter().filter(|guess| Some(*guess) != advertised);
    for url in advertised.into_iter().chain(guesses) {
        let is_advertised = Some(url) == advertised;
        let found = fetch_document(client, "metadata", url, &mut failure).await?;
        let Some(metadata) = found.as_ref().and_then(ResourceMetadata::read) else {
            if is_advertised {
                unreadable = Some(url_without_secrets(url));
            }
            continue;
        };
        let resource = metadata.resource.as_deref().unwrap_or(server.as_str());
        if is_resource_of(resource, server) {
            return Ok(Some(metadata));
        }
        let why = format!(
            "resource mismatch: its metadata at {} is for {}",
            url_without_secrets(url),
            one_line_excerpt(resource)
        );
        if is_advertised {
            return Err(AuthError::Unfit(why));
        }
        debug!(why, "metadata of another server");
    }
    match (failure, unreadable) {
        (Some(failure), Some(_)) => Err(AuthError::Unavailable(failure)),
        (None, Some(url)) => Err(AuthError::Unfit(format!(
            "its metadata at {url} has no OAuth metadata (RFC 9728); is it another service, or a web page?"
        ))),
        (_, None) => Ok(None),
    }
}

/// The metadata of the first usable authorization server that an MCP server names.
async fn find_named_issuer(
    client: &AuthServerClient,
    server: &Url,
    issuers: &[String],
) -> Result<IssuerMetadata, AuthError> {
    let mut problem = None;
    for issuer in issuers {
        let Ok(url) = server.join(issuer) else {
            continue;
        };
        if let Err(why) = client.check_endpoint_url("authorization server", &url) {
            problem = Some(AuthError::Unfit(why));
            continue;
        }
        // Some servers name the document instead of the issuer.
        let documents = if url.path().contains("/.well-known/") {
            vec![url.clone()]
        } else {
            well_known(&url, &[ISSUER_PATH, OPENID_PATH])
        };
        match find_issuer_at(client, &documents, &url).await {
            Ok(Some(metadata)) => return Ok(metadata),
            Ok(None) => {}
            Err(error) => problem = Some(error),
        }
    }
    let named = one_line_excerpt(&issuers.join(", "));
    Err(problem.unwrap_or_else(|| {
        AuthError::Unfit(format!(
            "its metadata names the authorization server {named}, which has no usable metadata; is it another \
             service, or a web page?"
        ))
    }))
}

/// The metadata of an authorization server at the address of the MCP server, or its default endpoints.
async fn find_issuer_beside(
    client: &AuthServerClient,
    server: &Url,
) -> Result<IssuerMetadata, AuthError> {
    let documents = well_known(server, &[ISSUER_PATH, OPENID_PATH]);
    match find_issuer_at(client, &documents, server).await? {
        Some(metadata) => Ok(metadata),
        None => Ok(IssuerMetadata::assumed(server)),
    }
}

/// The metadata in the first usable document.
async fn find_issuer_at(
    client: &AuthServerClient,
    documents: &[Url],
    issuer: &Url,
) -> Result<Option<IssuerMetadata>, AuthError> {
    let mut failure = None;
    let mut mismatch = None;
    for url in documents {
        let found = fetch_document(client, "metadata", url, &mut failure).await?;
        let Some(mut metadata) = found.as_ref().and_then(IssuerMetadata::read) else {
            continue;
        };
        let named = metadata.issuer.get_or_insert_with(|| issuer_of(url));
        if is_same_issuer(named, issuer.as_str()) || is_same_issuer(named, &issuer_of(url)) {
            return Ok(Some(metadata));
        }
        mismatch.get_or_insert_with(|| {
            AuthError::Unfit(format!(
                "issuer mismatch: the metadata at {} is of {}",
                url_without_secrets(url),
                one_line_excerpt(named)
            ))
        });
    }
    match (mismatch, failure) {
        (Some(mismatch), _) => Err(mismatch),
        (None, Some(failure)) => Err(AuthError::Unavailable(failure)),
        (None, None) => Ok(None),
    }
}

/// The members of a document. `None` if there is no document. A server error becomes the `failure`.
async fn fetch_document(
    client: &AuthServerClient,
    what: &str,
    url: &Url,
    failure: &mut Option<String>,
) -> Result<Option<Map<String, Value>>, AuthError> {
    let response = client.get_document(what, url).await;
    let response = response.map_err(AuthError::Unavailable)?;
    if response.status == 200 {
        return Ok(response.members());
    }
    if response.status.is_server_error() || [408, 425, 429].contains(&response.status.as_u16()) {
        let why = response.describe();
        *failure = Some(format!("its {what} at {}: {why}", url_without_secrets(url)));
    }
    Ok(None)
}

/// The addresses of a document: the well-known path before the path of the URL, behind it, and alone.
fn well_known(url: &Url, names: &[&str]) -> Vec<Url> {
    let path = url.path().trim_matches('/');
    let mut paths = Vec::new();
    if !path.is_empty() {
        paths.extend(names.iter().map(|name| format!("{name}/{path}")));
        paths.extend(names.iter().map(|name| format!("/{path}{name}")));
    }
    paths.extend(names.iter().map(|name| (*name).to_owned()));
    let at = |path: String| {
        let mut url = url.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.set_path(&path);
        url
    };
    paths.into_iter().map(at).collect()
}

/// The issuer whose metadata belongs at this address.
fn issuer_of(document: &Url) -> String {
    let mut issuer = document.clone();
    let path = document.path();
    let names = [ISSUER_PATH, OPENID_PATH];
    let path = names.iter().find_map(|name| {
        let (before, after) = path.split_once(name)?;
        Some(format!("{before}{after}"))
    });
    issuer.set_path(&path.unwrap_or_default());
    issuer.as_str().trim_end_matches('/').to_owned()
}

/// Returns true if a resource is this server, or a part of its address above it. A final slash and queries do not count.
fn is_resource_of(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let own = server.path();
    let named = resource.path().trim_end_matches('/');
    let rest = own.strip_prefix(named);
    resource.fragment().is_none()
        && resource.origin() == server.origin()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Checks the endpoints, and that the authorization server checks codes (PKCE).
fn check_metadata(metadata: &IssuerMetadata, client: &AuthServerClient) -> Result<(), AuthError> {
    let endpoints = [
        (
            "authorization endpoint",
            Some(&metadata.authorization_endpoint),
        ),
        ("token endpoint", Some(&metadata.token_endpoint)),
        (
            "registration endpoint",
            metadata.registration_endpoint.as_ref(),
        ),
    ];
    for (what, endpoint) in endpoints {
        let Some(endpoint) = endpoint else { continue };
        let url = Url::parse(endpoint)
            .map_err(|_| AuthError::Unfit(format!("its {what} is not a URL")))?;
        client
            .check_endpoint_url(what, &url)
            .map_err(AuthError::Unfit)?;
    }
    let methods = metadata.challenge_methods.as_deref().unwrap_or_default();
    // Servers of MCP's first revision have default endpoints instead of metadata.
    if metadata.is_assumed || methods.iter().any(|method| method == "S256") {
        return Ok(());
    }
    Err(AuthError::Unfit(
        "its authorization server does not offer PKCE with S256, without which a code can be stolen"
            .into(),
    ))
}

impl ResourceMetadata {
    /// `None` for a document that is not such metadata.
    fn read(members: &Map<String, Value>) -> Option<Self> {
        let resource = string(members, "resource");
        let mut issuers = strings(members, "authorization_servers").unwrap_or_default();
        // The name of a draft.
        issuers.extend(string(members, "authorization_server"));
        (resource.is_some() || !issuers.is_empty()).then(|| Self {
            resource,
            issuers,
            scopes: strings(members, "scopes_supported").unwrap_or_default(),
        })
    }
}

impl IssuerMetadata {
    /// `None` for a document that is not such metadata.
    fn read(members: &Map<String, Value>) -> Option<Self> {
        let is_set = |name: &str| members.get(name) == Some(&Value::Bool(true));
        Some(Self {
            authorization_endpoint: string(members, "authorization_endpoint")?,
            token_endpoint: string(members, "token_endpoint")?,
            registration_endpoint: string(members, "registration_endpoint"),
            revocation_endpoint: string(members, "revocation_endpoint"),
            userinfo_endpoint: string(members, "userinfo_endpoint"),
            scopes: strings(members, "scopes_supported").unwrap_or_default(),
            auth_methods: strings(members, "token_endpoint_auth_methods_supported"),
            prompts: strings(members, "prompt_values_supported"),
            resources: strings(members, "protected_resources"),
            sends_issuer: is_set("authorization_response_iss_parameter_supported"),
            reads_client_documents: is_set("client_id_metadata_document_supported"),
            issuer: string(members, "issuer"),
            challenge_methods: strings(members, "code_challenge_methods_supported"),
            is_assumed: false,
        })
    }

    fn assumed(server: &Url) -> Self {
        let endpoint = |path: &str| {
            let mut url = server.clone();
            url.set_query(None);
            url.set_path(path);
            url.to_string()
        };
        Self {
            authorization_endpoint: endpoint("/authorize"),
            token_endpoint: endpoint("/token"),
            registration_endpoint: Some(endpoint("/register")),
            is_assumed: true,
            ..Self::default()
        }
    }

    /// Returns true if the issuer offers this scope.
    pub(super) fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|known| known == scope)
    }
}

fn string(members: &Map<String, Value>, name: &str) -> Option<String> {
    let text = members.get(name)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The strings of a list, or the words of a string. An empty list counts as absent.
fn strings(members: &Map<String, Value>, name: &str) -> Option<Vec<String>> {
    let all = list_of_words(members.get(name)?)?;
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_is_the_server_or_a_part_of_its_address() {
        let server = Url::parse("https://x.test/v1/mcp?key=1").unwrap();
        for (resource, is_own) in [
            ("https://x.test/v1/mcp", true),
            ("https://x.test/v1/mcp/", true),
            ("HTTPS://X.test:443/v1", true),
            ("https://x.test", true),
            ("https://x.test/v1/m", false),
            ("https://x.test/v1/mcp/more", false),
            ("https://x.test/v1/mcp#a", false),
            ("https://y.test/v1/mcp", false),
            ("http://x.test/v1/mcp", false),
            ("mcp", false),
        ] {
            assert_eq!(is_resource_of(resource, &server), is_own, "{resource}");
        }
        let server = Url::parse("https://x.test/mcp/").unwrap();
        assert!(is_resource_of("https://x.test/mcp", &server));
    }

    #[test]
    fn documents_are_looked_for_before_and_behind_the_path() {
        let at = |url: &str| -> Vec<String> {
            let all = well_known(&Url::parse(url).unwrap(), &[ISSUER_PATH, OPENID_PATH]);
            all.iter().map(Url::to_string).collect()
        };
        assert_eq!(
            at("https://i.test/"),
            [
                "https://i.test/.well-known/oauth-authorization-server",
                "https://i.test/.well-known/openid-configuration",
            ]
        );
        let all = at("https://i.test/t/one/?q=1");
        assert_eq!(
            all[..3],
            [
                "https://i.test/.well-known/oauth-authorization-server/t/one",
                "https://i.test/.well-known/openid-configuration/t/one",
                "https://i.test/t/one/.well-known/oauth-authorization-server",
            ]
        );
        for document in &all[..4] {
            assert_eq!(
                issuer_of(&Url::parse(document).unwrap()),
                "https://i.test/t/one"
            );
        }
        assert_eq!(issuer_of(&Url::parse(&all[4]).unwrap()), "https://i.test");
    }

    #[test]
    fn odd_members_of_metadata_count_as_absent() {
        let read = |value: Value| IssuerMetadata::read(value.as_object().unwrap());
        let odd = read(json!({
            "authorization_endpoint": "https://i.test/a", "token_endpoint": "https://i.test/t",
            "issuer": null, "scopes_supported": "a b", "registration_endpoint": 7,
            "token_endpoint_auth_methods_supported": [], "prompt_values_supported": [1, "login"],
            "authorization_response_iss_parameter_supported": "yes",
        }))
        .unwrap();
        assert_eq!(odd.scopes, ["a", "b"]);
        assert_eq!(odd.prompts.unwrap(), ["login"]);
        assert!(odd.issuer.is_none() && odd.registration_endpoint.is_none());
        assert!(odd.auth_methods.is_none() && !odd.sends_issuer);
        assert!(read(json!({ "token_endpoint": "https://i.test/t" })).is_none());
        let own = json!({ "resource": null, "authorization_servers": "https://i.test" });
        let own = ResourceMetadata::read(own.as_object().unwrap()).unwrap();
        assert_eq!(own.issuers, ["https://i.test"]);
        assert!(ResourceMetadata::read(&Map::new()).is_none());
    }
}
