//! Landlock: which files a process can open, create or execute, and whether it can use TCP ports. The process cannot
//! signal processes outside of its restriction, nor connect to their abstract sockets.

use std::{fs::File, path::PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use nix::{errno::Errno, libc};

/// The newest version of the rights that this program knows. Older kernels enforce the rights that they support.
const LANDLOCK_ABI: ABI = ABI::V6;

/// The accesses that stay allowed.
#[derive(Debug, Default)]
pub struct LandlockAllowances {
    /// Files and directories that may be read and executed. Paths that cannot be opened are skipped.
    pub read: Vec<PathBuf>,
    /// Files and directories that may be read, executed and changed.
    pub write: Vec<PathBuf>,
    /// The same for objects that are already open. Their paths are not followed again.
    pub read_objects: Vec<File>,
    pub write_objects: Vec<File>,
    pub tcp: bool,
}

/// Restricts the calling thread and the threads that it starts later. Returns the name of the layer, if the kernel
/// enforces it.
pub fn restrict(allowed: &LandlockAllowances) -> Option<String> {
    let status = restrict_self(allowed).ok()?;
    match status {
        RulesetStatus::FullyEnforced => Some("landlock".into()),
        RulesetStatus::PartiallyEnforced => Some("landlock (partly)".into()),
        RulesetStatus::NotEnforced => None,
    }
}

fn restrict_self(allowed: &LandlockAllowances) -> Result<RulesetStatus, RulesetError> {
    let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(LANDLOCK_ABI))?;
    if !allowed.tcp {
        ruleset = ruleset.handle_access(AccessNet::from_all(LANDLOCK_ABI))?;
    }
    let restricted = ruleset
        .scope(Scope::from_all(LANDLOCK_ABI))?
        .create()?
        .add_rules(path_beneath_rules(
            &allowed.read,
            AccessFs::from_read(LANDLOCK_ABI),
        ))?
        .add_rules(path_beneath_rules(
            &allowed.write,
            AccessFs::from_all(LANDLOCK_ABI),
        ))?
        .add_rules(object_rules(
            &allowed.read_objects,
            AccessFs::from_read(LANDLOCK_ABI),
        ))?
        .add_rules(object_rules(
            &allowed.write_objects,
            AccessFs::from_all(LANDLOCK_ABI),
        ))?
        .restrict_self()?;
    Ok(restricted.ruleset)
}

/// A file has only the rights of files: the kernel refuses a rule with those of folders.
fn object_rules(
    objects: &[File],
    access: BitFlags<AccessFs>,
) -> impl Iterator<Item = Result<PathBeneath<&File>, RulesetError>> {
    objects.iter().map(move |object| {
        let is_folder = object.metadata().is_ok_and(|found| found.is_dir());
        let access = if is_folder {
            access
        } else {
            access & AccessFs::from_file(LANDLOCK_ABI)
        };
        Ok(PathBeneath::new(object, access))
    })
}

/// The version of Landlock that the kernel supports. Otherwise the error is ENOSYS of a kernel without Landlock,
/// EOPNOTSUPP of a kernel that has it switched off, or the error that a container's filter returns.
#[expect(unsafe_code, reason = "the crate does not tell the version")]
pub fn supported_version() -> Result<u32, Errno> {
    const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
    // SAFETY: with this flag the call takes no attributes, creates nothing, and returns the version.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(version).map_err(|_| Errno::last())
}
