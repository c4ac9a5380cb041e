//! The configuration of a source, without its description.

use std::{collections::BTreeMap, sync::Arc};

use reqwest::{Url, header::HeaderMap, redirect};

use super::{
    description::{
        DescriptionDocument, DescriptionFetcher, DescriptionOrigin, OwnHostResolver,
        RemoteDescription,
    },
    first_seen_origins::{DescribedOrigins, FirstSeenOrigins},
    graphql,
    http::{AllowedOrigins, ApiClient, EntryState, SecurityScheme, entry_headers},
    openapi,
    source::Source,
};
use mux_http::http_client::client_builder;
use mux_settings::{DescriptionLocation, SourceKind};

/// One entry of the configuration, with the state that outlives its descriptions.
#[derive(Clone, Debug)]
pub(super) struct SourceConfig {
    pub(super) name: String,
    pub(super) settings: mux_settings::SourceDefinition,
    /// Survives each new description of the entry.
    lasting: Arc<EntryState>,
    addresses: Arc<FirstSeenOrigins>,
    reader: DescriptionReader,
}

/// Makes functions from a description. CPU-bound: waits for nothing.
type DescriptionReader = fn(&SourceConfig, &DescriptionDocument) -> Result<Arc<dyn Source>, String>;

impl SourceConfig {
    pub(super) fn new(
        name: &str,
        settings: &mux_settings::SourceDefinition,
        addresses: Arc<FirstSeenOrigins>,
    ) -> Self {
        Self {
            addresses,
            name: name.to_owned(),
            settings: settings.clone(),
            lasting: Arc::new(EntryState::new(settings)),
            reader: match settings.kind {
                SourceKind::OpenApi => openapi::read,
                SourceKind::Graphql => graphql::read,
            },
        }
    }

    /// Takes over the state of the previous configuration, if both are the same entry. The two may offer different
    /// functions.
    pub(super) fn after(self, before: &Self) -> Self {
        let same_functions = mux_settings::SourceDefinition {
            exclude: self.settings.exclude.clone(),
            max_functions: self.settings.max_functions,
            ..before.settings.clone()
        };
        if self.settings != same_functions {
            return self;
        }
        Self {
            lasting: Arc::clone(&before.lasting),
            ..self
        }
    }

    /// The key under which the description is cached. `None` if it is not cached.
    pub(super) fn address(&self) -> Option<String> {
        match &self.settings.description {
            Some(DescriptionLocation::Url(url)) => Some(url.clone()),
            Some(DescriptionLocation::File(_)) => None,
            None => {
                let endpoint = self.settings.base_url.as_ref()?;
                Some(format!("introspection of {endpoint}"))
            }
        }
    }

    /// The origin of the description.
    pub(super) fn origin(&self) -> Result<DescriptionOrigin, String> {
        match self.settings.kind {
            SourceKind::OpenApi => self.described(),
            SourceKind::Graphql => graphql::schema_origin(self),
        }
    }

    pub(super) fn read(&self, document: &DescriptionDocument) -> Result<Arc<dyn Source>, String> {
        (self.reader)(self, document)
    }

    #[cfg(test)]
    pub(super) fn names_private(&self) -> bool {
        self.lasting.policy.allows_private()
    }

    #[cfg(test)]
    pub(super) fn with_reader(self, reader: DescriptionReader) -> Self {
        Self { reader, ..self }
    }

    /// The file or the URL that the entry names.
    pub(super) fn described(&self) -> Result<DescriptionOrigin, String> {
        match &self.settings.description {
            Some(DescriptionLocation::File(path)) => Ok(DescriptionOrigin::File(path.clone())),
            Some(DescriptionLocation::Url(url)) => self.far(url).map(DescriptionOrigin::Far),
            None => Err("the entry names no description".into()),
        }
    }

    /// The API at this address, with the entry's credentials, according to the description's security schemes and as
    /// far as `origins` allows.
    pub(super) fn api(
        &self,
        base: &str,
        origins: AllowedOrigins,
        schemes: BTreeMap<String, SecurityScheme>,
    ) -> Result<ApiClient, String> {
        let lasting = &*self.lasting;
        ApiClient::new(
            &self.name,
            &self.settings,
            (base, origins),
            schemes,
            lasting,
        )
    }

    /// True if a description that came from a private network may name addresses there: only if no
    /// description of this entry came from elsewhere before. Waits for the disk.
    pub(super) fn may_name_private(&self, private: bool) -> bool {
        let name = &self.name;
        let written = &self.settings.written;
        // An unreadable file may record such a description.
        let elsewhere = self.addresses.came_from_elsewhere(name, written);
        private && !elsewhere.unwrap_or(true)
    }

    /// Sets whether the current description may name private addresses. Returns the previous setting.
    pub(super) fn let_name_private(&self, private: bool) -> bool {
        let policy = &self.lasting.policy;
        let before = policy.is_seen_private();
        policy.set_seen_private(private);
        before
    }

    /// Records that a description of this entry did not come from a private network: later descriptions do not count as
    /// private either. Waits for the disk.
    pub(super) fn record_elsewhere(&self) {
        let name = &self.name;
        let written = &self.settings.written;
        // The user wrote the address of an endpoint without a description.
        if self.settings.description.is_some() {
            self.addresses.record_elsewhere(name, written);
        }
    }

    /// The origins that this description named when it was first read.
    pub(super) fn first(&self, named: &DescribedOrigins) -> Result<DescribedOrigins, String> {
        let name = &self.name;
        let written = &self.settings.written;
        self.addresses.first(name, written, named)
    }

    /// Sends the entry's headers only to the origin of `base_url`, to which they go with every call.
    fn far(&self, url: &str) -> Result<RemoteDescription, String> {
        let settings = &self.settings;
        let parsed = Url::parse(url).map_err(|_| "its address cannot be read".to_owned())?;
        let base = settings.base_url.as_deref();
        let base = base.and_then(|base| Url::parse(base).ok());
        let headers = if base.is_some_and(|base| base.origin() == parsed.origin()) {
            entry_headers(settings)?
        } else {
            HeaderMap::new()
        };
        // A request without credentials may be redirected anywhere that the policy allows, but never from https to
        // http.
        let free = headers.is_empty();
        let own_host = OwnHostResolver::new(self.lasting.policy.clone(), &parsed);
        let allowed = own_host.clone();
        let policy = redirect::Policy::custom(move |attempt| {
            let from = attempt.previous().first();
            let same = from.is_some_and(|from| from.origin() == attempt.url().origin());
            let safe = from.is_some_and(|from| {
                from.scheme() == attempt.url().scheme() || attempt.url().scheme() == "https"
            });
            let leads = same || (free && safe && allowed.allows(attempt.url()));
            if leads && attempt.previous().len() <= 5 {
                attempt.follow()
            } else {
                attempt.stop()
            }
        });
        let client = client_builder(&settings.network, None)?
            .redirect(policy)
            .dns_resolver(Arc::new(own_host.clone()))
            .build();
        let client = client.map_err(|_| "cannot create the HTTP client".to_owned())?;
        Ok(RemoteDescription {
            address: url.to_owned(),
            base: Some(parsed.clone()),
            fetch: Arc::new(DescriptionFetcher::new(
                client, parsed, headers, settings, own_host,
            )),
        })
    }
}
