//! Pin files that are complete, damaged, or of another server.

#[cfg(unix)]
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::*;

type Damage<'a> = &'a dyn Fn(&Path);

fn owner() -> PinOwner {
    PinOwner {
        server: "s".into(),
        definition: "0123456789abcdef0123".into(),
    }
}

fn book() -> PinBook {
    let pin = ToolPin {
        digest: [7; 32],
        since: 12,
        was_accepted: true,
        is_new: true,
        definition: Some(GzipText::of("{}")),
    };
    PinBook {
        state: PinBookState::Known,
        pins: [("tool".to_owned(), pin)].into(),
    }
}

fn written(folder: &Path) -> PathBuf {
    write(folder, &owner(), &encode(&owner(), &book()), true).unwrap();
    folder.join(owner().file())
}

#[test]
fn pin_file_round_trips_and_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("pins");
    assert!(matches!(read(&folder, &owner()), PinFile::Nothing));
    let path = written(&folder);
    assert!(path.starts_with(&folder));
    #[cfg(unix)]
    {
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&path), mode(&folder)), (0o600, 0o700));
    }
    let PinFile::Book(found) = read(&folder, &owner()) else {
        panic!("it is there");
    };
    assert_eq!(format!("{found:?}"), format!("{:?}", book()));
}

#[test]
fn damaged_file_is_moved_aside_and_stays_damaged() {
    let other = PinOwner {
        server: "t".into(),
        ..owner()
    };
    let damages: &[(&str, Damage<'_>)] = &[
        ("cut", &|path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
        }),
        ("empty", &|path| fs::write(path, "").unwrap()),
        ("rubbish", &|path| fs::write(path, b"\0\xff\n\n").unwrap()),
        ("later", &|path| {
            fs::write(path, "mux-pins 2 0\n{}").unwrap();
        }),
        ("foreign", &|path| {
            fs::write(path, encode(&other, &book())).unwrap();
        }),
        // Windows has no such mode, and lets no user create links.
        #[cfg(unix)]
        ("open", &|path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
        }),
        #[cfg(unix)]
        ("link", &|path| {
            fs::rename(path, path.with_extension("elsewhere")).unwrap();
            symlink(path.with_extension("elsewhere"), path).unwrap();
        }),
        ("folder", &|path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ];
    for (what, damage) in damages {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        damage(&path);
        for _ in 0..2 {
            let PinFile::Damaged(why) = read(folder.path(), &owner()) else {
                panic!("{what}");
            };
            assert!(why.contains(".damaged"), "{what}: {why}");
        }
        assert!(fs::symlink_metadata(&path).is_err(), "{what}");
        // A complete file replaces the damaged one.
        if *what != "folder" {
            written(folder.path());
            assert!(
                matches!(read(folder.path(), &owner()), PinFile::Book(_)),
                "{what}"
            );
            assert!(fs::symlink_metadata(aside(&path)).is_err(), "{what}");
        }
    }
}

#[test]
fn every_flipped_bit_is_detected() {
    let bytes = encode(&owner(), &book());
    for place in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1;
        let read = String::from_utf8(flipped).map(|text| parse(&text, &owner()));
        assert!(!matches!(read, Ok(Ok(_))), "byte {place}");
    }
}

#[test]
fn oldest_files_of_a_server_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..MAX_FILES_PER_SERVER + 5 {
        let owner = PinOwner {
            server: "s".into(),
            definition: format!("{n:020}"),
        };
        let owner = PinOwner {
            definition: owner.definition.chars().rev().collect(),
            ..owner
        };
        write(folder.path(), &owner, &encode(&owner, &book()), true).unwrap();
        assert!(matches!(read(folder.path(), &owner), PinFile::Book(_)));
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        MAX_FILES_PER_SERVER
    );
}
