//! How children start: their descriptors and environment, their exits, and failures to start.
//!
//! Invariant: every answer concerns the child that was requested, however many there are.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use mux_keeper::{Keeper, SpawnError, SpawnSpec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::place::{PATIENCE, Place, output};

#[tokio::test]
async fn a_child_reads_and_writes_through_its_pipes() {
    let place = Place::new("echo");
    let keeper = place.keeper().await;
    let mut child = keeper
        .spawn(place.sh("echo aside >&2; cat; exit 3"))
        .await
        .unwrap();
    child
        .stdin
        .as_mut()
        .unwrap()
        .write_all(b"over and out")
        .await
        .unwrap();
    let mut aside = String::new();
    let mut stderr = child.stderr.take().unwrap();
    drop(child.stdin.take());
    stderr.read_to_string(&mut aside).await.unwrap();
    assert_eq!(aside, "aside\n");
    let (said, exit) = output(child).await;
    assert_eq!(said, "over and out");
    assert_eq!(exit.to_string(), "exit code 3");
    keeper.close().await;
}

#[tokio::test]
async fn signals_are_reported_with_and_without_a_name() {
    let place = Place::new("signals");
    let keeper = place.keeper().await;
    let mut exits = Vec::new();
    for number in [9, 15, 40] {
        let child = keeper
            .spawn(place.sh(&format!("kill -{number} $$")))
            .await
            .unwrap();
        exits.push(child.wait().await.to_string());
    }
    let said = [
        "killed by signal 9 (SIGKILL)",
        "killed by signal 15 (SIGTERM)",
        "killed by signal 40",
    ];
    assert_eq!(exits, said);
}

#[tokio::test]
async fn spawn_failure_has_a_reason_and_the_next_spawn_succeeds() {
    let place = Place::new("refusals");
    let keeper = place.keeper().await;
    let notes = place.path("notes");
    let script = place.path("script");
    fs::write(&notes, "no program").unwrap();
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let refusal = async |change: &dyn Fn(&mut SpawnSpec)| {
        let mut spec = place.sh("true");
        change(&mut spec);
        keeper.spawn(spec).await.unwrap_err()
    };

    let error = refusal(&|spec| spec.program = "no-such-tool".into()).await;
    assert_eq!(error.to_string(), "`no-such-tool` is not in PATH");
    let SpawnError::NotInPath { searched, .. } = error else {
        panic!("{error}");
    };
    assert!(
        searched.contains(&PathBuf::from("/usr/bin")),
        "{searched:?}"
    );
    let error = refusal(&|spec| spec.program = script.clone()).await;
    assert!(matches!(error, SpawnError::NoInterpreter { .. }), "{error}");
    let error = refusal(&|spec| spec.program = notes.clone()).await;
    assert!(matches!(error, SpawnError::NotExecutable { .. }), "{error}");
    for cwd in [
        place.path("nowhere"),
        notes.clone(),
        PathBuf::from("relative"),
    ] {
        let error = refusal(&|spec| spec.cwd = cwd.clone()).await;
        assert!(matches!(error, SpawnError::BadCwd { .. }), "{error}");
    }
    let error = refusal(&|spec| spec.args.push("x".repeat(2 << 20).into())).await;
    assert!(matches!(error, SpawnError::Other { .. }), "{error}");

    let (_, exit) = output(keeper.spawn(place.sh("true")).await.unwrap()).await;
    assert_eq!(exit.code, Some(0));
}

#[tokio::test]
async fn a_child_inherits_nothing_but_its_pipes() {
    let place = Place::new("inheritance");
    let keeper = place.keeper().await;
    // The keeper has descriptors of another child open at the same time.
    let other = keeper.spawn(place.sh("cat")).await.unwrap();
    let script = "ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign)' /proc/self/status";
    let (said, _) = output(keeper.spawn(place.sh(script)).await.unwrap()).await;
    let [fds, blocked, ignored] = said.lines().collect::<Vec<_>>()[..] else {
        panic!("three lines: {said}");
    };
    // The fourth is the directory that `ls` reads.
    assert_eq!(fds, "4");
    assert_eq!(blocked, "SigBlk:\t0000000000000000");
    let ignored = u64::from_str_radix(ignored.split_whitespace().next_back().unwrap(), 16);
    // Signals above 31 belong to the C library, whose posix_spawn ignores them.
    assert_eq!(ignored.unwrap() & 0x7fff_ffff, 0);

    let mut bare = place.sh("");
    (bare.program, bare.args) = ("env".into(), Vec::new());
    bare.env.push(("ODD".into(), "gr\u{fc}n".into()));
    let (said, _) = output(keeper.spawn(bare).await.unwrap()).await;
    let mut names: Vec<&str> = said
        .lines()
        .map(|line| line.split('=').next().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["MUX_KEPT", "ODD", "PATH", "WITNESS"]);
    assert!(
        said.contains(&format!("MUX_KEPT=test/{}/", keeper.pid())),
        "{said}"
    );
    other.stop(PATIENCE).await;
}

#[tokio::test]
async fn a_hundred_at_once_get_their_own_answers() {
    let place = Place::new("hundred");
    let keeper = place.keeper().await;
    let children: Vec<_> = (0..100)
        .map(|number| {
            let keeper = keeper.clone();
            let spec = place.sh(&format!("echo {number}; exit {number}"));
            tokio::spawn(async move { output(keeper.spawn(spec).await.unwrap()).await })
        })
        .collect();
    for (number, child) in children.into_iter().enumerate() {
        let (said, exit) = child.await.unwrap();
        assert_eq!(said.trim(), number.to_string());
        assert_eq!(exit.code, i32::try_from(number).ok());
    }
}

#[tokio::test]
async fn a_program_that_is_no_keeper_is_an_error() {
    let place = Place::new("stillborn");
    let error = Keeper::start("/bin/false".as_ref(), &place.path("lock"))
        .await
        .unwrap_err();
    let said = "start the keeper: it exited (exit status: 1) before the handshake";
    assert_eq!(error.to_string(), said);
    let missing = Keeper::start("/no/muxd".as_ref(), &place.path("lock")).await;
    assert_eq!(
        missing.unwrap_err().to_string(),
        "start the keeper /no/muxd"
    );
}
