//! The runs that a connection may access.
//!
//! Invariant: a run that a connection may not access is reported like one that does not exist, regardless of the ID.

use std::sync::Arc;

use super::ClientOrigin;

/// The user's own clients, by the names that they send in `hello`: the command line, the web page, and the extension
/// for VS Code.
const USER_CLIENTS: [&str; 3] = ["mux", "mux ui", "vscode"];

/// The runs, approvals and pending calls that a connection may access.
#[derive(Clone, Debug)]
pub enum RunAccess {
    /// The runs of all clients, also by number. For the user's own clients.
    Everyone,
    /// The runs of the same client and agent, by full ID.
    Own(Arc<ClientOrigin>),
}

impl RunAccess {
    /// The access of a client. `for_agent` is true if the client says that it acts for an agent, regardless of its
    /// name.
    pub fn of(origin: &Arc<ClientOrigin>, for_agent: bool) -> Self {
        let is_user = USER_CLIENTS.contains(&origin.client.as_str());
        if is_user && origin.agent.is_none() && !for_agent {
            Self::Everyone
        } else {
            Self::Own(Arc::clone(origin))
        }
    }

    /// Returns true if this access includes a run that `owner` started.
    pub fn allows(&self, owner: &ClientOrigin) -> bool {
        self.allows_names(&owner.client, owner.agent.as_deref())
    }

    /// Like [`Self::allows`], by the names of the owner.
    pub fn allows_names(&self, client: &str, agent: Option<&str>) -> bool {
        match self {
            Self::Everyone => true,
            Self::Own(origin) => {
                (origin.client.as_str(), origin.agent.as_deref()) == (client, agent)
            }
        }
    }

    /// Returns true for the user's own clients, which may also use guessable numbers as IDs.
    pub fn is_user(&self) -> bool {
        matches!(self, Self::Everyone)
    }

    /// Returns true if questions of a run of `owner` may be sent to this connection.
    pub fn may_answer(&self, owner: &ClientOrigin) -> bool {
        match self {
            Self::Everyone => true,
            Self::Own(origin) => origin.is_same_client(owner),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(client: &str, agent: Option<&str>, workspace: Option<&str>) -> Arc<ClientOrigin> {
        Arc::new(ClientOrigin::new(client, agent, workspace.map(Into::into)))
    }

    #[test]
    fn user_clients_access_every_run_and_others_their_own() {
        let theirs = origin("claude-code", Some("small"), Some("/a"));
        for client in USER_CLIENTS {
            let access = RunAccess::of(&origin(client, None, None), false);
            assert!(access.is_user() && access.allows(&theirs) && access.may_answer(&theirs));
            // An agent is one even under the name of a user's client.
            for guest in [
                RunAccess::of(&origin(client, None, None), true),
                RunAccess::of(&origin(client, Some("small"), None), false),
            ] {
                assert!(!guest.is_user() && !guest.allows(&theirs));
            }
        }
        let access = RunAccess::of(&theirs, true);
        for (owner, reaches, answers) in [
            (origin("claude-code", Some("small"), Some("/a")), true, true),
            (
                origin("claude-code", Some("small"), Some("/b")),
                true,
                false,
            ),
            (origin("claude-code", Some("big"), Some("/a")), false, false),
            (origin("claude-code", None, Some("/a")), false, false),
            (origin("cursor", Some("small"), Some("/a")), false, false),
            (origin("mux", None, Some("/a")), false, false),
        ] {
            assert_eq!(access.allows(&owner), reaches, "{owner:?}");
            assert_eq!(access.may_answer(&owner), answers, "{owner:?}");
        }
    }
}
