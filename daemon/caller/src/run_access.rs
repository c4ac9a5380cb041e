//! Which runs a connection may reach.
//!
//! Invariant: what a connection may not reach is answered as what does not exist, whatever id it was asked by.

use std::sync::Arc;

use super::ClientOrigin;

/// The client programs of the user himself, by the names that they give in `hello`: the command line, the page, and the
/// extension for VS Code.
const USER_CLIENTS: [&str; 3] = ["mux", "mux ui", "vscode"];

/// The runs, approvals and pending calls that a connection finds.
#[derive(Clone, Debug)]
pub enum RunAccess {
    /// Those of everybody, also by their numbers: a client of the user himself.
    Everyone,
    /// Those of the same client and agent, by their whole ids.
    Own(Arc<ClientOrigin>),
}

impl RunAccess {
    /// `for_agent`: the client said that it speaks for an agent, whatever it is called.
    pub fn of(origin: &Arc<ClientOrigin>, for_agent: bool) -> Self {
        let is_user = USER_CLIENTS.contains(&origin.client.as_str());
        match is_user && origin.agent.is_none() && !for_agent {
            true => Self::Everyone,
            false => Self::Own(Arc::clone(origin)),
        }
    }

    /// Whether a run that was begun by `owner` is found.
    pub fn allows(&self, owner: &ClientOrigin) -> bool {
        self.allows_names(&owner.client, owner.agent.as_deref())
    }

    /// Like [`Self::retry_allows`], by the names of the owner.
    pub fn allows_names(&self, client: &str, agent: Option<&str>) -> bool {
        match self {
            Self::Everyone => true,
            Self::Own(origin) => {
                (origin.client.as_str(), origin.agent.as_deref()) == (client, agent)
            }
        }
    }

    /// Whether it is a client of the user himself, which also finds things by numbers that can be counted up.
    pub fn is_user(&self) -> bool {
        matches!(self, Self::Everyone)
    }

    /// Whether the user behind this connection may be asked what a run of `owner` wants to know.
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
    fn the_users_own_clients_reach_every_run_and_others_their_own() {
        let theirs = origin("claude-code", Some("small"), Some("/a"));
        for client in USER_CLIENTS {
            let access = RunAccess::of(&origin(client, None, None), false);
            assert!(access.is_user() && access.allows(&theirs) && access.may_answer(&theirs));
            // Whatever an agent calls itself, it is one.
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
