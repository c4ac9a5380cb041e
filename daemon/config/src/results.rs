//! `[results]`, as the user wrote it.

use super::choices::SecretSearch;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[results]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct ResultsEntry {
    /// `true` puts server results between two lines that mark them as data where a model reads them as text.
    #[schemars(extend("default" = true))]
    pub fence: Option<bool>,
    /// `warn`: a result that seems to contain a secret is reported with the server's name. `mask`: readers also get
    /// `***` instead of the secret. `off`: results are not searched.
    pub secrets: SecretSearch,
}
