//! Compilers that are missing, have another version, or are not compilers.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    time::Duration,
};

use super::setting::{Setting, compiler};

const IS_7: &str = "if [ \"$1\" = --version ]; then echo Version 7.0.2; exit; fi\n";
const READY: &str = r#"printf 'Content-Length: 36\r\n\r\n{"jsonrpc":"2.0","id":1,"result":{}}'"#;

/// Writes a script that pretends to be a compiler.
fn fake(folder: &Path, body: &str) -> PathBuf {
    let path = folder.join("fake-tsc");
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
async fn check_reports_broken_compiler_and_works_with_another() {
    for (body, parts) in [
        (
            "echo Version 5.9.3",
            &["is TypeScript 5.9.3, and 7 is needed", "mux setup"][..],
        ),
        ("echo hello", &["is TypeScript unknown"]),
        ("exec tail -f /dev/null", &["did not report its version"]),
        (&format!("{IS_7}exit 3"), &["exit status: 3"]),
        (
            &format!("{IS_7}echo 'panic: no lib.d.ts' >&2; echo 'goroutine 1' >&2; exit 2"),
            &["exit status: 2: panic: no lib.d.ts"],
        ),
        (
            &format!("{IS_7}echo hello; cat >/dev/null"),
            &["does not speak LSP"],
        ),
        (
            &format!("{IS_7}yes x | tr -d '\\n'"),
            &["does not speak LSP"],
        ),
        (
            &format!("{IS_7}printf 'Content-Length: 99999999999\\r\\n\\r\\n'; cat >/dev/null"),
            &["too long"],
        ),
        (&format!("{IS_7}cat >/dev/null"), &["did not respond"]),
        (
            &format!("{IS_7}{READY}; cat >/dev/null"),
            &["took longer than"],
        ),
        (
            &format!("{IS_7}{READY}; head -c 600 >/dev/null; kill -9 $$"),
            &["signal: 9 (SIGKILL)", "mux setup"],
        ),
    ] {
        let setting = Setting::with(|settings| {
            settings.deadline = Duration::from_millis(500);
            let folder = settings.work.parent().unwrap();
            settings.compiler = Some(fake(folder, body));
        });
        let error = setting.try_check("return 1").await.expect_err(body);
        let output = error.to_string();
        assert!(!output.contains('\n'), "{output}");
        for part in parts {
            assert!(output.contains(part), "{body}: {part:?} in {output}");
        }
        setting.ended().await;
        let setting = Setting::with(|settings| {
            settings.compiler = Some(fake(settings.work.parent().unwrap(), body));
            settings.deadline = Duration::from_secs(5);
        });
        setting.checker.set_compiler(Some(compiler()));
        setting.is_right("return 1").await;
        assert_eq!(setting.checker.status().problem, None);
    }
}

#[tokio::test]
async fn check_fails_without_a_compiler_and_finds_one_installed_later() {
    let setting = Setting::with(|settings| {
        settings.compiler = None;
        settings.search_path = Some(settings.work.parent().unwrap().join("bin").into());
    });
    let missing = setting.try_check("return 1").await.unwrap_err().to_string();
    assert!(
        missing.contains("run `mux setup`") && missing.contains("[check] tsc"),
        "{missing}"
    );
    let status = setting.checker.status();
    assert_eq!((status.compiler, status.problem), (None, Some(missing)));

    // A compiler on the PATH.
    let bin = setting.home.path().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(compiler(), bin.join("tsc")).unwrap();
    // The absence of a compiler is remembered for a moment.
    while setting.try_check("return 1").await.is_err() {}
    let status = setting.checker.status();
    assert_eq!(status.compiler, compiler().canonicalize().ok());
    assert_eq!(
        (status.version.as_deref(), status.problem),
        (Some("7.0.2"), None)
    );

    // The managed compiler is preferred.
    let managed = setting.home.path().join("typescript/7.0.2");
    fs::create_dir_all(&managed).unwrap();
    symlink(compiler().parent().unwrap(), managed.join("lib")).unwrap();
    setting
        .checker
        .set_compiler(Some(setting.home.path().join("gone")));
    let gone = setting.try_check("return 2").await.unwrap_err().to_string();
    assert!(
        gone.contains("gone") && gone.contains("correct [check] tsc"),
        "{gone}"
    );
    setting.checker.set_compiler(None);
    setting.is_right("return 2").await;
    assert_eq!(
        setting.checker.status().compiler,
        Some(managed.join("lib/tsc"))
    );
}

#[tokio::test]
async fn check_delays_restarts_of_a_broken_compiler() {
    let setting = Setting::with(|settings| {
        let folder = settings.work.parent().unwrap();
        let starts = folder.join("starts");
        let body = format!("{IS_7}echo x >>{}; exit 1", starts.display());
        settings.compiler = Some(fake(folder, &body));
    });
    for number in 0..100 {
        setting
            .try_check(&format!("return {number}"))
            .await
            .unwrap_err();
    }
    let starts = fs::read_to_string(setting.home.path().join("starts")).unwrap();
    assert!(starts.lines().count() < 50, "{}", starts.lines().count());
}

#[tokio::test]
async fn check_reports_unwritable_types() {
    let setting = Setting::with(|settings| {
        fs::remove_dir(&settings.work).unwrap();
        fs::write(&settings.work, "in the way").unwrap();
    });
    let error = setting.try_check("return 1").await.unwrap_err().to_string();
    assert!(error.contains("cannot write the types"), "{error}");
    fs::remove_file(setting.home.path().join("check")).unwrap();
    setting.is_right("return 1").await;
    // The cache is emptied while the compiler runs.
    fs::remove_dir_all(setting.home.path().join("check")).unwrap();
    setting.is_right("return 2").await;
    let found = setting.check("return mux.files.raed({})").await;
    assert_eq!(found.len(), 1, "{found:#?}");
}
