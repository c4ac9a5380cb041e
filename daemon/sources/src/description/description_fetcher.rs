//! Fetches a description from a URL, conditionally if it is cached.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt as _, future::BoxFuture};
use reqwest::{
    Client, Response, StatusCode, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{
        ACCEPT, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
        LAST_MODIFIED, LOCATION,
    },
};
use tokio::time::timeout;

use super::{
    FetchDescription, FetchOutcome, HttpValidators, MAX_DESCRIPTION_BYTES,
    description_bytes::decode,
};
use crate::http::SecretMask;
use mux_http::{
    address_policy::{
        AddressClass, AddressPolicy, AddressRefusal, class_of, class_of_url, url_without_secrets,
    },
    connect_failure::connect_failure,
    proxies::{UsedProxy, used_proxy},
    response_body::read_body,
};
use mux_process::blocking_pool;
use mux_settings::SourceDefinition;

/// The limit for the request and the whole response.
const DESCRIPTION_FETCH_TIMEOUT: Duration = Duration::from_mins(1);

/// Longer bodies are decoded off the runtime's threads. The limit is low because bodies may be compressed.
const LONG_BYTES: usize = 4 << 10;

pub(crate) struct DescriptionFetcher {
    client: Client,
    proxy: Option<UsedProxy>,
    url: Url,
    headers: HeaderMap,
    mask: SecretMask,
    own_host: OwnHostResolver,
}

/// Resolves host names for a description: the description's own host as the user's network does, other hosts by the
/// policy.
#[derive(Clone, Debug)]
pub(crate) struct OwnHostResolver {
    policy: AddressPolicy,
    host: Arc<str>,
    /// Set if all addresses of the last lookup of the host are private.
    private: Arc<AtomicBool>,
}

impl OwnHostResolver {
    pub(crate) fn new(policy: AddressPolicy, url: &Url) -> Self {
        Self {
            policy,
            host: url.host_str().unwrap_or_default().into(),
            private: Arc::default(),
        }
    }

    /// True if a redirect may lead there.
    pub(crate) fn allows(&self, url: &Url) -> bool {
        url.host_str() == Some(&*self.host) || self.policy.check(url).is_ok()
    }
}

impl Resolve for OwnHostResolver {
    fn resolve(&self, name: Name) -> Resolving {
        if !name.as_str().eq_ignore_ascii_case(&self.host) {
            return self.policy.resolve(name);
        }
        let private = Arc::clone(&self.private);
        let host = Arc::clone(&self.host);
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((&*host, 0)).await?.collect();
            let is = |class| move |address: &SocketAddr| class_of(address.ip()) == class;
            let all = !found.is_empty() && found.iter().all(is(AddressClass::Private));
            private.store(all, Ordering::Relaxed);
            let mut found = found;
            found.retain(|address| !is(AddressClass::Never)(address));
            if found.is_empty() {
                Err(format!("{host} {}", AddressRefusal::Class(AddressClass::Never)).into())
            } else {
                Ok(Box::new(found.into_iter()) as Addrs)
            }
        })
    }
}

impl DescriptionFetcher {
    pub(crate) fn new(
        client: Client,
        url: Url,
        headers: HeaderMap,
        settings: &SourceDefinition,
        own_host: OwnHostResolver,
    ) -> Self {
        Self {
            own_host,
            proxy: used_proxy(&settings.network, &url),
            client,
            mask: SecretMask::of(settings, url.as_str()),
            url,
            headers,
        }
    }

    async fn get(&self, known: Option<&HttpValidators>) -> Result<FetchOutcome, String> {
        if class_of_url(&self.url) == Some(AddressClass::Never) {
            let why = AddressRefusal::Class(AddressClass::Never);
            return Err(self.problem_text(&format!("is not requested: it {why}")));
        }
        let mut headers = self.headers.clone();
        let accept = "application/json, application/yaml, text/yaml, */*;q=0.8";
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let conditions = known.into_iter().flat_map(|known| {
            let etag = known.etag.as_deref().filter(|etag| is_entity_tag(etag));
            [
                (IF_NONE_MATCH, etag),
                (IF_MODIFIED_SINCE, known.modified.as_deref()),
            ]
        });
        for (name, value) in conditions {
            if let Some(value) = value.and_then(|it| HeaderValue::from_str(it).ok()) {
                headers.insert(name, value);
            }
        }
        let sent = self
            .client
            .get(self.url.clone())
            .headers(headers)
            .send()
            .await;
        let response = sent.map_err(|error| self.unreachable(error))?;
        match response.status() {
            StatusCode::NOT_MODIFIED if known.is_some() => Ok(FetchOutcome::Same),
            status if status.is_success() => self.read(response).await,
            status if status.is_redirection() => {
                let to = response
                    .headers()
                    .get(LOCATION)
                    .and_then(|to| to.to_str().ok());
                let to = to.map(|to| to.split(['?', '#']).next().unwrap_or(to));
                Err(self.problem_text(&format!(
                    "answers HTTP {status}: it has moved to {}; write that address if you trust it",
                    to.unwrap_or("elsewhere")
                )))
            }
            status => Err(self.problem_text(&format!("answers HTTP {status}"))),
        }
    }

    /// True if the host's name resolves to private addresses and the connection went to one of them. A proxy in a
    /// private network does not count, nor do addresses of other lookups.
    fn is_private(&self, response: &Response) -> bool {
        let from = response.remote_addr();
        let from = from.map(|address| class_of(address.ip()));
        from == Some(AddressClass::Private) && self.own_host.private.load(Ordering::Relaxed)
    }

    async fn read(&self, response: Response) -> Result<FetchOutcome, String> {
        let private = self.is_private(&response);
        let header = |name: HeaderName| {
            let value = response.headers().get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        let version = HttpValidators {
            etag: header(ETAG).filter(|etag| is_entity_tag(etag)),
            modified: header(LAST_MODIFIED),
        };
        let bytes = read_body(response, MAX_DESCRIPTION_BYTES).await;
        let bytes = bytes.map_err(|error| self.unreachable(error))?;
        let bytes = bytes.ok_or_else(|| {
            let most = MAX_DESCRIPTION_BYTES >> 20;
            self.problem_text(&format!(
                "returned more than {most} MiB, the limit for descriptions"
            ))
        })?;
        let is_long = bytes.len() > LONG_BYTES;
        match blocking_pool::run_if(is_long, || decode(bytes)).await {
            Ok(text) => Ok(FetchOutcome::New {
                text,
                version,
                private,
            }),
            Err(why) => Err(self.problem_text(&why)),
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> String {
        self.problem_text(&connect_failure(error, self.proxy.as_ref(), "openapi"))
    }

    fn problem_text(&self, what: &str) -> String {
        let url = url_without_secrets(&self.url);
        self.mask.words(&format!("{url} {what}"))
    }
}

/// True if the text is an `entity-tag` of RFC 9110. Another string, such as `*`, may match anything that a server has.
fn is_entity_tag(text: &str) -> bool {
    let opaque = text.strip_prefix("W/").unwrap_or(text);
    let inner = opaque.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let is_allowed = |byte: u8| byte == 0x21 || (0x23..=0x7e).contains(&byte) || byte >= 0x80;
    inner.is_some_and(|inner| inner.bytes().all(is_allowed))
}

impl FetchDescription for DescriptionFetcher {
    fn fetch<'a>(
        &'a self,
        known: Option<&'a HttpValidators>,
    ) -> BoxFuture<'a, Result<FetchOutcome, String>> {
        async move {
            match timeout(DESCRIPTION_FETCH_TIMEOUT, self.get(known)).await {
                Ok(fetched) => fetched,
                Err(_) => Err(self.problem_text(&format!(
                    "did not return the description within {DESCRIPTION_FETCH_TIMEOUT:?}"
                ))),
            }
        }
        .boxed()
    }
}
