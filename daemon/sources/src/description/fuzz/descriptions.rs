//! Damaged files of the cache, and bytes of descriptions in any encoding.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use mux_chance::{
    damage::{Damage, damage_of, damaged},
    holds,
};
use mux_files::gzip_text::GzipText;
use proptest::{collection::vec, prelude::*, sample::select};

use super::super::{
    CachedDescription, DescriptionCache, HttpValidators, MAX_DESCRIPTION_BYTES, description_bytes,
};

const TOKENS: &[&str] = &[
    "\n",
    "\"",
    "{",
    "}",
    "99999999999999999999",
    "999999999",
    "-1",
    "null",
    "\0",
    "9",
    "\u{feff}",
];

#[test]
fn fuzz_damaged_file_of_the_cache_is_ignored_or_has_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let cache = DescriptionCache::new(folder.path().to_owned());
    let values = (
        any::<String>(),
        0..2_000_000_000_u64,
        vec(damage_of(TOKENS), 0..5),
    );
    holds(
        "descriptions_cached",
        400,
        values,
        |(text, seconds, damages): (_, _, Vec<Damage>)| {
            let kept = CachedDescription {
                private: Some(true),
                text,
                version: HttpValidators {
                    etag: Some("\"1\"".into()),
                    modified: None,
                },
                fetched: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
            };
            let address = "https://h/openapi.yaml";
            cache.keep("a", address, &kept);
            prop_assert!(cache.read("a", address).is_some_and(|read| read == kept));
            let entry = fs::read_dir(folder.path())
                .unwrap()
                .next()
                .unwrap()
                .unwrap();
            let bytes = damaged(fs::read(entry.path()).unwrap(), &damages);
            fs::write(entry.path(), bytes).unwrap();
            let _fetched = cache.fetched("a", address);
            if let Some(read) = cache.read("a", address) {
                prop_assert_eq!(read.text, kept.text);
            }
            Ok(())
        },
    );
}

/// Encodes text in the way with this number.
fn encoded(text: &str, way: u8) -> Vec<u8> {
    let marked = format!("\u{feff}{text}");
    let utf16 =
        |text: &str, write: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(write).collect();
    match way {
        0 => text.as_bytes().to_vec(),
        1 => marked.into_bytes(),
        2 => utf16(&marked, u16::to_le_bytes),
        3 => utf16(&marked, u16::to_be_bytes),
        _ => GzipText::of(text).bytes().to_vec(),
    }
}

#[test]
fn fuzz_description_is_decoded_or_an_error_says_what_to_do() {
    let piece = select(
        &[
            "openapi: 3.1.0\n",
            "{\"a\": 1}",
            "\u{e9}",
            "\u{1f600}",
            "PK\u{3}\u{4}",
            "\0",
            "x",
        ][..],
    );
    let text =
        (vec(piece, 0..6), 1..200_usize).prop_map(|(pieces, times)| pieces.concat().repeat(times));
    let values = (text, 0..5_u8, vec(damage_of(TOKENS), 0..3));
    holds(
        "descriptions",
        600,
        values,
        |(text, way, damages): (String, _, Vec<Damage>)| {
            let bytes = damaged(encoded(&text, way), &damages);
            match description_bytes::decode(bytes) {
                Ok(read) => {
                    prop_assert!(read.len() <= MAX_DESCRIPTION_BYTES);
                    let is_marked = way > 0 && damages.is_empty();
                    let is_plain = way == 0 && text.starts_with("openapi") && damages.is_empty();
                    if is_marked || is_plain {
                        prop_assert_eq!(
                            read.trim_start_matches('\u{feff}'),
                            text.trim_start_matches('\u{feff}')
                        );
                    }
                }
                Err(why) => prop_assert!(why.starts_with("is "), "{why}"),
            }
            Ok(())
        },
    );
}
