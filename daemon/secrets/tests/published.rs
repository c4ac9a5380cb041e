//! Tokens in their published formats. Each is composed of its prefix and a filler, because secret scanners would
//! report this file otherwise.

use mux_secrets::{MASK, Masker, is_secret_value};

#[derive(Clone, Copy)]
enum Filler {
    Hex,
    Upper,
    Alnum,
    Word,
}
use Filler::{Alnum, Hex, Upper, Word};

/// A pseudo-random mix of letters and digits.
fn filler(kind: Filler, length: usize) -> String {
    let letters: &[u8] = match kind {
        Hex => b"9f1c4e07ab83d562",
        Upper => b"Q7WX2ZK9B4MTR6HJ",
        Alnum => b"k9Qz3VxB7mTr1HjW5nYc",
        Word => b"k9Q_z3Vx-B7mTr1HjW5n",
    };
    letters
        .iter()
        .cycle()
        .take(length)
        .map(|b| char::from(*b))
        .collect()
}

/// Prefix, and kind and length of the rest, as published.
const PUBLISHED: &[(&str, Filler, usize)] = &[
    ("ghp_", Alnum, 36),
    ("gho_", Alnum, 36),
    ("ghu_", Alnum, 36),
    ("ghs_", Alnum, 36),
    ("ghr_", Alnum, 36),
    ("github_pat_", Word, 82),
    ("glpat-", Word, 20),
    ("gldt-", Word, 20),
    ("glrt-", Word, 20),
    ("glcbt-", Word, 26),
    ("glptt-", Hex, 40),
    ("glft-", Word, 20),
    ("gloas-", Hex, 64),
    ("glsoat-", Word, 20),
    ("glagent-", Word, 50),
    ("ATBB", Alnum, 32),
    ("ATATT3xFfGF0", Word, 180),
    ("sk-", Alnum, 48),
    ("sk-proj-", Word, 156),
    ("sk-svcacct-", Word, 156),
    ("sk-admin-", Word, 120),
    ("sk-ant-api03-", Word, 95),
    ("sk-ant-oat01-", Word, 95),
    ("sk-or-v1-", Hex, 64),
    ("gsk_", Alnum, 52),
    ("pplx-", Alnum, 48),
    ("r8_", Alnum, 37),
    ("hf_", Alnum, 34),
    ("xai-", Alnum, 80),
    ("nvapi-", Word, 64),
    ("tvly-dev-", Alnum, 32),
    ("fc-", Hex, 32),
    ("jina_", Alnum, 60),
    ("lsv2_pt_", Hex, 43),
    ("pcsk_", Word, 70),
    ("apify_api_", Alnum, 36),
    ("AKIA", Upper, 16),
    ("ASIA", Upper, 16),
    ("AIza", Word, 35),
    ("ya29.", Word, 120),
    ("GOCSPX-", Word, 28),
    ("LTAI", Alnum, 20),
    ("xoxb-", Word, 52),
    ("xoxp-", Word, 70),
    ("xoxa-", Word, 50),
    ("xoxs-", Word, 50),
    ("xapp-1-", Word, 90),
    ("sk_live_", Alnum, 24),
    ("sk_test_", Alnum, 24),
    ("rk_live_", Alnum, 24),
    ("pk_live_", Alnum, 24),
    ("whsec_", Alnum, 32),
    ("sq0atp-", Word, 22),
    ("sq0csp-", Word, 43),
    ("rzp_live_", Alnum, 14),
    ("shpat_", Hex, 32),
    ("shpca_", Hex, 32),
    ("shppa_", Hex, 32),
    ("shpss_", Hex, 32),
    ("npm_", Alnum, 36),
    ("pypi-AgEIcHlwaS5vcmc", Word, 150),
    ("rubygems_", Hex, 48),
    ("dckr_pat_", Word, 27),
    ("dop_v1_", Hex, 64),
    ("doo_v1_", Hex, 64),
    ("cfut_", Alnum, 48),
    ("cfat_", Alnum, 48),
    ("cfk_", Alnum, 48),
    ("vcp_", Alnum, 56),
    ("nfp_", Alnum, 36),
    ("sbp_", Hex, 40),
    ("sb_secret_", Word, 31),
    ("napi_", Alnum, 60),
    ("pscale_tkn_", Word, 43),
    ("dapi", Hex, 32),
    ("hvs.", Word, 95),
    ("hvb.", Word, 140),
    ("dp.pt.", Alnum, 43),
    ("pul-", Hex, 40),
    ("tskey-auth-", Word, 40),
    ("AGE-SECRET-KEY-1", Upper, 58),
    ("CCIPAT_", Word, 60),
    ("bkua_", Hex, 40),
    ("sntrys_", Word, 120),
    ("sntryu_", Hex, 64),
    ("glc_", Word, 60),
    ("glsa_", Word, 41),
    ("NRAK-", Upper, 27),
    ("phx_", Alnum, 43),
    ("squ_", Hex, 40),
    ("SK", Hex, 32),
    ("key-", Hex, 32),
    ("xkeysib-", Word, 81),
    ("lin_api_", Alnum, 40),
    ("secret_", Alnum, 43),
    ("ntn_", Alnum, 46),
    ("figd_", Word, 40),
    ("PMAK-", Word, 59),
    ("CFPAT-", Word, 43),
    ("pat-na1-", Hex, 36),
    ("HRKU-", Word, 36),
    ("EZAK", Alnum, 54),
];

fn tokens() -> Vec<String> {
    let mut all: Vec<String> = PUBLISHED
        .iter()
        .map(|(prefix, kind, length)| format!("{prefix}{}", filler(*kind, *length)))
        .collect();
    let part = |kind, length| filler(kind, length);
    // SendGrid, a JSON web token, Dynatrace, Airtable, Doppler.
    all.push(format!("SG.{}.{}", part(Word, 22), part(Word, 43)));
    all.push(format!(
        "eyJ{}.eyJ{}.{}",
        part(Alnum, 33),
        part(Word, 60),
        part(Word, 43)
    ));
    all.push(format!("dt0c01.{}.{}", part(Upper, 24), part(Upper, 64)));
    all.push(format!("pat{}.{}", part(Alnum, 14), part(Hex, 64)));
    all.push(format!("dp.st.prd.{}", part(Alnum, 43)));
    all
}

#[test]
fn tokens_are_masked_anywhere_in_a_text() {
    let masker = Masker::default();
    assert!(tokens().len() >= 60);
    for token in tokens() {
        for (before, after) in [
            ("", ""),
            ("HTTP 401: bad token ", "."),
            ("{\"error\": \"", "\"}"),
            ("\\n", "\\n"),
            ("token=", "&x=1"),
            ("(", ")"),
            ("'", "', see https://example.com/docs"),
            ("ключ ", " — нет"),
        ] {
            let text = format!("{before}{token}{after}");
            assert_eq!(
                masker.text(&text),
                format!("{before}{MASK}{after}"),
                "{text}"
            );
        }
        assert!(is_secret_value(&token), "{token}");
    }
}

#[test]
fn token_in_the_place_of_a_user_name_is_masked_beside_a_password() {
    for token in tokens() {
        let masked = Masker::default().text(&format!("https://{token}:x-oauth-basic@host/"));
        assert!(!masked.contains(&token), "{masked}");
        assert!(!masked.contains("x-oauth-basic"), "{masked}");
    }
}

#[test]
fn other_secrets_are_masked_without_their_surroundings() {
    let masker = Masker::default();
    let login = "YWxhZGRpbjpvcGVuc2VzYW1l";
    let key = filler(Alnum, 64);
    let hook = filler(Alnum, 24);
    let bot = filler(Word, 33);
    for (text, shown) in [
        (
            format!("Authorization: Basic {login}, Accept: */*"),
            "Authorization: Basic ***, Accept: */*".to_owned(),
        ),
        (
            "sent `authorization: bearer 7f3c-99ab12-x0y1z2`".into(),
            "sent `authorization: bearer ***`".into(),
        ),
        (
            "cannot reach postgres://app:hunter2@db.example:5432/main now".into(),
            "cannot reach postgres://app:***@db.example:5432/main now".into(),
        ),
        (
            "GET https://h/mcp?page=2&api_key=abc&sig=x1y2z3#top (404)".into(),
            "GET https://h/mcp?page=2&api_key=***&sig=***#top (404)".into(),
        ),
        (
            "see (https://h/x?token=abc).".into(),
            "see (https://h/x?token=***).".into(),
        ),
        (
            format!(
                "-----BEGIN RSA {}-----\n{key}\n{key}\n-----END RSA PRIVATE KEY-----\n",
                "PRIVATE KEY"
            ),
            "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\n".into(),
        ),
        (
            format!("-----BEGIN {}-----\\n{key}\\n{key}", "PRIVATE KEY"),
            "-----BEGIN PRIVATE KEY-----***".into(),
        ),
        (
            format!("https://hooks.slack.com/services/T{hook}/B{hook}/{hook} failed"),
            "https://hooks.slack.com/services/*** failed".into(),
        ),
        (
            format!("https://api.telegram.org/bot1234567890:AA{bot}/getMe"),
            "https://api.telegram.org/bot1234567890***/getMe".into(),
        ),
        (
            format!(
                "AccountName=x;AccountKey={};EndpointSuffix=y",
                filler(Alnum, 86)
            ),
            "AccountName=x;***;EndpointSuffix=y".into(),
        ),
    ] {
        assert_eq!(masker.text(&text), shown, "{text}");
        assert_eq!(masker.text(&shown), shown);
    }
}
