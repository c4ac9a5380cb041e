//! The environment that the user's profile and the system have in the registry, and `cmd` for commands.

use std::{
    borrow::Cow,
    ffi::{OsString, c_void},
    io,
    os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle},
    ptr, slice,
    time::Duration,
};

use mux_keeper::SpawnSpec;
use windows_sys::Win32::{
    Foundation::HANDLE,
    Security::TOKEN_QUERY,
    System::{
        Environment::{CreateEnvironmentBlock, DestroyEnvironmentBlock},
        Threading::{GetCurrentProcess, OpenProcessToken},
    },
};

use super::{CapturedEnvironment, Environment};

/// The variables that every server gets, as [`variable_key`] writes them. Without some of them programs do not start.
pub(super) const PASSED_VARIABLES: &[&str] = &[
    "PATH",
    "PATHEXT",
    "COMSPEC",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "OS",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
    "USERNAME",
    "USERDOMAIN",
    "USERPROFILE",
    "HOME",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "TEMP",
    "TMP",
    "TZ",
    "LANG",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];
pub(super) const FALLBACK_PATH: &str = r"C:\Windows\System32;C:\Windows";
/// Separates the paths of `PATH`.
pub(super) const PATH_SEPARATOR: char = ';';
/// The variable with the user's home directory.
pub const HOME_VARIABLE: &str = "USERPROFILE";

/// The name under which a variable is known: the case of a name does not matter.
pub(super) fn variable_key(name: &str) -> Cow<'_, str> {
    name.to_uppercase().into()
}

/// The shell that runs a command.
pub(super) fn shell_command(command: &str) -> (&'static str, Vec<OsString>) {
    let args = ["/D", "/S", "/C", command];
    ("cmd.exe", args.map(OsString::from).into())
}

/// The environment of the user's profile.
pub(super) async fn capture<F: Future<Output = Result<Vec<u8>, String>>>(
    _basis: &Environment,
    _run: impl Fn(SpawnSpec, Duration) -> F,
) -> CapturedEnvironment {
    match profile_variables() {
        Ok(pairs) => CapturedEnvironment {
            found: Some(Environment::of(parse_block(&pairs))),
            problem: None,
        },
        Err(error) => CapturedEnvironment {
            found: None,
            problem: Some(format!(
                "the environment of your profile could not be read, and servers get muxd's own: {error}"
            )),
        },
    }
}

/// The block of the user's environment, as a program gets it that the user starts from the desktop.
#[expect(
    unsafe_code,
    reason = "no safe wrapper of CreateEnvironmentBlock is at hand"
)]
fn profile_variables() -> io::Result<Vec<u16>> {
    // SAFETY: the pseudo handle of this process is always valid, the pointer is to a live local, and the caller owns
    // the handle that the call returns.
    let token = unsafe {
        let mut token: HANDLE = ptr::null_mut();
        checked(OpenProcessToken(
            GetCurrentProcess(),
            TOKEN_QUERY,
            &raw mut token,
        ))?;
        OwnedHandle::from_raw_handle(token)
    };
    let mut block: *mut c_void = ptr::null_mut();
    // SAFETY: the token is open. On success, the block is a sequence of NUL-terminated strings that ends with an empty
    // one. The block is copied before it is freed.
    unsafe {
        checked(CreateEnvironmentBlock(
            &raw mut block,
            token.as_raw_handle(),
            0,
        ))?;
        let start: *const u16 = block.cast();
        let mut length = 0;
        while *start.add(length) != 0 || *start.add(length + 1) != 0 {
            length += 1;
        }
        let copy = slice::from_raw_parts(start, length).to_vec();
        DestroyEnvironmentBlock(block);
        Ok(copy)
    }
}

/// The variables of a block. Variables whose name begins with `=` are the working directories of drives.
fn parse_block(block: &[u16]) -> impl Iterator<Item = (String, String)> {
    block.split(|unit| *unit == 0).filter_map(|pair| {
        let pair = String::from_utf16(pair).ok()?;
        let (name, value) = pair.split_once('=')?;
        (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    })
}

fn checked(done: i32) -> io::Result<()> {
    match done {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_a_block_are_found_whatever_their_case() {
        let block: Vec<u16> = "=C:=C:\\x\0Path=C:\\bin\0Empty=\0odd\0"
            .encode_utf16()
            .collect();
        let environment = Environment::of(parse_block(&block));
        let found: Vec<_> = environment.iter().collect();
        assert_eq!(found, [("EMPTY", ""), ("PATH", r"C:\bin")]);
        assert_eq!(environment.get("path"), Some(r"C:\bin"));
    }
}
