//! Loads the time zone, which libraries otherwise read from files when they format the first date, after the lockdown.
//!
//! Invariant: after [`load_time_zone`] no date opens a file. The variable that is set never leaves the process and does not show
//! in `/proc/<pid>/environ`, which has the environment at the start.

use std::{fs, path::Path};

use nix::libc;

/// Finds the name of the system's time zone and makes the C library load its rules. The default is UTC.
#[expect(
    unsafe_code,
    reason = "the C library and ICU take the zone from TZ only"
)]
#[expect(
    clippy::disallowed_methods,
    reason = "nothing has read the environment yet, and no setting is made of it"
)]
pub(super) fn load_time_zone() {
    let name = zone_name().unwrap_or_else(|| "UTC".into());
    // SAFETY: this is called before there is a second thread, so no other thread reads the environment.
    unsafe { std::env::set_var("TZ", name) };
    let now: libc::time_t = 0;
    // SAFETY: an all-zero `tm` is a value of its type (integers and a pointer that may be null).
    let mut broken_down: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals, which the call does not keep.
    unsafe { libc::localtime_r(&raw const now, &raw mut broken_down) };
}

/// The name as `Area/City`, from the `/etc/localtime` link or from Debian's file.
fn zone_name() -> Option<String> {
    let target = fs::canonicalize("/etc/localtime").ok();
    let linked = target
        .as_deref()
        .and_then(Path::to_str)
        .and_then(|path| path.split_once("/zoneinfo/"))
        .map(|(_, name)| name.trim_start_matches("posix/").to_owned());
    let written = || fs::read_to_string("/etc/timezone").ok();
    let name = linked.or_else(written)?.trim().to_owned();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_+-".contains(c);
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}
