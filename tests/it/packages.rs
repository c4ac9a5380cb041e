//! The packages that `scripts/package` makes, installed as a stranger would install them.
//!
//! Invariant: all files are installed below the test's home, and none is downloaded from another machine.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use axum::{
    Router,
    http::{HeaderMap, StatusCode, Uri},
};
use mux_tests::{
    Output, TestEnv, editors,
    env::{output, pypi},
    fake_programs::fake_programs,
    left_out,
    web::Web,
};
use serde_json::{Value, json};

const BUILD: &str = env!("CARGO_PKG_VERSION");

fn script(name: &str) -> Command {
    Command::new(editors::source("scripts").join(name))
}

/// The files in a directory by their paths, with their content.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else {
                let content = fs::read(&path).unwrap_or_default();
                found.insert(path, content);
            }
        }
    }
    found
}

/// A directory with an archive of small programs for this platform, and all packages of it.
struct BuiltPackages {
    env: TestEnv,
    folder: PathBuf,
}

impl BuiltPackages {
    /// `None`, if a program is missing that packages are made with.
    fn make() -> Option<Self> {
        if Command::new("dpkg-deb").arg("--version").output().is_err() {
            left_out("packages", "there is no dpkg-deb");
            return None;
        }
        let env = TestEnv::new();
        fake_programs(&env.path("programs"), BUILD);
        let folder = env.path("out");
        let mut release = script("release");
        release.arg("--binaries").arg(env.path("programs"));
        output(release.arg("--out").arg(&folder)).ok();
        let packages = Self { env, folder };
        packages.package().ok();
        Some(packages)
    }

    fn package(&self) -> Output {
        self.package_with(script("package"))
    }

    fn package_with(&self, mut package: Command) -> Output {
        package.args(["--base-url", "http://127.0.0.1:9/muxd/"]);
        output(package.arg(&self.folder))
    }

    /// The one file whose name begins and ends so.
    #[track_caller]
    fn file(&self, begin: &str, end: &str) -> PathBuf {
        let mut found = files(&self.folder).into_keys().filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(begin) && name.ends_with(end)
        });
        let file = found.next().unwrap_or_else(|| panic!("no {begin}*{end}"));
        assert_eq!(found.next(), None, "{begin}*{end}");
        file
    }

    /// A program with its own home, and without a proxy between it and this machine.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env("HOME", self.env.home())
            .env("NO_PROXY", "127.0.0.1")
            .env("no_proxy", "127.0.0.1")
            .env_remove("MUXD_BASE_URL")
            .current_dir(self.env.home());
        command
    }

    /// Fails unless the programs in this directory run, and `share` beside it says how they were installed.
    #[track_caller]
    fn assert_installed(&self, bin: &Path, installed_by: &str) {
        for name in ["mux", "muxd", "mux-worker"] {
            let said = output(self.command(bin.join(name)).arg("--version")).ok();
            assert_eq!(said.stdout, format!("{name} {BUILD} (fake)\n"));
        }
        let ended = output(self.command(bin.join("mux")).args(["one two", "fail"]));
        assert_eq!((ended.stdout.as_str(), ended.code), ("one two\nfail\n", 7));
        let marker = bin.parent().unwrap().join("share/mux/installed-by");
        assert_eq!(
            fs::read_to_string(marker).unwrap(),
            format!("{installed_by}\n")
        );
    }
}

/// A registry of the npm packages in a directory.
fn registry(folder: &Path) -> Web {
    let packed = files(folder)
        .into_iter()
        .filter(|(path, _)| path.extension().is_some_and(|ending| ending == "tgz"));
    let packages: BTreeMap<String, (Value, Vec<u8>)> = packed
        .map(|(path, bytes)| {
            let mut unpack = Command::new("tar");
            unpack.arg("-xzOf").arg(&path).arg("package/package.json");
            let manifest = output(&mut unpack).ok().json();
            let name = manifest["name"].as_str().unwrap().to_owned();
            (name, (manifest, bytes))
        })
        .collect();
    let packages = Arc::new(packages);
    Web::open(Router::new().fallback(move |headers: HeaderMap, uri: Uri| {
        let host = headers["host"].to_str().unwrap_or_default();
        let answer = registry_response(&packages, host, uri.path());
        async move { answer }
    }))
}

fn registry_response(
    packages: &BTreeMap<String, (Value, Vec<u8>)>,
    host: &str,
    path: &str,
) -> (StatusCode, Vec<u8>) {
    let path = path.trim_start_matches('/');
    let name = path.replace("%2f", "/").replace("%2F", "/");
    let packed = name.strip_suffix(".tgz").and_then(|n| packages.get(n));
    if let Some((_, bytes)) = packed {
        return (StatusCode::OK, bytes.clone());
    }
    let Some((manifest, _)) = packages.get(&name) else {
        return (StatusCode::NOT_FOUND, b"{}".to_vec());
    };
    let mut manifest = manifest.clone();
    manifest["dist"] = json!({ "tarball": format!("http://{host}/{name}.tgz") });
    let document = json!({
        "name": name,
        "dist-tags": { "latest": BUILD },
        "versions": { BUILD: manifest },
    });
    (StatusCode::OK, document.to_string().into_bytes())
}

#[test]
fn npm_installs_the_package_of_this_platform_and_its_launcher_runs_it() {
    let Some(packages) = BuiltPackages::make() else {
        return;
    };
    let web = registry(&packages.folder);
    let prefix = packages.env.path("npm");
    let mut install = packages.command("npm");
    install
        .args([
            "install",
            "--global",
            "@muxd/cli",
            "--no-audit",
            "--no-fund",
        ])
        .args(["--no-update-notifier", "--registry", &web.url])
        .arg("--prefix")
        .arg(&prefix)
        .arg("--cache")
        .arg(packages.env.path("npm-cache"));
    output(&mut install).ok();

    let launched = output(
        packages
            .command(prefix.join("bin/mux"))
            .args(["one two", "fail"]),
    );
    assert_eq!(
        (launched.stdout.as_str(), launched.code),
        ("one two\nfail\n", 7),
        "{launched:#?}"
    );
    let top = prefix.join("lib/node_modules/@muxd/cli");
    let binaries = files(&prefix).into_keys().find(|path| {
        path.ends_with("bin/mux") && path.components().any(|c| c.as_os_str() == "@muxd")
    });
    packages.assert_installed(binaries.unwrap().parent().unwrap(), "npm");
    for path in files(&top).keys().filter(|p| p.ends_with("package.json")) {
        let text = fs::read_to_string(path).unwrap();
        assert!(!text.contains("\"scripts\""), "{text}");
    }

    // Other platforms, which Node is told that it runs on.
    let launcher = top.join("bin/mux.js");
    for (platform, advice) in [("win32-x64", "WSL"), ("darwin-arm64", "from source")] {
        let (system, cpu) = platform.split_once('-').unwrap();
        let code = format!(
            "for (const [name, value] of Object.entries({{ platform: {system:?}, arch: {cpu:?} }})) \
             Object.defineProperty(process, name, {{ value }}); require({launcher:?})"
        );
        output(packages.command("node").args(["-e", &code]))
            .fails(1, &["is not built for", platform, advice]);
    }
    // Without the package of the platform.
    fs::remove_dir_all(top.join("node_modules")).unwrap();
    output(packages.command(prefix.join("bin/muxd")).arg("--version")).fails(
        1,
        &["the package @muxd/cli-", "is missing", "--omit=optional"],
    );
}

#[test]
fn wheel_installs_into_a_new_environment_and_is_removed_without_a_rest() {
    let Some(packages) = BuiltPackages::make() else {
        return;
    };
    let venv = packages.env.path("venv");
    let mut create = packages.command(pypi("python3"));
    output(create.args(["-m", "venv"]).arg(&venv)).ok();
    let before: Vec<PathBuf> = files(&venv.join("bin")).into_keys().collect();
    let wheel = packages.file("muxd-", ".whl");
    let name = wheel.file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with(&format!("muxd-{BUILD}-py3-none-")),
        "{name}"
    );
    let pip = venv.join("bin/pip");
    let mut install = packages.command(&pip);
    install.args(["install", "--no-index", "--disable-pip-version-check"]);
    output(install.arg(&wheel)).ok();
    packages.assert_installed(&venv.join("bin"), "pip");
    let shown = output(packages.command(&pip).args(["show", "muxd"])).ok();
    assert!(shown.stdout.contains(&format!("Version: {BUILD}")));
    output(packages.command(&pip).args(["uninstall", "--yes", "muxd"])).ok();
    let after: Vec<PathBuf> = files(&venv.join("bin")).into_keys().collect();
    assert_eq!(before, after);
    assert!(files(&venv.join("share")).is_empty());
}

#[test]
fn debian_package_has_programs_pages_and_units_for_every_user() {
    let Some(packages) = BuiltPackages::make() else {
        return;
    };
    let package = packages.file("muxd_", ".deb");
    let info = output(Command::new("dpkg-deb").arg("--info").arg(&package)).ok();
    for part in [
        "Package: muxd\n",
        format!("Version: {BUILD}\n").as_str(),
        "Depends: libc6 (>= 2.",
        "libgcc-s1",
    ] {
        assert!(info.stdout.contains(part), "{part:?}: {info:#?}");
    }
    let root = packages.env.path("root");
    let mut unpack = Command::new("dpkg-deb");
    output(unpack.arg("-x").arg(&package).arg(&root)).ok();
    packages.assert_installed(&root.join("usr/bin"), "deb");
    for file in [
        "usr/share/man/man1/mux.1.gz",
        "usr/share/bash-completion/completions/mux",
        "usr/share/zsh/vendor-completions/_mux",
        "usr/share/fish/vendor_completions.d/mux.fish",
        "usr/share/doc/muxd/copyright",
        "usr/share/doc/muxd/changelog.gz",
    ] {
        assert!(root.join(file).is_file(), "{file}");
    }
    let units = root.join("usr/lib/systemd/user");
    let service = fs::read_to_string(units.join("muxd.service")).unwrap();
    assert!(service.contains("\nExecStart=/usr/bin/muxd\n"), "{service}");
    let socket = fs::read_to_string(units.join("muxd.socket")).unwrap();
    assert!(
        socket.contains("\nListenStream=%t/mux/muxd.sock\n"),
        "{socket}"
    );
    assert!(!service.contains('@') && !socket.contains('@'));
}

#[test]
fn install_script_leaves_what_was_there_unless_everything_succeeds() {
    let Some(packages) = BuiltPackages::make() else {
        return;
    };
    let folder = packages.folder.clone();
    let web = Web::open(Router::new().fallback(move |uri: Uri| {
        let file = fs::read(folder.join(uri.path().trim_start_matches('/')));
        async move {
            match file {
                Ok(bytes) => (StatusCode::OK, bytes),
                Err(_) => (StatusCode::NOT_FOUND, Vec::new()),
            }
        }
    }));
    let prefix = packages.env.path("prefix");
    let installer = packages.file("install", ".sh");
    let run = |begin: &str, arguments: &[&str]| {
        let mut command = packages.command("/bin/sh");
        command
            .arg("-c")
            .arg(format!("{begin} exec /bin/sh \"$0\" \"$@\""));
        command.arg(&installer).args(arguments);
        output(command.arg("--prefix").arg(&prefix))
    };
    let from_web = ["--base-url", web.url.as_str()];
    // 8 blocks are enough for the checksums, and too few for the archive.
    let full_disk = "ulimit -c 0; ulimit -f 8;";
    let sums_file = packages.folder.join("SHA256SUMS");
    let sums = fs::read_to_string(&sums_file).unwrap();
    let archive = packages.file(&format!("mux-{BUILD}-"), "-gnu.tar.gz");
    let name = archive.file_name().unwrap().to_str().unwrap();
    let line = sums.lines().find(|line| line.ends_with(name)).unwrap();
    let wrong = sums.replace(line, &format!("{}  {name}", "0".repeat(64)));
    let without = sums.replace(name, "mux-0.0.1-some-other-target.tar.gz");

    // No version was installed before.
    let fails = |begin: &str, parts: &[&str]| {
        let before = files(&prefix);
        run(begin, &from_web).fails(1, parts);
        assert!(files(&prefix) == before, "{parts:?}");
    };
    run("", &[]).fails(1, &["--base-url", "MUXD_BASE_URL"]);
    let nowhere = format!("{}/nowhere", web.url);
    run("", &["--base-url", nowhere.as_str()])
        .fails(1, &["cannot download", "/nowhere/SHA256SUMS"]);
    fails(full_disk, &["cannot download", "full disk"]);
    fs::write(&sums_file, &without).unwrap();
    fails("", &["has no archive for", "some-other-target"]);
    fs::write(&sums_file, &wrong).unwrap();
    fails("", &["wrong checksum", "Nothing was changed"]);
    assert!(!prefix.exists());
    // Only the tools that it needs to get this far.
    let tools = packages.env.path("tools");
    fs::create_dir(&tools).unwrap();
    for tool in ["uname", "grep"] {
        symlink(Path::new("/bin").join(tool), tools.join(tool)).unwrap();
    }
    let path = format!("PATH='{}';", tools.display());
    fails(&path, &["neither curl nor wget"]);

    fs::write(&sums_file, &sums).unwrap();
    run("", &from_web).ok();
    packages.assert_installed(&prefix.join("bin"), "install.sh");
    assert!(prefix.join("share/man/man1/mux.1").is_file());

    // A failed installation does not damage an existing one, and a successful installation replaces it.
    fails(full_disk, &["cannot download", "full disk"]);
    fs::write(&sums_file, &wrong).unwrap();
    fails("", &["wrong checksum"]);
    fs::write(&sums_file, &sums).unwrap();
    fs::write(prefix.join("bin/mux-worker"), "of an older version").unwrap();
    fs::remove_file(prefix.join("share/man/man1/mux.1")).unwrap();
    // One file cannot be replaced, after others were.
    let mv = packages.env.path("failing/mv");
    fs::create_dir(mv.parent().unwrap()).unwrap();
    let except = "case \"$*\" in */old/*) ;; */bin/mux-worker) exit 1 ;; esac";
    fs::write(&mv, format!("#!/bin/sh\n{except}\nexec /bin/mv \"$@\"\n")).unwrap();
    fs::set_permissions(&mv, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("PATH='{}':\"$PATH\";", mv.parent().unwrap().display());
    fails(&path, &["cannot write", "as it was"]);
    run("", &from_web).ok();
    packages.assert_installed(&prefix.join("bin"), "install.sh");

    // Uninstalling removes only its own files.
    let own = prefix.join("bin/mine");
    fs::write(&own, "mine").unwrap();
    run("", &["--uninstall"]).ok();
    assert_eq!(files(&prefix).into_keys().collect::<Vec<_>>(), [own]);
    fs::write(prefix.join("bin/mux"), "from elsewhere").unwrap();
    fails("", &["bin/mux is there", "--prefix"]);
    run("", &["--uninstall"]).fails(1, &["has not installed"]);
}

#[test]
fn packages_of_the_same_archive_have_the_same_bytes() {
    let Some(packages) = BuiltPackages::make() else {
        return;
    };
    let before = files(&packages.folder);
    // As another maintainer, elsewhere.
    let mut other = Command::new("/bin/sh");
    other.args(["-c", "umask 077; exec \"$0\" \"$@\""]);
    other.arg(script("package").get_program());
    other.env("TZ", "Asia/Tokyo").env("LC_ALL", "C");
    let again = packages.package_with(other).ok();
    for platform in ["darwin-x64", "win32-x64"] {
        assert!(again.stderr.contains(platform), "{again:#?}");
    }
    let after = files(&packages.folder);
    for (path, content) in &before {
        assert!(after.get(path) == Some(content), "{path:?}");
    }
    assert_eq!(before.len(), after.len());
    let formula = fs::read_to_string(packages.folder.join("muxd.rb")).unwrap();
    let url = format!("url \"http://127.0.0.1:9/muxd/mux-{BUILD}-");
    assert!(formula.contains(&url), "{formula}");
    assert!(!formula.contains('@'), "{formula}");
}

#[test]
fn packages_are_not_made_from_archives_that_do_not_belong_together() {
    let env = TestEnv::new();
    let folder = env.path("archives");
    fs::create_dir(&folder).unwrap();
    let package = || output(script("package").arg(&folder));
    package().fails(1, &["there is no archive in", "scripts/release"]);
    fs::write(
        folder.join("mux-1.0.0-riscv64gc-unknown-linux-gnu.tar.gz"),
        "",
    )
    .unwrap();
    package().fails(1, &["for no platform", "riscv64gc"]);
    output(script("package").arg("--nonsense")).fails(1, &["--nonsense", "--help"]);
    let help = output(script("package").arg("--help")).ok().stdout;
    assert!(help.contains("share/mux/installed-by"), "{help}");
}
