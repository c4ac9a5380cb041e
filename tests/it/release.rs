//! Release archives: `scripts/release` on existing binaries, and the versions that the binaries print.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use mux_tests::{
    Running, TestEnv, editors,
    env::{binary, output},
    fake_programs::{fake_program, fake_programs},
    left_out,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

const BUILD: &str = env!("CARGO_PKG_VERSION");

/// A folder with this `mux`, and with a `muxd` and a `mux-worker` that only print their version.
fn programs(env: &TestEnv, worker: &str) -> PathBuf {
    let folder = env.path("programs");
    fs::create_dir(&folder).unwrap();
    symlink(binary("mux"), folder.join("mux")).unwrap();
    fake_program(&folder.join("muxd"), &format!("muxd {BUILD} (contract 1)"));
    fake_program(&folder.join("mux-worker"), worker);
    folder
}

fn script(name: &str) -> Command {
    Command::new(editors::source("scripts").join(name))
}

fn release(env: &TestEnv, programs: &Path) -> mux_tests::Output {
    let mut command = script("release");
    command.arg("--binaries").arg(programs);
    output(command.arg("--out").arg(env.path("out")))
}

fn sha256(path: &Path) -> String {
    let digest = Sha256::digest(fs::read(path).unwrap());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn archive_contains_every_file_and_its_checksum_is_right() {
    let env = TestEnv::new();
    let programs = programs(&env, &format!("mux-worker {BUILD} (engine v8 1.2.3)"));
    let archive = PathBuf::from(release(&env, &programs).ok().stdout.trim());
    let name = archive.file_name().unwrap().to_str().unwrap().to_owned();
    let top = name.strip_suffix(".tar.gz").unwrap();
    assert!(top.starts_with(&format!("mux-{BUILD}-")), "{name}");

    let sums = fs::read_to_string(archive.with_file_name("SHA256SUMS")).unwrap();
    let others = ["-symbols.tar.gz", ".cdx.json"].map(|ending| format!("{top}{ending}"));
    for file in others.iter().chain([&name]) {
        let digest = sha256(&archive.with_file_name(file));
        assert!(sums.contains(&format!("{digest}  {file}\n")), "{sums}");
    }
    assert_eq!(sums.lines().count(), 3, "{sums}");

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
        "sbom.cdx.json",
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
    let sbom = fs::read_to_string(unpacked.join("sbom.cdx.json")).unwrap();
    let sbom: Value = serde_json::from_str(&sbom).unwrap();
    assert_eq!(sbom["bomFormat"], "CycloneDX");
    assert_eq!(sbom["specVersion"], "1.5");
    let parts = sbom["metadata"]["component"]["components"]
        .as_array()
        .unwrap();
    let mux = parts.iter().find(|part| part["name"] == "mux").unwrap();
    assert_eq!(
        mux["hashes"][0]["content"],
        sha256(&unpacked.join("bin/mux"))
    );
    for component in sbom["components"].as_array().unwrap() {
        let hash = component["hashes"][0]["content"].as_str().unwrap();
        assert_eq!(hash.len(), 64, "{component}");
        assert!(component["licenses"][0]["expression"].is_string());
        let purl = component["purl"].as_str().unwrap();
        assert!(purl.starts_with("pkg:cargo/"), "{purl}");
    }
    let page = fs::read_to_string(unpacked.join("share/man/man1/mux-run.1")).unwrap();
    assert!(page.contains("\\-\\-timeout"), "{page}");
    // The unpacked `mux` finds the worker in its own folder.
    let shown = output(Command::new(unpacked.join("bin/mux")).arg("--version")).ok();
    assert!(shown.stdout.contains("engine v8 1.2.3"), "{shown:?}");
}

#[test]
fn programs_of_different_builds_are_not_released_together() {
    let env = TestEnv::new();
    let programs = programs(&env, "mux-worker 0.0.1 (engine v8 1.2.3)");
    release(&env, &programs).fails(1, &["mux-worker is not", BUILD]);
    assert!(!env.path("out").exists());
}

#[test]
fn release_of_the_same_programs_has_the_same_bytes_and_a_valid_signature() {
    if Command::new("ssh-keygen").arg("-?").output().is_err() {
        left_out("signatures of releases", "there is no ssh-keygen");
        return;
    }
    let env = TestEnv::new();
    fake_programs(&env.path("programs"), BUILD);
    let key = env.path("key");
    let mut keygen = Command::new("ssh-keygen");
    keygen
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&key);
    output(&mut keygen).ok();
    for out in ["one", "other"] {
        let mut command = script("release");
        command.arg("--binaries").arg(env.path("programs"));
        command.arg("--out").arg(env.path(out));
        output(command.arg("--key").arg(&key)).ok();
    }
    for file in ["SHA256SUMS", "SHA256SUMS.sig"] {
        let [one, other] = ["one", "other"].map(|out| fs::read(env.path(out).join(file)).unwrap());
        assert_eq!(one, other, "{file}");
    }
    let public = fs::read_to_string(env.path("key.pub")).unwrap();
    fs::write(env.path("signers"), format!("release {public}")).unwrap();
    let mut verify = Command::new("ssh-keygen");
    verify.args(["-Y", "verify", "-n", "muxd", "-I", "release", "-f"]);
    verify.arg(env.path("signers")).arg("-s");
    verify.arg(env.path("one/SHA256SUMS.sig"));
    let sums = fs::File::open(env.path("one/SHA256SUMS")).unwrap();
    output_of_input(&mut verify, sums).ok();
    // A file with other content than the signed file.
    let other = fs::File::open(env.path("signers")).unwrap();
    assert_ne!(output_of_input(&mut verify, other).code, 0);
}

/// Runs a program to its end with a file as its standard input.
fn output_of_input(command: &mut Command, input: fs::File) -> mux_tests::Output {
    Running::start_as_is(command.stdin(input)).wait()
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn programs_of_another_platform_are_released_and_packaged_for_it() {
    let compiler = "aarch64-linux-gnu-gcc";
    for tool in [compiler, "qemu-aarch64", "dpkg-deb"] {
        if Command::new(tool).arg("--version").output().is_err() {
            left_out("a release for ARM", &format!("there is no {tool}"));
            return;
        }
    }
    let env = TestEnv::new();
    mux_tests::fake_programs::cross_compiled_programs(compiler, &env.path("programs"), BUILD);
    let mut command = script("release");
    command.args(["--target", "aarch64-unknown-linux-gnu", "--binaries"]);
    command.arg(env.path("programs"));
    output(command.arg("--out").arg(env.path("out"))).ok();
    output(script("package").arg(env.path("out"))).ok();
    let written = fs::read_dir(env.path("out")).unwrap().flatten();
    let written: Vec<String> = written
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    for file in [
        format!("mux-{BUILD}-aarch64-unknown-linux-gnu.tar.gz"),
        format!("mux-{BUILD}-aarch64-unknown-linux-gnu-symbols.tar.gz"),
        format!("muxd-cli-linux-arm64-{BUILD}.tgz"),
        format!("muxd_{BUILD}_arm64.deb"),
    ] {
        assert!(written.contains(&file), "{file}: {written:?}");
    }
    let mut wheels = written
        .iter()
        .filter(|name| Path::new(name).extension() == Some("whl".as_ref()));
    let wheel = wheels.next().unwrap();
    assert!(wheel.ends_with("_aarch64.whl"), "{wheel}");

    // Programs for this machine do not run on the other.
    fake_programs(&env.path("others"), BUILD);
    let mut others = script("release");
    others.args(["--target", "aarch64-unknown-linux-gnu", "--binaries"]);
    output(others.arg(env.path("others"))).fails(1, &["does not tell its version"]);
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn static_programs_are_released_for_systems_without_glibc() {
    let compiler = "musl-gcc";
    if Command::new(compiler).arg("--version").output().is_err() {
        left_out("a release for musl", &format!("there is no {compiler}"));
        return;
    }
    let env = TestEnv::new();
    let release = |programs: &Path| {
        let mut command = script("release");
        command.args(["--target", "x86_64-unknown-linux-musl", "--binaries"]);
        command.arg(programs);
        output(command.arg("--out").arg(env.path("out")))
    };
    mux_tests::fake_programs::static_programs(compiler, &env.path("programs"), BUILD);
    let released = release(&env.path("programs")).ok();
    let archive = format!("mux-{BUILD}-x86_64-unknown-linux-musl.tar.gz");
    assert!(released.stdout.trim().ends_with(&archive), "{released:?}");
    // There are packages of other archives only, and none here.
    output(script("package").arg(env.path("out"))).fails(1, &["there is no archive in"]);

    mux_tests::fake_programs::cross_compiled_programs(compiler, &env.path("others"), BUILD);
    release(&env.path("others")).fails(1, &["mux is not static"]);
}

#[test]
fn release_script_explains_its_arguments() {
    let help = output(script("release").arg("--help")).ok().stdout;
    for part in ["--binaries", "--key", "SHA256SUMS.sig", "-symbols.tar.gz"] {
        assert!(help.contains(part), "{help}");
    }
    output(script("release").arg("--nonsense")).fails(1, &["unknown argument: --nonsense"]);
    let target = ["--target", "riscv64gc-unknown-linux-gnu"];
    let only = "only for aarch64-unknown-linux-gnu and x86_64-unknown-linux-musl";
    output(script("release").args(target)).fails(1, &[target[1], only]);
    let key = ["--key", "/nowhere/key"];
    output(script("release").args(key)).fails(1, &["cannot read the signing key /nowhere/key"]);
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
    let shown = json["engine"].as_str().unwrap();
    let status = env.mux(["--json", "status"]).ok().json();
    assert_eq!(status["contract"], contract);
    let running = match status["engine_version"].as_str() {
        Some(version) => format!("{engine} {version}"),
        None => engine.clone(),
    };
    assert_eq!(shown, running);
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
