//! A description that is fetched from an address: only if it is another one than that which is kept.

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

use super::{Fetch, Fetched, LONGEST_DESCRIPTION, Version};
use crate::http::Mask;
use mux_http::address_policy::{AddressClass, AddressPolicy, Refused, class_of, written_class};
use mux_settings::Source;
use mux_text::error_chain::{causes, fix_of};

/// The whole of it.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Get {
    client: Client,
    url: Url,
    headers: HeaderMap,
    mask: Mask,
    own_host: OwnHost,
}

/// Resolves host names for a description: its own host to whatever the user's network says, others by the policy.
#[derive(Clone, Debug)]
pub(crate) struct OwnHost {
    policy: AddressPolicy,
    host: Arc<str>,
    /// Whether all addresses that the host was last found to have are private.
    private: Arc<AtomicBool>,
}

impl OwnHost {
    pub(crate) fn new(policy: AddressPolicy, url: &Url) -> Self {
        Self {
            policy,
            host: url.host_str().unwrap_or_default().into(),
            private: Arc::default(),
        }
    }

    /// Whether a redirect may lead there.
    pub(crate) fn allows(&self, url: &Url) -> bool {
        url.host_str() == Some(&*self.host) || self.policy.check(url).is_ok()
    }
}

impl Resolve for OwnHost {
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
            match found.is_empty() {
                true => Err(format!("{host} {}", Refused::Class(AddressClass::Never)).into()),
                false => Ok(Box::new(found.into_iter()) as Addrs),
            }
        })
    }
}

impl Get {
    pub(crate) fn new(
        client: Client,
        url: Url,
        headers: HeaderMap,
        settings: &Source,
        own_host: OwnHost,
    ) -> Self {
        Self {
            own_host,
            client,
            mask: Mask::of(settings, url.as_str()),
            url,
            headers,
        }
    }

    async fn get(&self, known: Option<&Version>) -> Result<Fetched, String> {
        if written_class(&self.url) == Some(AddressClass::Never) {
            let why = Refused::Class(AddressClass::Never);
            return Err(self.told(&format!("is not asked: it {why}")));
        }
        let mut headers = self.headers.clone();
        let accept = "application/json, application/yaml, text/yaml, */*;q=0.8";
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let conditions = known.into_iter().flat_map(|known| {
            [
                (IF_NONE_MATCH, &known.etag),
                (IF_MODIFIED_SINCE, &known.modified),
            ]
        });
        for (name, value) in conditions {
            if let Some(value) = value
                .as_deref()
                .and_then(|it| HeaderValue::from_str(it).ok())
            {
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
            StatusCode::NOT_MODIFIED if known.is_some() => Ok(Fetched::Same {
                private: self.is_private(&response),
            }),
            status if status.is_success() => self.read(response).await,
            status if status.is_redirection() => {
                let to = response
                    .headers()
                    .get(LOCATION)
                    .and_then(|to| to.to_str().ok());
                let to = to.map(|to| to.split(['?', '#']).next().unwrap_or(to));
                Err(self.told(&format!(
                    "answers HTTP {status}: it has moved to {}; write that address if you trust it",
                    to.unwrap_or("elsewhere")
                )))
            }
            status => Err(self.told(&format!("answers HTTP {status}"))),
        }
    }

    /// Its host's name leads into a private network, and so did the connection: not to a proxy there, and not to an
    /// address of before or after.
    fn is_private(&self, response: &Response) -> bool {
        let from = response.remote_addr();
        let from = from.map(|address| class_of(address.ip()));
        from == Some(AddressClass::Private) && self.own_host.private.load(Ordering::Relaxed)
    }

    async fn read(&self, mut response: Response) -> Result<Fetched, String> {
        let private = self.is_private(&response);
        let header = |name: HeaderName| {
            let value = response.headers().get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        let version = Version {
            etag: header(ETAG),
            modified: header(LAST_MODIFIED),
        };
        let mut bytes = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| self.unreachable(error))?
        {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > LONGEST_DESCRIPTION {
                let most = LONGEST_DESCRIPTION >> 20;
                return Err(self.told(&format!(
                    "gives more than {most} MiB, the longest description that is read"
                )));
            }
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Fetched::New {
                text,
                version,
                private,
            }),
            Err(_) => Err(self.told("gives no text in UTF-8")),
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> String {
        let why = causes(&error.without_url());
        let fix = fix_of(&why, "openapi");
        self.told(&format!("cannot be reached: {why}; {fix}"))
    }

    fn told(&self, what: &str) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        // Only an address without a host refuses.
        _ = url.set_username("");
        _ = url.set_password(None);
        self.mask.words(&format!("{url} {what}"))
    }
}

impl Fetch for Get {
    fn fetch<'a>(&'a self, known: Option<&'a Version>) -> BoxFuture<'a, Result<Fetched, String>> {
        async move {
            match timeout(PATIENCE, self.get(known)).await {
                Ok(fetched) => fetched,
                Err(_) => {
                    Err(self.told(&format!("did not give the description within {PATIENCE:?}")))
                }
            }
        }
        .boxed()
    }
}
