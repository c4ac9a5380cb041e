//! The errors of `mux setup`, each with its fix.

use std::{io, path::PathBuf};

/// Why the compiler was not installed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SetupError {
    #[error("there is no TypeScript 7 compiler for {0}")]
    NoPackage(String),
    #[error("cannot read {file:?}: {reason}")]
    Unreadable { file: PathBuf, reason: String },
    #[error("cannot download {url}: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("cannot download {url}: the registry answered {status}")]
    Refused { url: String, status: u16 },
    #[error("the archive from {from} ({bytes} bytes) is not {wanted}: its checksum does not match")]
    OtherChecksum {
        from: String,
        wanted: String,
        bytes: usize,
    },
    #[error("the package cannot be unpacked: {0}")]
    Archive(String),
    #[error("cannot write to {folder:?}: {source}")]
    Unwritable { folder: PathBuf, source: io::Error },
    #[error("{0:?} was installed but does not run")]
    DoesNotRun(PathBuf),
}

impl SetupError {
    pub(super) fn fix(&self) -> &'static str {
        match self {
            Self::NoPackage(_) => "set [check] tsc in config.toml to a compiler of your own",
            Self::Unreadable { .. } => {
                "pass the npm package as a file: `npm pack` on a machine with network access creates it"
            }
            Self::Unreachable { .. } => {
                "check the network and HTTPS_PROXY, use a mirror with --registry URL, or copy the file here and use --from FILE.tgz"
            }
            Self::Refused { .. } => {
                "use a registry that has it with --registry URL, or copy the file here and use --from FILE.tgz"
            }
            Self::OtherChecksum { .. } => {
                "nothing was installed; download it again, from https://registry.npmjs.org if a mirror altered it"
            }
            Self::Archive(_) => "nothing was installed; download it again",
            Self::Unwritable { .. } => "free disk space, make it writable, or set MUX_HOME",
            Self::DoesNotRun(_) => "set [check] tsc in config.toml to a compiler that runs here",
        }
    }
}
