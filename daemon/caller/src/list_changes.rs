//! Changes to the tool, resource and prompt lists.

use mux_messages::NoticeKind;
use tokio::sync::watch;

/// Which lists have changed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ListChanges {
    pub tools: bool,
    pub resources: bool,
    pub prompts: bool,
}

impl ListChanges {
    pub const ALL: Self = Self {
        tools: true,
        resources: true,
        prompts: true,
    };
    pub const TOOLS: Self = Self {
        tools: true,
        resources: false,
        prompts: false,
    };
    pub const RESOURCES: Self = Self {
        tools: false,
        resources: true,
        prompts: false,
    };
    pub const PROMPTS: Self = Self {
        tools: false,
        resources: false,
        prompts: true,
    };

    pub fn any(self) -> bool {
        self != Self::default()
    }

    pub(super) fn notice(self) -> NoticeKind {
        NoticeKind::Changed {
            tools: self.tools,
            resources: self.resources,
            prompts: self.prompts,
        }
    }
}

/// How often each list has changed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct ListVersions {
    tools: u64,
    resources: u64,
    prompts: u64,
}

impl ListVersions {
    pub(super) fn changes_since(self, older: Self) -> ListChanges {
        ListChanges {
            tools: self.tools != older.tools,
            resources: self.resources != older.resources,
            prompts: self.prompts != older.prompts,
        }
    }
}

/// Notifies mailboxes of changes. Never blocks. Changes are merged, not queued.
#[derive(Debug, Default)]
pub struct ListChangeNotifier(watch::Sender<ListVersions>);

impl ListChangeNotifier {
    pub fn notify_changed(&self, changed: ListChanges) {
        self.0.send_if_modified(|edition| {
            edition.tools += u64::from(changed.tools);
            edition.resources += u64::from(changed.resources);
            edition.prompts += u64::from(changed.prompts);
            changed.any()
        });
    }

    pub(super) fn subscribe_versions(&self) -> watch::Receiver<ListVersions> {
        self.0.subscribe()
    }
}
