//! `[results]`, as the user wrote it.

use super::schema::text;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[results]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct ResultsEntry {
    /// Whether results of servers stand between two lines that name them as data where a model reads them as text.
    #[schemars(extend("default" = true))]
    pub fence: Option<bool>,
    /// `warn`: a result that seems to hold a secret is reported with its server; `mask`: its readers get `***` in place
    /// of the secret, too; `off`: results are not searched.
    #[schemars(schema_with = "text", extend("enum" = ["mask", "warn", "off"], "default" = "warn"))]
    pub secrets: Option<String>,
}
