//! The package that `npx` or `uvx` fetches and starts, found in their arguments.

use std::path::Path;

/// Programs that fetch a package and run it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PackageRunner {
    Npx,
    Uvx,
}

/// Options of `npx` and `uvx` that have a value in the next argument.
const NPX_VALUE_OPTIONS: &[&str] = &["--cache", "--prefix", "--registry", "--userconfig", "-w"];
const UVX_VALUE_OPTIONS: &[&str] = &[
    "--cache-dir",
    "--config-file",
    "--default-index",
    "--directory",
    "--env-file",
    "--extra-index-url",
    "--index",
    "--index-url",
    "--project",
    "--python",
    "--refresh-package",
    "--with",
    "--with-editable",
    "--with-requirements",
    "-i",
    "-p",
    "-w",
];

/// The package that a command fetches from a registry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FetchedPackage<'a> {
    pub(crate) runner: PackageRunner,
    /// With its version, as written.
    pub(crate) package: &'a str,
    /// The arguments of the package's program. `None` if an option names the package, because the program then comes
    /// first.
    pub(crate) arguments: Option<&'a [String]>,
}

impl<'a> FetchedPackage<'a> {
    /// `None` if the command is not a package runner, or if it starts a path, a URL or a variable.
    pub(crate) fn of(command: &str, args: &'a [String]) -> Option<Self> {
        // `npx.cmd` and `uvx.exe` on Windows.
        let program = Path::new(command).file_stem()?.to_str()?;
        let (runner, package_options, value_options) = match program {
            "npx" => (
                PackageRunner::Npx,
                &["-p", "--package"][..],
                NPX_VALUE_OPTIONS,
            ),
            "uvx" => (PackageRunner::Uvx, &["--from"][..], UVX_VALUE_OPTIONS),
            _ => return None,
        };
        let mut rest = args.iter();
        let (package, is_by_option) = loop {
            let arg = rest.next()?.as_str();
            let (option, value) = match arg.split_once('=') {
                Some((option, value)) if option.starts_with("--") => (option, Some(value)),
                _ => (arg, None),
            };
            if package_options.contains(&option) {
                break (value.or_else(|| rest.next().map(String::as_str))?, true);
            } else if arg == "--" {
                break (rest.next()?.as_str(), false);
            } else if !arg.starts_with('-') {
                break (arg, false);
            } else if value.is_none() && value_options.contains(&option) {
                rest.next();
            }
        };
        is_registry_name(package).then(|| Self {
            runner,
            package,
            arguments: (!is_by_option).then_some(rest.as_slice()),
        })
    }
}

impl PackageRunner {
    /// The package without its version. The name of an npm package can begin with `@`.
    pub(crate) fn package_name(self, package: &str) -> &str {
        let ends: &[char] = match self {
            Self::Npx => &['@'],
            Self::Uvx => &['@', '=', '<', '>', '~', '!', ' '],
        };
        let end = package
            .char_indices()
            .skip(1)
            .find(|(_, c)| ends.contains(c));
        end.map_or(package, |(end, _)| &package[..end])
    }
}

/// Returns true for the name of a package, not for a path, URL or variable.
fn is_registry_name(package: &str) -> bool {
    !package.contains([':', '$', '~', '\\']) && !package.starts_with(['.', '/'])
}
