//! Absolute paths in call arguments: Unix paths, and Windows paths with a drive.
//!
//! Both are read on every system, because a server may run on another one than the daemon.
//!
//! Invariant: a path depends only on the string. No file is accessed and no link followed.

/// An absolute path with `.` and `..` resolved.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct AbsolutePath {
    /// The drive letter, in lower case, or `None` for a Unix path.
    drive: Option<char>,
    names: Vec<String>,
    /// True if a `..` was resolved after a link that may lead anywhere. The names are then not known.
    leaves_link: bool,
}

/// The relation of a path to a directory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PathContainment {
    Inside,
    Outside,
    /// Depends on something that is not known here.
    Unknown,
}

impl AbsolutePath {
    /// `None` for any other string, and for a Windows share or device (`\\host\share`).
    pub(super) fn read(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix('/') {
            let (names, leaves_link) = resolved_names(rest.split('/'));
            return Some(Self {
                drive: None,
                names,
                leaves_link,
            });
        }
        let (drive, rest) = text.split_at_checked(1)?;
        let drive = drive.chars().next().filter(char::is_ascii_alphabetic)?;
        let rest = rest.strip_prefix(':')?.strip_prefix(['/', '\\'])?;
        let (names, _) = resolved_names(rest.split(['/', '\\']).map(windows_step));
        Some(Self {
            drive: Some(drive.to_ascii_lowercase()),
            names,
            leaves_link: false,
        })
    }

    pub(super) fn has_drive(&self) -> bool {
        self.drive.is_some()
    }

    /// The path with the separators of Unix.
    pub(super) fn text(&self) -> String {
        let names = self.names.join("/");
        match self.drive {
            Some(drive) => format!("{drive}:/{names}"),
            None => format!("/{names}"),
        }
    }

    /// For a Windows path: the string with its own first separator everywhere, and with `.` and `..` resolved.
    pub(super) fn tidy_windows_text(&self, written: &str) -> Option<String> {
        self.drive?;
        let (root, rest) = written.split_at_checked(3)?;
        let separator = &root[2..];
        let end = if rest.ends_with(['/', '\\']) && !self.names.is_empty() {
            separator
        } else {
            ""
        };
        Some(format!("{root}{}{end}", self.names.join(separator)))
    }

    /// For a Windows path: the spellings by which a rule may name the same file, with either separator, and without
    /// the characters that Windows ignores at the end of names.
    pub(super) fn windows_spellings(&self) -> Vec<String> {
        let Some(drive) = self.drive else {
            return Vec::new();
        };
        let names = self.names.iter().map(|name| {
            // `a.txt::$DATA` is the content of `a.txt`.
            let name = name.split_once(':').map_or(name.as_str(), |(name, _)| name);
            name.trim_end_matches(['.', ' '])
        });
        let names: Vec<&str> = names.collect();
        let drives = [drive, drive.to_ascii_uppercase()];
        let spelled = drives.iter().flat_map(|drive| {
            ["/", "\\"].map(|separator| format!("{drive}:{separator}{}", names.join(separator)))
        });
        spelled.collect()
    }

    pub(super) fn containment(&self, directory: &Self) -> PathContainment {
        match (self.drive, directory.drive) {
            (None, None) if self.leaves_link => PathContainment::Unknown,
            (None, None) => match self.names.starts_with(&directory.names) {
                true => PathContainment::Inside,
                false if self.leads_anywhere() => PathContainment::Unknown,
                // Some file systems ignore the case of letters.
                false if is_same_or_below(&self.names, &directory.names) => {
                    PathContainment::Unknown
                }
                false => PathContainment::Outside,
            },
            (Some(drive), Some(other)) => {
                if self.names.iter().any(|name| is_ambiguous(name)) {
                    return PathContainment::Unknown;
                }
                let is_same =
                    |(ours, theirs): (&String, &String)| ours.eq_ignore_ascii_case(theirs);
                let is_long = self.names.len() >= directory.names.len();
                let mut pairs = self.names.iter().zip(&directory.names);
                if drive == other && is_long && pairs.clone().all(is_same) {
                    return PathContainment::Inside;
                }
                // Which other letters differ only in case depends on the file system.
                let is_plain = |(ours, theirs): (&String, &String)| {
                    is_same((ours, theirs)) || (ours.is_ascii() && theirs.is_ascii())
                };
                if drive != other || !is_long || pairs.all(is_plain) {
                    PathContainment::Outside
                } else {
                    PathContainment::Unknown
                }
            }
            // A path of the other system may be relative, or on the current drive.
            _ => PathContainment::Unknown,
        }
    }

    /// Returns true if the path passes a system link from which it may lead to any file.
    pub(super) fn leads_anywhere(&self) -> bool {
        self.drive.is_none() && (self.leaves_link || is_link_of_the_system(&self.names))
    }
}

/// Returns true if the path is below a process's directory in `/proc`, or `/dev/fd`, whose links lead anywhere, or
/// below another name of the whole file system on macOS (`/.vol`, `/System/Volumes/Data`).
fn is_link_of_the_system(names: &[String]) -> bool {
    let is_process = |name: &str| {
        matches!(name, "self" | "thread-self") || name.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is = |name: &str, known: &str| name.eq_ignore_ascii_case(known);
    match names {
        [volumes, ..] if is(volumes, ".vol") => true,
        [system, volumes, ..] if is(system, "System") && is(volumes, "Volumes") => true,
        [proc, process, ..] if proc == "proc" => is_process(process),
        [dev, fd, ..] => {
            dev == "dev" && matches!(fd.as_str(), "fd" | "stdin" | "stdout" | "stderr")
        }
        _ => false,
    }
}

/// Returns true if names begin with those of a directory, if the case of letters does not count.
fn is_same_or_below(names: &[String], directory: &[String]) -> bool {
    let mut pairs = names.iter().zip(directory);
    names.len() >= directory.len()
        && pairs.all(|(ours, theirs)| ours.to_lowercase() == theirs.to_lowercase())
}

/// Returns true if Windows may read the name as a different name: a short name (`PROGRA~1`), an end that it ignores, a
/// stream.
fn is_ambiguous(name: &str) -> bool {
    name.contains(['~', ':']) || name.ends_with(['.', ' '])
}

/// A component of a Windows path. Windows may read `.. ` or `...` as `..`.
fn windows_step(part: &str) -> &str {
    match part {
        "" | "." => part,
        _ if part.trim_end_matches(['.', ' ']).is_empty() => "..",
        name => name,
    }
}

/// The names without `.` and `..`, and whether a `..` was resolved below a system link.
fn resolved_names<'a>(parts: impl Iterator<Item = &'a str>) -> (Vec<String>, bool) {
    let mut names: Vec<String> = Vec::new();
    let mut leaves_link = false;
    for part in parts {
        match part {
            "" | "." => {}
            ".." => {
                leaves_link |= is_link_of_the_system(&names);
                names.pop();
            }
            name => names.push(name.to_owned()),
        }
    }
    (names, leaves_link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_windows_lies_in_a_directory_whatever_its_case_and_separators() {
        let directory = AbsolutePath::read("C:\\Users\\me\\Notes").unwrap();
        for (path, expected) in [
            ("C:\\Users\\me\\Notes", PathContainment::Inside),
            ("c:/users/ME/notes/a.txt", PathContainment::Inside),
            ("C:\\x\\..\\Users\\me\\.\\Notes\\a", PathContainment::Inside),
            ("C:\\Users\\me", PathContainment::Outside),
            ("C:\\Users\\me\\Notes\\.. \\a", PathContainment::Outside),
            ("C:\\Users\\me\\Notes\\..\\a", PathContainment::Outside),
            ("C:\\Users\\me\\Notes2\\a", PathContainment::Outside),
            ("D:\\Users\\me\\Notes\\a", PathContainment::Outside),
            ("C:\\Users\\me\\Notés\\a", PathContainment::Unknown),
            ("C:\\Users\\me\\NOTES~1\\a", PathContainment::Unknown),
            ("C:\\Users\\me\\Notes.\\a", PathContainment::Unknown),
            ("C:\\Users\\me\\Notes\\a:b", PathContainment::Unknown),
            ("/Users/me/Notes/a", PathContainment::Unknown),
        ] {
            let path = AbsolutePath::read(path).unwrap();
            assert_eq!(path.containment(&directory), expected, "{path:?}");
        }
        for other in [
            "C:a",
            "C:",
            "\\a",
            "\\\\host\\share\\a",
            "\\\\?\\C:\\a",
            "ä:\\a",
            "1:\\a",
            "",
        ] {
            assert_eq!(AbsolutePath::read(other), None, "{other}");
        }
    }
}
