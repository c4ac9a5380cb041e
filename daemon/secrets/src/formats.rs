//! The token formats that services publish: the prefix, the characters that follow, and the minimum length.
//!
//! In prose a token must have its published length. A standalone value (a variable, an argument) counts from
//! [`MIN_VALUE_LEN`] characters on, because services change lengths but keep prefixes.

use std::sync::LazyLock;

/// A shorter value is never a token, regardless of its prefix.
const MIN_VALUE_LEN: usize = 12;
/// The maximum length of a piece that counts as a word.
const MAX_WORD_LEN: usize = 15;

/// The characters that may follow a token's prefix.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Body {
    /// `0-9a-f`
    Hex,
    /// `A-Z0-9`
    Upper,
    /// `A-Za-z0-9`
    Alnum,
    /// `A-Za-z0-9_-`
    Word,
    /// `A-Za-z0-9_.-`
    Dotted,
    /// `A-Za-z0-9+/=_-`
    Base64,
    /// 14 of `A-Za-z0-9`, a dot, and `0-9a-f`
    IdDotHex,
}

/// The length of the id in [`Body::IdDotHex`].
const ID_LEN: usize = 14;

impl Body {
    pub(crate) fn has(self, byte: u8) -> bool {
        match self {
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Upper => matches!(byte, b'0'..=b'9' | b'A'..=b'Z'),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => is_word(byte),
            Self::Dotted => is_word(byte) || byte == b'.',
            Self::Base64 => is_word(byte) || matches!(byte, b'+' | b'/' | b'='),
            Self::IdDotHex => byte.is_ascii_alphanumeric() || byte == b'.',
        }
    }

    /// Returns true if the parts of a body are where they belong. The caller has checked its characters.
    pub(crate) fn has_parts(self, body: &str) -> bool {
        match (self, body.split_once('.')) {
            (Self::IdDotHex, Some((id, hex))) => {
                id.len() == ID_LEN && hex.bytes().all(|byte| Self::Hex.has(byte))
            }
            (Self::IdDotHex, None) => false,
            _ => true,
        }
    }
}

/// Returns true if a character may be part of a name. A token does not begin next to such a character.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The format of one kind of token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    pub(crate) prefix: &'static str,
    pub(crate) body: Body,
    /// The minimum length after the prefix: published, or the shortest known.
    pub(crate) min: usize,
    /// The maximum length after the prefix. `None` is unlimited.
    pub(crate) max: Option<usize>,
    /// Ordinary names also have this prefix, so the rest must not read as words.
    pub(crate) is_ambiguous: bool,
    /// The prefix is not secret (it is the URL of a service) and is not masked.
    pub(crate) keeps_prefix: bool,
}

const fn format(prefix: &'static str, body: Body, min: usize) -> Format {
    Format {
        prefix,
        body,
        min,
        max: None,
        is_ambiguous: false,
        keeps_prefix: false,
    }
}

/// A format with exactly `length` characters after the prefix.
const fn exact(prefix: &'static str, body: Body, length: usize) -> Format {
    Format {
        max: Some(length),
        ..format(prefix, body, length)
    }
}

/// A format whose prefix ordinary names also have.
const fn ambiguous(prefix: &'static str, body: Body, min: usize) -> Format {
    Format {
        is_ambiguous: true,
        ..format(prefix, body, min)
    }
}

/// A URL whose path is the secret.
const fn address(prefix: &'static str) -> Format {
    Format {
        keeps_prefix: true,
        ..format(prefix, Body::Base64, 16)
    }
}

use Body::{Alnum, Base64, Dotted, Hex, IdDotHex, Upper, Word};

/// The formats. Formats that differ only in the prefix are one entry, with their prefixes separated by blanks.
const ENTRIES: &[Format] = &[
    // GitHub: personal, OAuth, user to server, server to server, refresh; fine-grained
    format("ghp_ gho_ ghu_ ghr_", Word, 36),
    format("ghs_", Dotted, 36),
    format("github_pat_", Word, 60),
    // GitLab
    format("glpat- glrt- glrtr- glcbt-", Dotted, 20),
    format("gldt- glptt- glft- glimt- glagent- gloas-", Word, 20),
    format("glsoat- glffct- GR1348941", Word, 20),
    // Bitbucket, Atlassian, Trello
    format("ATBB", Alnum, 28),
    format("ATATT ATCTT", Base64, 40),
    format("ATTA", Hex, 60),
    // Anthropic, OpenAI, OpenRouter, Langfuse, and other services that use `sk-`
    format("sk-ant- sk-proj- sk-svcacct- sk-admin-", Word, 20),
    format("sk-or-v1-", Hex, 40),
    format("sk-lf-", Word, 32),
    ambiguous("sk-", Word, 20),
    // Other model providers and their tools
    format("gsk_ pplx- csk-", Alnum, 40),
    format("r8_ hf_ api_org_ apify_api_", Alnum, 30),
    format("xai-", Alnum, 60),
    format("nvapi-", Word, 50),
    format("tgp_v1_", Word, 30),
    format("tvly- bb_live_ bb_test_", Word, 20),
    ambiguous("fc-", Hex, 32),
    format("jina_ pcsk_", Word, 40),
    format("lsv2_pt_ lsv2_sk_", Word, 32),
    format("e2b_", Hex, 32),
    // Amazon
    exact("AKIA ASIA ABIA ACCA", Upper, 16),
    format("ABSK", Base64, 100),
    format("bedrock-api-key-", Base64, 40),
    // Google
    format("AIza", Word, 35),
    format("ya29.", Dotted, 20),
    format("GOCSPX-", Word, 20),
    ambiguous("1//0", Word, 40),
    // Microsoft
    format("AccountKey= SharedAccessKey=", Base64, 40),
    address("webhook.office.com/webhookb2/"),
    // Alibaba, Tencent, Yandex
    format("LTAI", Alnum, 16),
    exact("AKID", Alnum, 32),
    format("AQVN", Word, 35),
    // Slack, Discord, Telegram
    format("xoxa- xoxb- xoxc- xoxe- xoxe.xox xoxp- xoxr-", Word, 20),
    format("xoxd-", Base64, 20),
    format("xoxs- xapp- xwfp-", Word, 20),
    address("hooks.slack.com/services/ hooks.slack.com/workflows/"),
    address("hooks.slack.com/triggers/ discord.com/api/webhooks/"),
    address("discordapp.com/api/webhooks/"),
    Format {
        max: Some(35),
        ..ambiguous(":AA", Word, 32)
    },
    // Payments
    format("sk_live_ sk_test_ rk_live_ rk_test_ pk_live_", Alnum, 16),
    format("pk_test_ access_token$production$", Alnum, 16),
    format("whsec_", Base64, 24),
    format("sq0atp- FLWSECK-", Word, 20),
    format("sq0csp- duffel_live_ duffel_test_", Word, 40),
    format("rzp_live_ rzp_test_", Alnum, 14),
    format("access-sandbox- access-production-", Word, 32),
    format("access_token$sandbox$", Alnum, 16),
    format("FLWSECK_TEST-", Word, 12),
    format("EZAK EZTK", Alnum, 54),
    format("shippo_live_ shippo_test_", Hex, 40),
    // E-commerce
    format("shpat_ shpca_ shppa_ shpss_", Hex, 32),
    // Package registries
    format("npm_", Alnum, 36),
    format("pypi-", Word, 50),
    format("rubygems_", Hex, 48),
    format("CLOJARS_", Hex, 60),
    exact("oy2", Alnum, 43),
    exact("cio", Alnum, 32),
    format("dckr_pat_ dckr_oat_", Word, 20),
    format("AKCp", Alnum, 60),
    // Application and database hosting
    format("dop_v1_ doo_v1_ dor_v1_ sbp_", Hex, 40),
    format("cfk_ cfut_ cfat_ fo1_", Word, 40),
    ambiguous("v1.0-", Word, 100),
    format("vcp_ vci_ vca_ vcr_ vck_", Alnum, 24),
    format("nfp_ nfc_ nfo_ nfu_ nfb_", Alnum, 30),
    format("fm1_ fm2_ essu_", Base64, 40),
    format("HRKU- mdb_sa_sk_", Word, 30),
    format("rnd_", Alnum, 28),
    format("sb_secret_", Word, 20),
    format("napi_", Alnum, 40),
    format("pscale_tkn_ pscale_pw_ pscale_oauth_", Dotted, 32),
    format("cflt", Alnum, 60),
    ambiguous("dapi", Hex, 32),
    // Infrastructure
    format("hvs. hvb. hvr.", Word, 24),
    format(".atlasv1.", Word, 60),
    format("dp.pt. dp.ct. dp.sa. dp.scim. dp.audit.", Alnum, 40),
    format("dp.st.", Dotted, 40),
    format("pul- bkua_", Hex, 40),
    format("tskey-", Word, 16),
    format("ops_eyJ", Base64, 60),
    format("AGE-SECRET-KEY-1", Upper, 58),
    format("pnu_ pnb_", Alnum, 36),
    format("CCIPAT_ CCIPRJ_", Word, 20),
    format("ico-", Alnum, 32),
    // Monitoring and code quality
    format("sntrys_", Base64, 40),
    format("sntryu_", Hex, 60),
    format("glc_", Base64, 32),
    format("glsa_ NRII-", Word, 32),
    format("NRAK-", Upper, 27),
    format("dt0c01.", Dotted, 80),
    format("dt0s16.", Dotted, 60),
    format("hcaik_ hcxik_", Alnum, 50),
    format("xaat- xapt-", Word, 36),
    format("phx_ phs_", Alnum, 30),
    format("squ_ sqp_ sqa_", Hex, 40),
    format("sgp_", Word, 40),
    ambiguous("sdk-", Word, 36),
    // Email and telephony
    format("SG.", Dotted, 60),
    exact("SK", Hex, 32),
    ambiguous("key-", Hex, 32),
    format("xkeysib- xsmtpsib-", Word, 64),
    format("mlsn.", Hex, 60),
    ambiguous("re_", Word, 30),
    // Notes, design, CRM
    format("lin_api_", Alnum, 32),
    format("lin_oauth_", Hex, 60),
    ambiguous("secret_", Alnum, 40),
    format("ntn_", Alnum, 40),
    format("figd_ figu_ pat-na pat-eu", Word, 36),
    format("PMAK-", Word, 50),
    format("CFPAT- tfp_", Word, 40),
    exact("pat", IdDotHex, 79),
    format("EAA", Alnum, 80),
    format("sl.u.", Word, 60),
    ambiguous("sl.", Word, 100),
    format("cal_live_", Hex, 30),
    format("sk.eyJ pk.eyJ", Dotted, 50),
    format("zpka_", Word, 32),
];

/// [`ENTRIES`] with one prefix each.
pub(crate) static FORMATS: LazyLock<Vec<Format>> = LazyLock::new(|| {
    let of_entry = |entry: &'static Format| {
        let prefixes = entry.prefix.split(' ');
        prefixes.map(move |prefix| Format { prefix, ..*entry })
    };
    ENTRIES.iter().flat_map(of_entry).collect()
});

/// Prefixes that count only in a standalone value: in prose they begin words and names.
const OF_VALUES: &[&str] = &["sk_", "pk_", "rk_", "pat-", "key_", "fw_"];

/// Returns true if a value has the prefix of a published format, and the rest reads as a key rather than as words.
/// `text` has no blanks.
pub(crate) fn begins_as_token(text: &str) -> bool {
    if text.len() < MIN_VALUE_LEN || text.contains('/') {
        return false;
    }
    let of_table = FORMATS.iter().any(|format| {
        text.strip_prefix(format.prefix).is_some_and(|body| {
            let is_long = body.len() * 2 >= MIN_VALUE_LEN;
            let fits = body
                .bytes()
                .all(|byte| Body::Base64.has(byte) || byte == b'.');
            is_long && fits && (format.is_certain() || !reads_as_words(body))
        })
    });
    of_table
        || OF_VALUES
            .iter()
            .filter_map(|prefix| text.strip_prefix(prefix))
            .any(|body| !reads_as_words(body))
        || text
            .strip_prefix("eyJ")
            .is_some_and(|body| !reads_as_words(body) && body.bytes().any(|b| b.is_ascii_digit()))
}

impl Format {
    /// Returns true if no ordinary name has this prefix.
    fn is_certain(&self) -> bool {
        let begins_names = [
            "npm_",
            "hf_",
            "SG.",
            "r8_",
            "access-production-",
            "access-sandbox-",
        ];
        !self.is_ambiguous && self.has_mark() && !begins_names.contains(&self.prefix)
    }

    /// Returns true if the prefix ends with a separator. It can then not be part of a word.
    pub(crate) fn has_mark(&self) -> bool {
        self.prefix.len() > 3 && self.prefix.ends_with(['_', '-', '.', '/', '=', '$'])
    }
}

/// Returns true if a string reads as words: pieces of letters followed by a number, or short pieces.
pub(crate) fn reads_as_words(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .all(|piece| {
            let letters = piece.trim_end_matches(|c: char| c.is_ascii_digit());
            let is_letters = letters.bytes().all(|byte| byte.is_ascii_alphabetic());
            let capitals = letters
                .bytes()
                .skip(1)
                .filter(u8::is_ascii_uppercase)
                .count();
            let one_case = capitals <= 3 || capitals + 1 >= letters.len();
            // `2nd`, `70b`, `3x7b`
            let is_short = piece.len() <= 4;
            is_short || piece.len() <= MAX_WORD_LEN && is_letters && one_case
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_distinguished_from_keys() {
        for words in [
            "",
            "learn",
            "learn-2024",
            "config_registry1",
            "hub_download2",
            "ada-002",
            "3.5-turbo",
            "claude-sonnet-4-20250514-thinking-preview",
            "LongCamelCase",
            "8x7b",
            "2025-11-25",
            "UPPER_CASE_1",
        ] {
            assert!(reads_as_words(words), "{words}");
        }
        for key in [
            "0123456789abc",
            "s3cret0123456789",
            "12ab34cd56ef",
            "aZ81kQ0p2Lm4Xn7Wq",
            "abcdefghijklmnopqrstuvwxyz",
            "xKjQzRtYwPmN",
        ] {
            assert!(!reads_as_words(key), "{key}");
        }
    }

    #[test]
    fn prefixes_are_unique_and_valid() {
        for (at, format) in FORMATS.iter().enumerate() {
            let again = FORMATS[at + 1..]
                .iter()
                .any(|other| other.prefix == format.prefix);
            assert!(!again, "{} stands twice", format.prefix);
            assert!(
                format.prefix.is_ascii() && format.min >= MIN_VALUE_LEN,
                "{}",
                format.prefix
            );
            // Otherwise a second pass would find tokens that only the first pass's mask separated.
            assert!(
                !format.prefix.starts_with(['*', '_', '-']),
                "{}",
                format.prefix
            );
        }
    }
}
