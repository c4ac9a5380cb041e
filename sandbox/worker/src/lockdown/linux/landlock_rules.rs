//! Landlock: the process cannot open, create or execute files, use TCP ports, or signal other processes.
//!
//! Invariant: there are no rules that allow anything, so there is no path that a later change could widen.

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetError, RulesetStatus, Scope,
};

/// The newest version of the rights that this program knows; an older kernel enforces those that it supports.
const LANDLOCK_ABI: ABI = ABI::V6;

/// Restricts the calling thread and those that it starts later. Returns the name of the layer, if the kernel enforces
/// it.
pub(super) fn deny_all() -> Option<String> {
    let status = restrict_self().ok()?;
    match status {
        RulesetStatus::FullyEnforced => Some("landlock".into()),
        RulesetStatus::PartiallyEnforced => Some("landlock (partly)".into()),
        RulesetStatus::NotEnforced => None,
    }
}

fn restrict_self() -> Result<RulesetStatus, RulesetError> {
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK_ABI))?
        .handle_access(AccessNet::from_all(LANDLOCK_ABI))?
        .scope(Scope::from_all(LANDLOCK_ABI))?
        .create()?
        .restrict_self()?;
    Ok(restricted.ruleset)
}
