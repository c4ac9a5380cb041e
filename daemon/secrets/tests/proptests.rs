//! Properties of the masker for every string and every list of known values.

use mux_secrets::{
    KnownSecrets, MIN_KNOWN_LEN, Masker, arguments, is_secret, mask_config_line, suspicion, url,
};
use proptest::{collection::vec, prelude::*, sample::select};

/// Pieces of confusing strings.
const PIECES: &[&str] = &[
    "ghp_",
    "sk-",
    "sk-proj-",
    "AKIA",
    "AKIAQ7WX2ZK9B4MTR6HJ",
    "SK",
    "xoxb-",
    "eyJ",
    "eyJhbGciOiJ9.eyJzdWIiOjF9.",
    ".",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "-----BEGIN ",
    "-----",
    "://",
    "https://",
    "user:",
    "@",
    "host",
    "/",
    "?",
    "&",
    "token=",
    "key=",
    "page=",
    "#",
    "Bearer ",
    "Basic ",
    "YTpiY2RlZg==",
    "***",
    "*",
    "**",
    "…",
    "k9Qz3VxB7mTr1HjW5nYc",
    "9f1c4e07ab83d562",
    "abc",
    " ",
    "\n",
    "\\n",
    "%20",
    "\"",
    "'",
    ":AA",
    "1234567890",
    "-",
    "_",
    "=",
    "+",
    "${TOKEN}",
    "ё",
    "😀",
    "hooks.slack.com/services/",
    "secret_",
    "hf_",
    "glpat-",
    ",",
    ")",
    "SG.",
    "true",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => select(PIECES).prop_map(str::to_owned),
        1 => "[ -~]{0,12}",
        1 => any::<String>(),
    ];
    vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

/// A string, and values, some of which occur in it.
fn with_known() -> impl Strategy<Value = (String, Vec<String>)> {
    (
        text(),
        text(),
        text(),
        vec(text(), 0..4),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(one, two, three, mut known, at)| {
            if let Some(value) = known.get(at.index(known.len().max(1))).cloned() {
                return (format!("{one}{value}{two}{value}{three}"), known);
            }
            known.push(two.clone());
            (format!("{one}{two}{three}"), known)
        })
}

fn masker(known: &[String]) -> (KnownSecrets, Masker) {
    let mut secrets = KnownSecrets::new();
    secrets.add_all(known.iter().map(String::as_str));
    let masker = Masker::new(&secrets);
    (secrets, masker)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn masking_is_idempotent((text, known) in with_known()) {
        let (_, masker) = masker(&known);
        let once = masker.text(&text);
        prop_assert_eq!(masker.text(&once), once);
        let once = masker.known_values(&text);
        prop_assert_eq!(masker.known_values(&once), once);
    }

    #[test]
    fn no_known_value_is_left((text, known) in with_known()) {
        let (secrets, masker) = masker(&known);
        for masked in [masker.text(&text), masker.known_values(&text)] {
            for secret in secrets.iter().filter(|secret| secret.expose().len() >= MIN_KNOWN_LEN) {
                prop_assert!(!masked.contains(secret.expose()), "{:?} in {:?}", secret.expose(), masked);
            }
        }
    }

    #[test]
    fn nothing_panics(text in text(), name in text()) {
        drop((is_secret(&name, &text), suspicion(&text), url::shown(&text), mask_config_line(&text)));
        let words = [name, text];
        drop((arguments::masked(&words), arguments::secrets(&words)));
    }
}

/// Strings of a quarter of a megabyte each, which would take a naive masker quadratic time.
#[test]
fn hostile_texts_take_linear_time() {
    let (_, masker) = masker(&["aaaaaa".into(), "aaaaaaaab".into(), "secret-value".into()]);
    for piece in [
        "a",
        "://",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN ",
        "eyJ",
        "eyJabcdefgh.",
        "Bearer ",
        "Bearer a-",
        "sk-",
        "sk-proj-",
        "AKIA",
        "ghp_",
        "Basic YTpi",
        "https://h?token=a&",
        "?token=",
        "SG.",
        "hooks.slack.com/services/",
        ":AA",
        "1//0",
        "***",
        "*",
        "\\n",
        "https://a:b@",
        "pat",
        "key-",
    ] {
        let text = piece.repeat((1 << 18) / piece.len());
        let masked = masker.text(&text);
        assert!(!masked.contains("aaaaaa"));
    }
}
