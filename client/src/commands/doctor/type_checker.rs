//! Checks the type checker, as the daemon reports it.

use mux_proto::Status;

use super::CheckGroup;

pub(super) fn check_type_checker(group: &mut CheckGroup, status: &Status) {
    let checker = &status.checker;
    match (&checker.problem, &checker.version) {
        (Some(problem), _) => group.warn(
            format!("programs run unchecked: {problem}"),
            "`mux setup` fetches the compiler",
        ),
        (None, Some(version)) => group.ok(format!("programs are checked by TypeScript {version}")),
        (None, None) => group.note("no program has been checked yet", None),
    }
}
