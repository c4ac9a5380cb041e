//! Linux: no core files, no new privileges, and death together with the daemon.

use nix::sys::{
    prctl,
    resource::{Resource, setrlimit},
    signal::Signal,
};

pub(super) fn before_engine() {
    // A kernel that refuses one of these still has the daemon's own deadline and socket behind it.
    _ = prctl::set_pdeathsig(Signal::SIGKILL);
    _ = prctl::set_no_new_privs();
    _ = prctl::set_dumpable(false);
    _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
}
