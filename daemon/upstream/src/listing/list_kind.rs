//! The kinds of lists other than tools.

use rmcp::model::ServerCapabilities;

use mux_caller::ListChanges;

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ListKind {
    Resources,
    ResourceTemplates,
    Prompts,
}

impl ListKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::ResourceTemplates => "resource templates",
            Self::Prompts => "prompts",
        }
    }

    /// The name of one item.
    pub(crate) fn item_name(self) -> &'static str {
        match self {
            Self::Resources => "resource",
            Self::ResourceTemplates => "resource template",
            Self::Prompts => "prompt",
        }
    }

    /// The MCP method.
    pub fn method(self) -> &'static str {
        match self {
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    pub(crate) fn as_changed(self) -> ListChanges {
        match self {
            Self::Resources | Self::ResourceTemplates => ListChanges::RESOURCES,
            Self::Prompts => ListChanges::PROMPTS,
        }
    }

    /// The field of a result page that holds the items.
    pub(crate) fn page_field(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The member that identifies an item.
    pub(crate) fn item_key(self) -> &'static str {
        match self {
            Self::Resources => "uri",
            Self::ResourceTemplates => "uriTemplate",
            Self::Prompts => "name",
        }
    }

    pub(crate) fn is_declared(self, can: &ServerCapabilities) -> bool {
        match self {
            Self::Resources | Self::ResourceTemplates => can.resources.is_some(),
            Self::Prompts => can.prompts.is_some(),
        }
    }
}
