//! A server's lists of tools, resources and prompts: fetched page by page, compared with the pins, cached until they
//! expire or change.

mod list_cache;
mod list_expiry;
mod list_kind;
mod list_pages;
mod refresh_pacing;
mod server_catalog_entry;
mod tools_list;
mod tools_refresh;

pub use self::list_kind::ListKind;
pub(crate) use self::{
    list_cache::{FetchedList, ListCaches},
    list_expiry::{ListExpiry, shorter_ttl},
    list_pages::ListPages,
    refresh_pacing::RefreshPacing,
    server_catalog_entry::ServerCatalogEntry,
    tools_list::{ListPage, ListToolsError, ListedTools, list_tools},
    tools_refresh::ToolsRefresh,
};
