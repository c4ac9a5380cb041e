//! Old kernels, containers and WSL, on which a sandbox layer is missing. A system call filter returns the results of
//! such a kernel or container.

use std::{fs, os::unix::process::CommandExt as _, process::Command};

use mux_lockdown::syscall_filters::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SyscallRules,
    apply_filter, compile_filter, int_equals, rule_with,
};
use mux_tests::{
    Output, TestEnv,
    env::{binary, output, server},
    left_out,
};
use nix::libc;

use super::Elsewhere;
use crate::sandboxes::has_bubblewrap;

/// A filter that answers `errno` to these calls.
fn answering(errno: i32, rules: SyscallRules) -> BpfProgram {
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    compile_filter(rules, SeccompAction::Allow, refuse).unwrap()
}

/// A kernel without Landlock.
fn without_landlock() -> BpfProgram {
    let calls = [
        libc::SYS_landlock_create_ruleset,
        libc::SYS_landlock_add_rule,
        libc::SYS_landlock_restrict_self,
    ];
    answering(libc::ENOSYS, calls.map(|call| (call, Vec::new())).into())
}

/// A kernel without `close_range`, which is newer than the kernels of Ubuntu 20.04 and Debian 10.
fn without_close_range() -> BpfProgram {
    answering(libc::ENOSYS, [(libc::SYS_close_range, Vec::new())].into())
}

/// A kernel without filters of system calls.
fn without_filters() -> [BpfProgram; 2] {
    let set = u64::from(libc::PR_SET_SECCOMP.unsigned_abs());
    let prctl = rule_with(&[int_equals(0, set).unwrap()]).unwrap();
    [
        answering(libc::EINVAL, [(libc::SYS_prctl, vec![prctl])].into()),
        // Last, because it forbids more of them.
        answering(libc::ENOSYS, [(libc::SYS_seccomp, Vec::new())].into()),
    ]
}

/// A container whose filter forbids namespaces, as Docker's.
fn without_namespaces() -> [BpfProgram; 2] {
    let namespaces = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    let new_namespace = namespaces.map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        let is_set = SeccompCmpOp::MaskedEq(flag);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, is_set, flag).unwrap();
        rule_with(&[condition]).unwrap()
    });
    let calls = [
        (libc::SYS_clone, new_namespace.to_vec()),
        (libc::SYS_unshare, Vec::new()),
        (libc::SYS_mount, Vec::new()),
    ];
    [
        answering(libc::EPERM, calls.into()),
        // A filter cannot inspect the flags of this call.
        answering(libc::ENOSYS, [(libc::SYS_clone3, Vec::new())].into()),
    ]
}

/// Runs `mux`, and a daemon that it starts, on such a system.
fn mux_on(env: &TestEnv, system: &[BpfProgram], args: &[&str]) -> Output {
    let mut command = env.command("mux");
    command.args(args);
    on(&mut command, system);
    output(&mut command)
}

#[expect(
    unsafe_code,
    reason = "a filter has to be in force before the program starts"
)]
fn on(command: &mut Command, system: &[BpfProgram]) {
    let system = system.to_vec();
    let apply = move || {
        for filter in &system {
            apply_filter(filter).map_err(|_| std::io::Error::last_os_error())?;
        }
        Ok(())
    };
    // SAFETY: the child makes system calls only, with memory that was prepared before.
    unsafe { command.pre_exec(apply) };
}

/// A home with a server in this sandbox, whose directory `files` it may read.
fn home(sandbox: &str) -> TestEnv {
    let env = TestEnv::new();
    let entry = server("box", &binary("mux-fixture-server"), &["--attempts"]);
    env.write_config(&format!("{entry}sandbox = {sandbox}\n"));
    fs::write(env.path("secret"), "a secret").unwrap();
    env
}

/// The result when the server reads a file outside of its sandbox.
fn read_secret(env: &TestEnv, system: &[BpfProgram]) -> Output {
    let target = env.path("secret");
    let arguments = serde_json::json!({ "what": "read", "target": target }).to_string();
    mux_on(env, system, &["call", "box.attempt", &arguments])
}

fn doctor(env: &TestEnv, system: &[BpfProgram]) -> String {
    // A server that cannot be started is a failure.
    mux_on(env, system, &["doctor"]).stdout
}

#[track_caller]
fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn old_kernel_without_landlock_runs_programs_and_sandboxes_with_bubblewrap() {
    let system = [without_landlock(), without_close_range()];
    let env = home("{}");
    let run = mux_on(&env, &system, &["run", "-e", "return 6 * 7"]).ok();
    contains(&run.stdout, &["42"]);
    let printed = doctor(&env, &system);
    contains(
        &printed,
        &[
            "Landlock is missing",
            "Linux 5.13",
            "the sandbox layer `landlock` is not active",
            "the sandbox layer `descriptors` is not active",
        ],
    );
    assert!(!printed.contains("`seccomp` is not active"), "{printed}");
    if has_bubblewrap() {
        let refused = read_secret(&env, &system).ok().stdout;
        assert!(!refused.contains("a secret"), "{refused}");
        contains(&printed, &["layers namespaces, seccomp, limits"]);
    }
}

#[test]
fn container_without_namespaces_runs_a_server_behind_landlock_and_refuses_what_it_cannot_limit() {
    if !has_bubblewrap() {
        return;
    }
    let system = without_namespaces();
    let env = home("{}");
    let printed = doctor(&env, &system);
    contains(
        &printed,
        &["bubblewrap is installed but cannot create namespaces (bwrap: "],
    );
    if !printed.contains("layers landlock, seccomp") {
        left_out("sandboxes without namespaces", "there is no Landlock 6");
        return;
    }
    let refused = read_secret(&env, &system).ok().stdout;
    assert!(!refused.contains("a secret"), "{refused}");
    for (sandbox, parts) in [
        ("{ memory = \"64MB\" }", &["remove sandbox.memory"][..]),
        ("{ network = [\"a.example\"] }", &["\"none\" or \"any\""]),
    ] {
        let env = home(sandbox);
        let call = read_secret(&env, &system).fails(3, parts);
        // bubblewrap is already installed.
        assert!(!call.stderr.contains("install bubblewrap"), "{call:#?}");
    }
}

#[test]
fn server_with_a_sandbox_does_not_start_without_namespaces_and_landlock() {
    let [namespaces, clone] = without_namespaces();
    let system = [namespaces, clone, without_landlock()];
    let env = home("{}");
    read_secret(&env, &system).fails(3, &["neither bubblewrap", "nor Landlock 6"]);
    contains(
        &doctor(&env, &system),
        &["a server whose entry has a sandbox does not start here"],
    );
    // Programs are still behind system call filters.
    let run = mux_on(&env, &system, &["run", "-e", "return 6 * 7"]).ok();
    contains(&run.stdout, &["42"]);
}

#[test]
fn kernel_without_system_call_filters_runs_programs_and_refuses_sandboxes() {
    let system = without_filters();
    let env = home("{}");
    let run = mux_on(&env, &system, &["run", "-e", "return 6 * 7"]).ok();
    contains(&run.stdout, &["42"]);
    contains(
        &doctor(&env, &system),
        &[
            "system call filters (seccomp) are missing",
            "CONFIG_SECCOMP_FILTER",
            "the sandbox layer `seccomp` is not active",
            "does not start here",
        ],
    );
    read_secret(&env, &system).fails(3, &["seccomp", "sandbox = false"]);
    let bare = server("bare", &binary("mux-fixture-server"), &[]);
    env.write_config(&bare);
    mux_on(&env, &system, &["reload"]).ok();
    mux_on(&env, &system, &["call", "bare.echo", "text=hi"]).ok();
}

#[test]
fn doctor_names_the_rights_of_root() {
    let env = TestEnv::new();
    let printed = env.mux(["doctor"]).ok().stdout;
    let is_root = nix::unistd::geteuid().is_root();
    assert_eq!(printed.contains("muxd runs as root"), is_root, "{printed}");
}

#[test]
fn doctor_recognizes_wsl_1_by_the_release_of_its_kernel() {
    let env = TestEnv::new();
    fs::write(env.path("release"), "4.4.0-22621-Microsoft\n").unwrap();
    let script = r#"mount --bind "$1/release" /proc/sys/kernel/osrelease"#;
    let Some(elsewhere) = Elsewhere::or_told(&env, script) else {
        return;
    };
    let mut inner = env.command("mux");
    let mut command = elsewhere.command(inner.arg("doctor"));
    let [prctl, seccomp] = without_filters();
    on(&mut command, &[without_landlock(), prctl, seccomp]);
    let printed = output(&mut command).fails(0, &[]).stdout;
    contains(
        &printed,
        &[
            "Landlock is missing",
            "seccomp",
            "`wsl --set-version NAME 2`",
        ],
    );
}

#[test]
fn doctor_names_the_version_of_control_groups() {
    if !has_bubblewrap() {
        return;
    }
    for (script, part) in [
        (
            "umount -R /sys/fs/cgroup",
            "there are no control groups: muxd measures",
        ),
        (
            "umount -R /sys/fs/cgroup; mount -t tmpfs none /sys/fs/cgroup; \
             mkdir /sys/fs/cgroup/pids; mount -t cgroup -o pids none /sys/fs/cgroup/pids",
            "control groups have version 1",
        ),
    ] {
        let env = TestEnv::new();
        let Some(elsewhere) = Elsewhere::or_told(&env, script) else {
            continue;
        };
        elsewhere.mux(&["doctor"]).fails(0, &[part]);
    }
}
