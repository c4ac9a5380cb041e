//! Tests with generated packages and their checksums, from files and from a registry on this machine.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener},
    thread,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha512};
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

use super::*;

const TSC: &str = "#!/bin/sh\necho Version 7.0.2\n";

fn entry(archive: &mut Vec<u8>, kind: EntryType, path: &str, link: &str, body: &str) {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(body.len() as u64);
    header.set_mode(0o4777);
    // Bypasses the library, which would not write such a path.
    let field = &mut header.as_gnu_mut().expect("a header of GNU").name;
    field[..path.len()].copy_from_slice(path.as_bytes());
    if !link.is_empty() {
        header.set_link_name(link).unwrap();
    }
    header.set_cksum();
    let mut builder = Builder::new(Vec::new());
    builder.append(&header, body.as_bytes()).unwrap();
    let whole = builder.into_inner().unwrap();
    // Without the two blocks that end an archive.
    archive.extend_from_slice(&whole[..whole.len() - 1024]);
}

/// An archive with the files of a real package, and `more`.
fn archive(more: &[(EntryType, &str, &str, &str)]) -> Vec<u8> {
    let file = EntryType::Regular;
    let mut plain = Vec::new();
    entry(&mut plain, file, "package/package.json", "", "{}");
    for (kind, path, link, body) in more {
        entry(&mut plain, *kind, path, link, body);
    }
    entry(&mut plain, file, "package/lib/tsc", "", TSC);
    entry(&mut plain, file, "package/lib/lib.d.ts", "", "// lib");
    plain.extend([0; 1024]);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&plain).unwrap();
    packed.finish().unwrap()
}

fn package(archive: &[u8]) -> CompilerPackage {
    CompilerPackage {
        platform: "linux-x64",
        version: package::VERSION,
        checksum: String::leak(BASE64_STANDARD.encode(Sha512::digest(archive))),
    }
}

fn try_install(archive: &[u8]) -> (TempDir, Result<render::CompilerInfo, SetupError>) {
    let home = tempfile::tempdir().unwrap();
    let done = install_compiler::install_compiler(
        &package(archive),
        archive,
        &home.path().join("typescript"),
    );
    (home, done)
}

#[cfg(unix)]
#[test]
fn setup_installs_the_compiler_and_its_library_and_nothing_else() {
    use std::os::unix::fs::PermissionsExt as _;

    let archive = archive(&[]);
    let (home, done) = try_install(&archive);
    let compiler = done.unwrap();
    assert_eq!(compiler.version.as_deref(), Some("7.0.2"));
    let folder = home.path().join("typescript");
    assert_eq!(compiler.path, folder.join("7.0.2/lib/tsc"));
    let mode = |path: &str| {
        fs::metadata(folder.join(path))
            .unwrap()
            .permissions()
            .mode()
            & 0o7777
    };
    assert_eq!(mode("7.0.2/lib/tsc") & 0o4700, 0o700);
    assert_eq!(mode("7.0.2/lib/lib.d.ts") & 0o4111, 0);
    assert!(!folder.join("7.0.2/package.json").exists());
    assert_eq!(
        fs::read_dir(&folder).unwrap().count(),
        1,
        "no draft is left"
    );

    // Installs again, and over an installation that lost a file.
    let package = package(&archive);
    assert!(install_compiler::install_compiler(&package, &archive, &folder).is_ok());
    fs::remove_file(folder.join("7.0.2/lib/lib.d.ts")).unwrap();
    assert_eq!(
        install_compiler::find_installed(&package, &folder).version,
        None
    );
    let again = install_compiler::install_compiler(&package, &archive, &folder).unwrap();
    assert_eq!(again.version.as_deref(), Some("7.0.2"));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn setup_may_run_many_times_at_once() {
    let archive = archive(&[]);
    let package = package(&archive);
    let home = tempfile::tempdir().unwrap();
    let done: Vec<bool> = thread::scope(|scope| {
        let one = || install_compiler::install_compiler(&package, &archive, home.path()).is_ok();
        let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(done, [true; 8]);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
}

#[test]
fn setup_refuses_archives_that_escape_their_folder() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("evil");
    let absolute = target.to_str().unwrap();
    for more in [
        (EntryType::Regular, "package/lib/../../../evil", "", "x"),
        (EntryType::Regular, "../evil", "", "x"),
        (EntryType::Regular, absolute, "", "x"),
        (EntryType::Symlink, "package/lib/link", "/tmp", ""),
        (EntryType::Link, "package/lib/link", "package/lib/tsc", ""),
        (EntryType::Fifo, "package/lib/pipe", "", ""),
    ] {
        let (home, done) = try_install(&archive(&[more]));
        let error = done.expect_err(more.1);
        assert!(matches!(error, SetupError::Archive(_)), "{more:?}: {error}");
        assert!(
            !target.exists() && !home.path().join("evil").exists(),
            "{more:?}"
        );
        let left = fs::read_dir(home.path().join("typescript"))
            .unwrap()
            .count();
        assert_eq!(left, 0, "{more:?}");
    }
}

#[test]
fn setup_refuses_invalid_packages() {
    let mut torn = archive(&[]);
    torn.truncate(torn.len() / 2);
    let twice = archive(&[(EntryType::Regular, "package/lib/tsc", "", "x")]);
    let empty = {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&[0; 1024]).unwrap();
        packed.finish().unwrap()
    };
    for archive in [b"hello".to_vec(), torn, twice, empty] {
        let (_home, done) = try_install(&archive);
        let error = done.expect_err("no package");
        assert!(matches!(error, SetupError::Archive(_)), "{error}");
    }
}

#[test]
fn setup_takes_a_file_only_with_the_right_checksum() {
    let archive = archive(&[]);
    let package = package(&archive);
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(package.file_name());
    fs::write(&file, &archive).unwrap();
    package.verify(&read_archive(&file).unwrap(), "it").unwrap();
    let mut tampered = archive;
    *tampered.last_mut().unwrap() ^= 1;
    let error = package.verify(&tampered, "it").unwrap_err();
    assert!(
        error.to_string().contains("its checksum does not match"),
        "{error}"
    );
    assert!(error.fix().contains("nothing was installed"));
    let gone = read_archive(&home.path().join("gone.tgz")).unwrap_err();
    assert!(gone.to_string().contains("gone.tgz"), "{gone}");
}

/// A registry that gives this answer, once.
fn registry(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        let mut part = [0; 1024];
        while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
            let length = stream.read(&mut part).unwrap();
            asked.extend_from_slice(&part[..length]);
        }
        stream.write_all(&answer).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
    });
    url
}

fn answer(status: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

#[test]
fn setup_downloads_and_reports_failures() {
    let archive = archive(&[]);
    let package = package(&archive);
    let whole = registry(answer("200 OK", archive.len(), &archive));
    let got = download::download(&package.url(&whole)).unwrap();
    package.verify(&got, &whole).unwrap();

    let missing = registry(answer("404 Not Found", 2, b"no"));
    let error = download::download(&package.url(&missing)).unwrap_err();
    assert!(error.to_string().contains("answered 404"), "{error}");
    assert!(error.fix().contains("--registry"), "{}", error.fix());

    let short = registry(answer("200 OK", archive.len(), &archive[..100]));
    let error = download::download(&package.url(&short)).unwrap_err();
    assert!(matches!(error, SetupError::Unreachable { .. }), "{error}");
    assert!(error.fix().contains("--from"), "{}", error.fix());

    let wrong = registry(answer("200 OK", 5, b"hello"));
    let got = download::download(&package.url(&wrong)).unwrap();
    let error = package.verify(&got, &wrong).unwrap_err();
    assert!(error.to_string().contains("(5 bytes)"), "{error}");

    let endless = registry(answer("200 OK", usize::MAX, b"x"));
    let error = download::download(&package.url(&endless)).unwrap_err();
    assert!(matches!(error, SetupError::Unreachable { .. }), "{error}");

    // The listener is closed by now.
    let error = download::download(&package.url(&missing)).unwrap_err();
    assert!(matches!(error, SetupError::Unreachable { .. }), "{error}");
}
