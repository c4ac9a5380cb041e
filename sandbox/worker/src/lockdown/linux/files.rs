//! Landlock: no file can be opened, made or run, no TCP port used, and no process outside be signalled.
//!
//! Invariant: nothing is allowed by rule, so there is no path that a later change could widen.

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetError, RulesetStatus, Scope,
};

/// The newest rights that are known to this program; an older kernel enforces those that it has.
const NEWEST: ABI = ABI::V6;

/// Binds the calling thread and those that it starts later. Names what the kernel enforces of it.
pub(super) fn deny_all() -> Option<String> {
    let status = restrict().ok()?;
    match status {
        RulesetStatus::FullyEnforced => Some("landlock".into()),
        RulesetStatus::PartiallyEnforced => Some("landlock (partly)".into()),
        RulesetStatus::NotEnforced => None,
    }
}

fn restrict() -> Result<RulesetStatus, RulesetError> {
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .restrict_self()?;
    Ok(restricted.ruleset)
}
