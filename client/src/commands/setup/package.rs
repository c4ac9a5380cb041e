//! The npm packages that may be installed, each with the compiler for one platform.
//!
//! `scripts/setup` reads the version and the table from this file. A new version is a change here, of
//! `PINNED_TSC_VERSION` in `daemon/typecheck`, and nowhere else.

use std::env::consts;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha512};

use super::error::SetupError;

pub(super) const VERSION: &str = "7.0.2";

/// Each platform, and the SHA-512 of its package in base64.
const CHECKSUMS: [(&str, &str); 6] = [
    (
        "linux-x64",
        "EYdf2cNg7rgCWJnxCdJ+F3V39O8ihb37eHAu1LK8oAFizgTQbPOK7zHHXbPt8rX24COqODXeI3sIf0fCXG7H/A==",
    ),
    (
        "linux-arm64",
        "Qh4eU4/y3yDjnfjjyPYihMj5/ODIlmt+Bzu17OI+fiSRDW57QmU5SiN63exPRNJPKUzcc1INa1NXdrJ+MqHjUQ==",
    ),
    (
        "darwin-arm64",
        "gowzar9MwS/aRWp6f3a4KUqzRjAZjOsmGNCM6LcTgXum+dBfgsBVMN+AgvOCCbguXyick6LJhpBszxMebJ8syA==",
    ),
    (
        "darwin-x64",
        "SZ9xZInqApNlNGc9s0W1VSsktYSOe9cFqNOIqmN1Gs8SmkjKZYFt017G4VwPxASInODuAdbTW7sXiFUf893RgA==",
    ),
    (
        "win32-x64",
        "0BQ3HkAHHlKLSp1qRvf3SUhGpGsDuhB/jgFw75guyqbxJqEaS0Cw/VFO8i2nHglJUzQCRtMMR/IBAKE3ETMC4g==",
    ),
    (
        "win32-arm64",
        "Gyl1Vy6OsWesLzmq+EP0Fb7b4Nid5232AvcA2SFcdYreldpNtYFFofPjnt62y9hQy7VTaZp65ICJjuAQRaVcIQ==",
    ),
];

/// The package for one platform.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompilerPackage {
    pub(super) platform: &'static str,
    pub(super) version: &'static str,
    /// SHA-512 in base64, as npm writes it.
    pub(super) checksum: &'static str,
}

impl CompilerPackage {
    pub(super) fn of_this_machine() -> Result<Self, SetupError> {
        Self::of(consts::OS, consts::ARCH)
    }

    fn of(os: &str, arch: &str) -> Result<Self, SetupError> {
        let os = match os {
            "macos" => "darwin",
            "windows" => "win32",
            os => os,
        };
        let arch = match arch {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            arch => arch,
        };
        let wanted = format!("{os}-{arch}");
        let found = CHECKSUMS.iter().find(|(platform, _)| *platform == wanted);
        let (platform, checksum) = found.ok_or(SetupError::NoPackage(wanted))?;
        Ok(Self {
            platform,
            version: VERSION,
            checksum,
        })
    }

    /// The URL of the package in a registry.
    pub(super) fn url(&self, registry: &str) -> String {
        let registry = registry.trim_end_matches('/');
        let name = self.file_name();
        format!(
            "{registry}/@typescript/typescript-{}/-/{name}",
            self.platform
        )
    }

    pub(super) fn file_name(&self) -> String {
        format!("typescript-{}-{}.tgz", self.platform, self.version)
    }

    /// Fails unless the archive has the checksum of this package.
    pub(super) fn verify(&self, archive: &[u8], from: &str) -> Result<(), SetupError> {
        let found = BASE64_STANDARD.encode(Sha512::digest(archive));
        if found == self.checksum {
            return Ok(());
        }
        Err(SetupError::OtherChecksum {
            from: from.to_owned(),
            wanted: self.file_name(),
            bytes: archive.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_platform_has_a_package_and_others_are_an_error() {
        let package = CompilerPackage::of("linux", "x86_64").unwrap();
        assert_eq!(
            package.url("https://registry.npmjs.org/"),
            "https://registry.npmjs.org/@typescript/typescript-linux-x64/-/typescript-linux-x64-7.0.2.tgz"
        );
        for (os, arch) in [
            ("macos", "aarch64"),
            ("windows", "x86_64"),
            ("linux", "aarch64"),
        ] {
            let package = CompilerPackage::of(os, arch).unwrap();
            assert_eq!(BASE64_STANDARD.decode(package.checksum).unwrap().len(), 64);
        }
        let none = CompilerPackage::of("freebsd", "riscv64").unwrap_err();
        assert!(none.to_string().contains("freebsd-riscv64"), "{none}");
    }

    #[test]
    fn version_is_the_one_that_the_daemon_pins() {
        let daemon = include_str!("../../../../daemon/typecheck/src/lib.rs");
        assert!(daemon.contains(&format!("PINNED_TSC_VERSION: &str = \"{VERSION}\"")));
    }
}
