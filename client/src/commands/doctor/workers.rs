//! The engine that runs programs, and what holds its process.
//!
//! Invariant: a wall that does not stand is named with what it would have held.

use mux_proto::Status;

use super::Group;

const NAME: &str = "workers";

/// A wall of a worker process on Linux.
struct Wall {
    /// As a worker names it.
    layer: &'static str,
    /// What stands open without it.
    holds: &'static str,
    /// What it needs.
    needs: &'static str,
}

/// In the order in which a worker raises them.
const WALLS: &[Wall] = &[
    Wall {
        layer: "pdeathsig",
        holds: "ends the worker when the daemon is killed",
        needs: "any Linux",
    },
    Wall {
        layer: "no_new_privs",
        holds: "keeps a program that is set-user-id from giving more rights",
        needs: "Linux 3.5",
    },
    Wall {
        layer: "not_dumpable",
        holds: "keeps the user's other processes out of the worker's memory",
        needs: "any Linux",
    },
    Wall {
        layer: "no_core",
        holds: "keeps the worker's memory out of core files",
        needs: "any Linux",
    },
    Wall {
        layer: "landlock",
        holds: "refuses files and TCP",
        needs: "Linux 5.13, for TCP 6.7, with landlock among its security modules (`lsm=` of the kernel)",
    },
    Wall {
        layer: "memory",
        holds: "bounds the worker's whole memory, not only the engine's heap",
        needs: "Linux 4.7, and /proc",
    },
    Wall {
        layer: "processor",
        holds: "ends a worker of which the daemon has lost count",
        needs: "any Linux",
    },
    Wall {
        layer: "descriptors",
        holds: "closes whatever the daemon was started with",
        needs: "Linux 5.9",
    },
    Wall {
        layer: "seccomp_deadly",
        holds: "kills a worker that asks for sockets, other programs or signals",
        needs: "Linux 4.14 with seccomp filters",
    },
    Wall {
        layer: "seccomp",
        holds: "refuses every system call that a worker does not need",
        needs: "Linux 4.14 with seccomp filters",
    },
];

/// What differs on the second engine.
const QUICKJS: &str = "limits that differ: computing is many times slower; `eval` is confined rather \
    than off; `Intl` formats plainly; rejections that nobody awaited are not reported; some programs \
    that use up memory are noticed later";

pub(super) fn look(status: &Status) -> Group {
    let mut group = Group::new(NAME);
    let Some(engine) = &status.engine else {
        let fix = "`mux run -e 'return 1'` starts one";
        group.note("no worker has started yet", Some(fix));
        return group;
    };
    match engine.as_str() {
        "quickjs" => group.warn(
            format!("the engine is quickjs; {QUICKJS}"),
            "build mux-worker with V8: `scripts/setup` says how it finds it (docs/install.md)",
        ),
        engine => group.ok(format!("the engine is {engine}")),
    }
    let walls = &status.workers.layers;
    if cfg!(target_os = "linux") {
        linux(&mut group, walls);
    } else if walls.is_empty() {
        group.warn(
            "nothing but the engine holds a program: this system has no walls for a worker yet",
            "run programs that you do not trust on Linux",
        );
    } else {
        group.ok(format!("walls: {}", walls.join(", ")));
    }
    if status.workers.snapshot {
        group.ok("isolates are built from a snapshot");
    } else {
        group.note(
            "isolates are built without a snapshot, a few milliseconds slower",
            None,
        );
    }
    group
}

fn linux(group: &mut Group, walls: &[String]) {
    let before = group.checks.len();
    for Wall {
        layer,
        holds,
        needs,
    } in WALLS
    {
        let partly = format!("{layer} (partly)");
        if walls.iter().any(|wall| wall == layer) {
            continue;
        }
        let stands = if walls.contains(&partly) {
            "stands in part only"
        } else {
            "does not stand"
        };
        group.warn(
            format!("the wall `{layer}` {stands}; it {holds}"),
            format!("it needs {needs}; a container may also forbid it"),
        );
    }
    if group.checks.len() == before {
        let count = WALLS.len();
        group.ok(format!("all {count} walls stand around a worker's process"));
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Verdict, *};

    #[test]
    fn a_wall_that_does_not_stand_is_a_warning_of_its_own() {
        let all: Vec<String> = WALLS.iter().map(|wall| wall.layer.to_owned()).collect();
        let mut group = Group::new(NAME);
        linux(&mut group, &all);
        assert_eq!(group.checks.len(), 1);
        assert_eq!(group.checks[0].verdict, Verdict::Ok);

        let mut some = all.clone();
        some.retain(|wall| wall != "seccomp");
        for wall in &mut some {
            if wall == "landlock" {
                *wall = "landlock (partly)".into();
            }
        }
        let mut group = Group::new(NAME);
        linux(&mut group, &some);
        let told: Vec<_> = group.checks.iter().map(|c| &c.message).collect();
        assert_eq!(
            told,
            [
                "the wall `landlock` stands in part only; it refuses files and TCP",
                "the wall `seccomp` does not stand; it refuses every system call that a worker does \
                 not need"
            ]
        );
        let fix = group.checks[0].fix.as_ref().unwrap();
        assert!(fix.contains("Linux 5.13"), "{fix}");

        let mut group = Group::new(NAME);
        linux(&mut group, &[]);
        assert_eq!(group.checks.len(), WALLS.len());
    }
}
