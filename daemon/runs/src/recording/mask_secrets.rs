//! Masks secrets in a recording.
//!
//! Masked everywhere are known secrets, texts in a published token format, and values of members whose names announce
//! a secret.
//!
//! Invariant: a value is masked the same way everywhere in a recording, which stays valid JSON.

use mux_secrets::{KnownSecrets, Masker};

/// Masks `known` in the recording, and the values of members in `texts` whose names announce a secret.
pub(super) fn mask_recording(recording: &str, mut known: KnownSecrets, texts: &[&str]) -> String {
    for text in texts {
        if let Ok(value) = serde_json::from_str(text) {
            known.add_members_of(&value);
        }
    }
    Masker::new(&known).json(recording)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_and_secret_members_are_masked_everywhere() {
        let texts = [
            r#"{"user":"ada","password":"hunter22","nested":[{"api_key":"k9-abcdef123456"}]}"#,
            r#"{"key":"name","tokens":7,"secret":"abc"}"#,
        ];
        let mut known = KnownSecrets::new();
        known.add("from-the-\"env\"");
        let token = format!("{}_{}", "ghp", "k9Qz3VxB7mTr1HjW5nYc".repeat(2));
        let recording = serde_json::json!({
            "said": ["ada hunter22 k9-abcdef123456 name abc", "from-the-\"env\"", { "x": r#"{"y":"from-the-\"env\""}"# }],
            "text": format!("token {token}, https://u:hunter3@h/"),
        });
        let shown = mask_recording(&recording.to_string(), known, &texts);
        let expected = serde_json::json!({
            "said": ["ada *** *** name abc", "***", { "x": r#"{"y":"***"}"# }],
            "text": "token ***, https://u:***@h/",
        });
        assert_eq!(shown, expected.to_string());
    }

    #[test]
    fn masked_recording_stays_valid_json() {
        let half = format!("-----BEGIN {}-----", "PRIVATE KEY");
        let recording = serde_json::json!([
            half,
            "k".repeat(40),
            "-----END PRIVATE KEY-----",
            "a\\\"b\n"
        ]);
        let shown = mask_recording(&recording.to_string(), KnownSecrets::new(), &[]);
        assert_eq!(shown, recording.to_string());
    }
}
