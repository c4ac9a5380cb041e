//! Release archives: `scripts/release` on existing binaries, and the versions that the binaries print.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use mux_tests::{
    TestEnv,
    env::{binary, output},
};
use sha2::{Digest, Sha256};

const BUILD: &str = env!("CARGO_PKG_VERSION");

/// A folder with this `mux`, and with a `muxd` and a `mux-worker` that only print their version.
fn programs(env: &TestEnv, worker: &str) -> PathBuf {
    let folder = env.path("programs");
    fs::create_dir(&folder).unwrap();
    symlink(binary("mux"), folder.join("mux")).unwrap();
    for (name, said) in [
        ("muxd", format!("muxd {BUILD} (contract 5)")),
        ("mux-worker", worker.to_owned()),
    ] {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\necho '{said}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

fn release(env: &TestEnv, programs: &Path) -> mux_tests::Output {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut command = Command::new(top.join("scripts/release"));
    command.arg("--binaries").arg(programs);
    output(command.arg("--out").arg(env.path("out")))
}

#[test]
fn archive_contains_every_file_and_its_checksum_is_right() {
    let env = TestEnv::new();
    let programs = programs(&env, &format!("mux-worker {BUILD} (engine v8 1.2.3)"));
    let archive = PathBuf::from(release(&env, &programs).ok().stdout.trim());
    let name = archive.file_name().unwrap().to_str().unwrap().to_owned();
    let top = name.strip_suffix(".tar.gz").unwrap();
    assert!(top.starts_with(&format!("mux-{BUILD}-")), "{name}");

    let sum = fs::read_to_string(archive.with_file_name(format!("{name}.sha256"))).unwrap();
    let digest = Sha256::digest(fs::read(&archive).unwrap());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(sum.split_whitespace().collect::<Vec<_>>(), [&digest, &name]);

    let listed = output(Command::new("tar").arg("-tzf").arg(&archive)).ok();
    let listed: Vec<&str> = listed.stdout.lines().collect();
    for file in [
        "bin/mux",
        "bin/muxd",
        "bin/mux-worker",
        "share/man/man1/mux.1",
        "share/man/man1/mux-run.1",
        "share/man/man1/mux-servers-add.1",
        "share/man/man1/mux-service-install.1",
        "share/bash-completion/completions/mux",
        "share/zsh/site-functions/_mux",
        "share/fish/vendor_completions.d/mux.fish",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "docs/tutorial.md",
        "LICENCES.txt",
    ] {
        let path = format!("{top}/{file}");
        assert!(
            listed.contains(&path.as_str()),
            "{path} is missing: {listed:?}"
        );
    }
    let strangers: Vec<_> = listed
        .iter()
        .filter(|path| !path.starts_with(top) || path.contains(".."))
        .collect();
    assert!(strangers.is_empty(), "{strangers:?}");

    let unpack = Command::new("tar")
        .arg("-xzf")
        .arg(&archive)
        .current_dir(env.home())
        .status();
    assert!(unpack.unwrap().success());
    let unpacked = env.path(top);
    let licences = fs::read_to_string(unpacked.join("LICENCES.txt")).unwrap();
    for part in [
        "\nV8: BSD-3-Clause",
        "\ntokio ",
        "\ndeno_core ",
        "\nsled ",
        "Apache License",
    ] {
        assert!(licences.contains(part), "{part:?}");
    }
    let page = fs::read_to_string(unpacked.join("share/man/man1/mux-run.1")).unwrap();
    assert!(page.contains("\\-\\-timeout"), "{page}");
    // The unpacked `mux` finds the worker in its own folder.
    let told = output(Command::new(unpacked.join("bin/mux")).arg("--version")).ok();
    assert!(told.stdout.contains("engine v8 1.2.3"), "{told:?}");
}

#[test]
fn programs_of_different_builds_are_not_released_together() {
    let env = TestEnv::new();
    let programs = programs(&env, "mux-worker 0.0.1 (engine v8 1.2.3)");
    release(&env, &programs).fails(1, &["mux-worker is not", BUILD]);
    assert!(!env.path("out").exists());
}

#[test]
fn each_program_prints_its_version() {
    let env = TestEnv::new();
    let contract = mux_proto::version::CONTRACT;
    let engine = env.engine();
    let long = env.mux(["--version"]).ok().stdout;
    let begin = format!("mux {BUILD} (contract {contract}, engine {engine}");
    assert!(long.starts_with(&begin), "{long}");
    assert_eq!(env.mux(["-V"]).ok().stdout, format!("mux {BUILD}\n"));
    let json = env.mux(["--json", "--version"]).ok().json();
    assert_eq!(json["build"], BUILD);
    assert_eq!(json["contract"], contract);
    let told = json["engine"].as_str().unwrap();
    let status = env.mux(["--json", "status"]).ok().json();
    assert_eq!(status["contract"], contract);
    let running = match status["engine_version"].as_str() {
        Some(version) => format!("{engine} {version}"),
        None => engine.clone(),
    };
    assert_eq!(told, running);
    assert!(env.mux(["status"]).ok().stdout.contains(&running));
    let muxd = output(env.command("muxd").arg("--version")).ok();
    assert!(
        muxd.stdout.starts_with(&format!("muxd {BUILD} ")),
        "{muxd:?}"
    );
    // Without a worker the engine is unknown.
    let mut alone = env.command("mux");
    alone
        .arg("--version")
        .env("MUX_WORKER", "/nowhere/mux-worker");
    let alone = output(&mut alone).ok().stdout;
    assert!(alone.contains("engine unknown"), "{alone}");
}

#[test]
fn a_v8_archive_with_an_unknown_checksum_is_refused() {
    let env = TestEnv::new();
    let archive = env.path("librusty_v8.a.gz");
    fs::write(&archive, "not what was pinned").unwrap();
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut setup = Command::new(top.join("scripts/setup"));
    setup
        .args(["--engine", "v8"])
        .env("RUSTY_V8_ARCHIVE", &archive);
    let sum = "MUX_V8_SHA256=";
    output(&mut setup).fails(1, &["scripts/v8.sha256 does not list", sum]);
}
