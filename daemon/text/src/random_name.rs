//! Names that cannot be guessed, for objects that only one client may find.

use uuid::Uuid;

/// The length of a name in hexadecimal digits: 80 random bits.
const RANDOM_NAME_DIGITS: usize = 20;

/// A new name, from the system's random numbers.
pub fn random_name() -> String {
    // A UUID has fixed version bits. Its hash is random in every digit.
    let digits = blake3::hash(Uuid::new_v4().as_bytes()).to_hex();
    digits[..RANDOM_NAME_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_names_are_hexadecimal_and_unique() {
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
