//! Checks the type checker, as the daemon reports it.

use mux_proto::Status;

use super::Group;

const NAME: &str = "types";

pub(super) fn look(status: &Status) -> Group {
    let mut group = Group::new(NAME);
    let checker = &status.checker;
    match (&checker.problem, &checker.version) {
        (Some(problem), _) => group.warn(
            format!("programs run unchecked: {problem}"),
            "`mux setup` fetches the compiler",
        ),
        (None, Some(version)) => group.ok(format!("programs are checked by TypeScript {version}")),
        (None, None) => group.note("no program was checked yet", None),
    }
    group
}
