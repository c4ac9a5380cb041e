//! Checks the engine that runs programs, and the sandbox layers of its process.
//!
//! Invariant: a missing layer is reported with its effect.

use mux_proto::Status;

use super::CheckGroup;

/// A sandbox layer of a worker process on Linux.
struct SandboxLayer {
    /// The name that a worker reports.
    layer: &'static str,
    /// The effect of the layer.
    holds: &'static str,
    /// The system's requirements for the layer.
    needs: &'static str,
}

/// In the order in which a worker enables them.
const SANDBOX_LAYERS: &[SandboxLayer] = &[
    SandboxLayer {
        layer: "pdeathsig",
        holds: "ends the worker when the daemon is killed",
        needs: "any Linux",
    },
    SandboxLayer {
        layer: "no_new_privs",
        holds: "keeps set-user-id programs from granting more rights",
        needs: "Linux 3.5",
    },
    SandboxLayer {
        layer: "not_dumpable",
        holds: "keeps the user's other processes out of the worker's memory",
        needs: "any Linux",
    },
    SandboxLayer {
        layer: "no_core",
        holds: "keeps the worker's memory out of core files",
        needs: "any Linux",
    },
    SandboxLayer {
        layer: "landlock",
        holds: "refuses files and TCP",
        needs: "Linux 5.13, for TCP 6.7, with landlock among its security modules (`lsm=` of the kernel)",
    },
    SandboxLayer {
        layer: "memory",
        holds: "limits the worker's whole memory, not only the engine's heap",
        needs: "Linux 4.7, and /proc",
    },
    SandboxLayer {
        layer: "processor",
        holds: "ends a worker that the daemon has lost track of",
        needs: "any Linux",
    },
    SandboxLayer {
        layer: "descriptors",
        holds: "closes the file descriptors that the daemon was started with",
        needs: "Linux 5.9",
    },
    SandboxLayer {
        layer: "seccomp_deadly",
        holds: "kills a worker that asks for sockets, other programs or signals",
        needs: "Linux 4.14 with seccomp filters",
    },
    SandboxLayer {
        layer: "seccomp",
        holds: "refuses every system call that a worker does not need",
        needs: "Linux 4.14 with seccomp filters",
    },
];

/// How QuickJS differs from V8.
const QUICKJS_DIFFERENCES: &str = "it differs: code runs many times slower; `eval` is confined, not disabled; `Intl` \
    formats plainly; unawaited rejections are not reported; some programs that exhaust memory are noticed later";

pub(super) fn check_workers(group: &mut CheckGroup, status: &Status) {
    let Some(engine) = &status.engine else {
        let fix = "`mux run -e 'return 1'` starts one";
        group.note("no worker has started yet", Some(fix));
        return;
    };
    match engine.as_str() {
        "quickjs" => group.warn(
            format!("the engine is quickjs; {QUICKJS_DIFFERENCES}"),
            "build mux-worker with V8: see docs/dev/platforms.md for how `scripts/setup` finds it",
        ),
        engine => group.ok(format!("the engine is {engine}")),
    }
    let walls = &status.workers.layers;
    if cfg!(target_os = "linux") {
        check_linux_layers(group, walls);
    } else if walls.is_empty() {
        group.warn(
            "only the engine confines a program: there are no sandbox layers for this system yet",
            "run programs that you do not trust on Linux",
        );
    } else if cfg!(windows) {
        group.warn(
            format!(
                "the sandbox layers here are {}; they refuse neither your files nor the network",
                walls.join(", ")
            ),
            "run programs that you do not trust on Linux",
        );
    } else {
        group.ok(format!("sandbox layers: {}", walls.join(", ")));
    }
    if status.workers.snapshot {
        group.ok("isolates are built from a snapshot");
    } else {
        group.note(
            "isolates are built without a snapshot, which is a few milliseconds slower",
            None,
        );
    }
}

fn check_linux_layers(group: &mut CheckGroup, walls: &[String]) {
    let before = group.checks.len();
    for SandboxLayer {
        layer,
        holds,
        needs,
    } in SANDBOX_LAYERS
    {
        let partly = format!("{layer} (partly)");
        if walls.iter().any(|wall| wall == layer) {
            continue;
        }
        let stands = if walls.contains(&partly) {
            "is active only in part"
        } else {
            "is not active"
        };
        group.warn(
            format!("the sandbox layer `{layer}` {stands}; it {holds}"),
            format!("it needs {needs}; a container may also forbid it"),
        );
    }
    if group.checks.len() == before {
        let count = SANDBOX_LAYERS.len();
        group.ok(format!("all {count} sandbox layers of a worker are active"));
    }
}

#[cfg(test)]
mod tests {
    use super::{super::CheckVerdict, *};

    #[test]
    fn each_missing_sandbox_layer_is_a_warning() {
        let all: Vec<String> = SANDBOX_LAYERS
            .iter()
            .map(|wall| wall.layer.to_owned())
            .collect();
        let mut group = CheckGroup::new("workers");
        check_linux_layers(&mut group, &all);
        assert_eq!(group.checks.len(), 1);
        assert_eq!(group.checks[0].verdict, CheckVerdict::Ok);

        let mut some = all.clone();
        some.retain(|wall| wall != "seccomp");
        for wall in &mut some {
            if wall == "landlock" {
                *wall = "landlock (partly)".into();
            }
        }
        let mut group = CheckGroup::new("workers");
        check_linux_layers(&mut group, &some);
        let messages: Vec<_> = group.checks.iter().map(|c| &c.message).collect();
        assert_eq!(
            messages,
            [
                "the sandbox layer `landlock` is active only in part; it refuses files and TCP",
                "the sandbox layer `seccomp` is not active; it refuses every system call that a worker does \
                 not need"
            ]
        );
        let fix = group.checks[0].fix.as_ref().unwrap();
        assert!(fix.contains("Linux 5.13"), "{fix}");

        let mut group = CheckGroup::new("workers");
        check_linux_layers(&mut group, &[]);
        assert_eq!(group.checks.len(), SANDBOX_LAYERS.len());
    }
}
