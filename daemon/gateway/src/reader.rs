//! A caller as a reader of the catalog: others' activity is hidden from it for tools that policy denies.
//!
//! Invariant: policy is asked as for a call with yet unknown arguments.

use std::sync::Arc;

use mux_upstream::Upstreams;

use super::{
    Gateway,
    permission::{CallerQuestion, PolicyTarget},
};
use mux_caller::{ClientOrigin, RunAccess};
use mux_catalog::{CatalogReader, Scope, Tool, caller_digest};
use mux_policy::{GivenArguments, PolicyDecision, PolicySet, RuleAction};

/// The inputs on which a tool's denial depends.
struct ReaderPolicy {
    upstreams: Arc<Upstreams>,
    policies: Arc<PolicySet>,
    scope: Arc<Scope>,
    origin: Arc<ClientOrigin>,
}

impl Gateway {
    /// This client as a reader: the user, or a caller that sees little of others' activity.
    pub fn reader(&self, origin: &Arc<ClientOrigin>, scope: &Arc<Scope>) -> CatalogReader {
        if RunAccess::of(origin, origin.for_agent).is_user() {
            return CatalogReader::user();
        }
        let policy = ReaderPolicy {
            upstreams: Arc::clone(&self.upstreams),
            policies: self.policies(),
            scope: Arc::clone(scope),
            origin: Arc::clone(origin),
        };
        let configuration = self.configuration();
        CatalogReader::caller(digest_of(origin), configuration, move |tool| {
            policy.denies(tool)
        })
    }
}

/// The digest of a caller, by which it recognizes its own results.
pub(super) fn digest_of(origin: &ClientOrigin) -> u64 {
    let workspace = origin.workspace.as_deref();
    caller_digest(&origin.client, origin.agent.as_deref(), workspace)
}

impl ReaderPolicy {
    /// True if policy denies the tool for all arguments.
    fn denies(&self, tool: &Tool) -> bool {
        let Ok(server) = self.upstreams.find_visible(&tool.server, &self.scope) else {
            return true;
        };
        let Some(tools) = server.tools() else {
            return true;
        };
        let asked = CallerQuestion::of_caller(
            Arc::clone(&self.policies),
            Arc::clone(&self.scope),
            Arc::clone(&self.origin),
            PolicyTarget::of_tool(&server, tool, &tools),
        );
        let decision = asked.decide(GivenArguments::Unread);
        matches!(decision, PolicyDecision::Made(verdict) if verdict.action == RuleAction::Deny)
    }
}
