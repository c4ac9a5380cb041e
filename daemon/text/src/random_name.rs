//! Names that cannot be guessed, for what is handed to one client and must not be found by another.

use uuid::Uuid;

/// Hexadecimal digits: 80 random bits.
const RANDOM_NAME_DIGITS: usize = 20;

/// A new name, from the system's random numbers.
pub fn random_name() -> String {
    // A part of a UUID says its version; its hash is random in every digit.
    let digits = blake3::hash(Uuid::new_v4().as_bytes()).to_hex();
    digits[..RANDOM_NAME_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_name_is_a_plain_word_that_never_comes_twice() {
        let names: std::collections::HashSet<_> = (0..1_000).map(|_| random_name()).collect();
        assert_eq!(names.len(), 1_000);
        let plain = |byte: u8| byte.is_ascii_hexdigit();
        assert!(
            names
                .iter()
                .all(|name| name.len() == RANDOM_NAME_DIGITS && name.bytes().all(plain))
        );
    }
}
