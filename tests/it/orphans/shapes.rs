//! The shapes of process trees of servers, as data: the commands that a shell runs instead of the server.
//!
//! In each script `$0` and `$@` are the fixture server and its arguments, and `$WITNESS` is a file of the round.
//! Invariant: every process mentions the round in its arguments or its environment, and ends by itself when the test
//! ends.

use mux_tests::{TestEnv, env::binary};

pub(super) struct Shape {
    pub(super) name: &'static str,
    script: &'static str,
    args: &'static [&'static str],
}

/// Defines `$STAY` for the scripts: a process that only SIGKILL ends, and that ends with the test.
const STAY: &str = r#"STAY='trap "" TERM HUP INT; exec tail -q --pid="$TESTER" -f "$WITNESS" >/dev/null 2>&1'; export STAY; "#;

const DEAF: &[&str] = &["--ignore-eof", "--ignore-term"];

/// The shape of a process that left its parent and its environment: it cannot be identified after its ancestors have
/// exited.
pub(super) const BARE: &str = "bare";

pub(super) const SHAPES: &[Shape] = &[
    Shape {
        name: "plain",
        script: r#"exec "$0" "$@""#,
        args: &[],
    },
    // A package runner, a shell below it, and the server below that.
    Shape {
        name: "npx",
        script: r#"sh -c '"$0" "$@"; exit $?' "$0" "$@"; exit $?"#,
        args: &[],
    },
    Shape {
        name: "npx_deaf",
        script: r#"sh -c '"$0" "$@"; exit $?' "$0" "$@"; exit $?"#,
        args: DEAF,
    },
    // A runner that waits for its child, and dies on a signal without ending it.
    Shape {
        name: "uvx",
        script: r#"exec 3<&0; "$0" "$@" <&3 & wait $!"#,
        args: &["--ignore-eof"],
    },
    Shape {
        name: "deaf",
        script: r#"trap "" HUP INT; exec "$0" "$@""#,
        args: DEAF,
    },
    Shape {
        name: "family",
        script: r#"exec "$0" "$@""#,
        args: &["--grandchild", "--setsid", "--hold-stdio"],
    },
    // Forked twice, with its own session and init as its parent.
    Shape {
        name: "double_fork",
        script: r#"(setsid sh -c "$STAY" &) ; exec "$0" "$@""#,
        args: &[],
    },
    // A double fork that also clears its environment.
    Shape {
        name: BARE,
        script: r#"(setsid env -i PATH="$PATH" TESTER="$TESTER" WITNESS="$WITNESS" sh -c "$STAY" &)
            exec "$0" "$@""#,
        args: &["--ignore-eof"],
    },
    // Starts another process on SIGTERM.
    Shape {
        name: "heir",
        script: r#"heir() { setsid sh -c "$STAY" & }
            trap heir TERM
            exec 3<&0; "$0" "$@" <&3 &
            wait $!; heir; wait"#,
        args: &[],
    },
    // Starts one process after the other until it is killed, or the test has ended.
    Shape {
        name: "fertile",
        script: r#"(trap "" TERM HUP; n=0; while [ $((n += 1)) -lt 4000 ] && kill -0 "$TESTER" 2>/dev/null; do setsid sh -c "$STAY" & sleep 0.05; done) &
            exec "$0" "$@""#,
        args: DEAF,
    },
];

impl Shape {
    /// The entry `[servers.NAME]` of this shape. The server's process and all its descendants mention `witness`. A
    /// server that was killed does not start again in the background.
    pub(super) fn entry(&self, env: &TestEnv, name: &str, witness: &str, more: &[&str]) -> String {
        let pids = env.pid_file(name);
        let script = format!("{STAY}{}", self.script);
        let mut words = vec!["-c", &script];
        let fixture = binary("mux-fixture-server");
        words.push(fixture.to_str().unwrap());
        words.extend(["--pid-file", pids.to_str().unwrap()]);
        words.extend(self.args.iter().chain(more));
        let tester = std::process::id();
        format!(
            "[servers.{name}]\ncommand = \"sh\"\nargs = {words:?}\n\
             env = {{ WITNESS = {witness:?}, TESTER = \"{tester}\" }}\nstart = \"lazy\"\n"
        )
    }
}
