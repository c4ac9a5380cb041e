//! The folders in which the types stand, one for each `mux.d.ts`, and what the compiler is told there.
//!
//! A change of the types means another folder in the same process. Measured with 400 tools: 8 ms, as
//! with a notice that the file has changed, and 37 ms with another process; and checks against the old
//! types that are on their way see the old types.
//!
//! Invariant: a folder of this name holds the whole text. It is filled under another name first.

use std::{
    collections::VecDeque,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{CheckFailure, TypeDeclarations};

/// How many are kept; the others are of types that nobody has any more.
const MAX_TYPES_FOLDERS: usize = 8;
const DECLARATIONS_FILE: &str = "mux.d.ts";
const TSCONFIG_FILE: &str = "tsconfig.json";

/// No path of a program leads anywhere (`noResolve`), no package is looked for (`types`), nothing is
/// fetched (`typeAcquisition`), and what the sandbox erases in place is all there is.
const TSCONFIG: &str = r#"{
  "compilerOptions": {
    "target": "es2024",
    "lib": ["es2024"],
    "module": "esnext",
    "moduleResolution": "bundler",
    "moduleDetection": "force",
    "resolveJsonModule": false,
    "noResolve": true,
    "types": [],
    "strict": true,
    "useUnknownInCatchVariables": false,
    "erasableSyntaxOnly": true,
    "skipLibCheck": true,
    "noEmit": true
  },
  "typeAcquisition": { "enable": false },
  "include": ["*.ts"]
}
"#;

/// The folder of folders.
pub(super) struct TypesFolders {
    work: PathBuf,
    /// The hashes of those that stand, the last used at the end.
    known: Mutex<VecDeque<[u8; 32]>>,
    /// Held while a folder is written.
    writing: Arc<Mutex<()>>,
}

impl TypesFolders {
    pub(super) fn new(work: PathBuf) -> Self {
        Self {
            work,
            known: Mutex::default(),
            writing: Arc::default(),
        }
    }

    /// Where programs are checked against these types.
    pub(super) async fn folder(&self, types: &TypeDeclarations) -> Result<PathBuf, CheckFailure> {
        let folder = self.work.join(name(&types.hash));
        // Somebody may have emptied the cache; this look costs a microsecond.
        if self.is_known(&types.hash) && folder.join(DECLARATIONS_FILE).exists() {
            return Ok(folder);
        }
        let (draft, place) = (self.work.join(".draft"), folder.clone());
        let (text, writing) = (types.text.clone(), Arc::clone(&self.writing));
        let written = tokio::task::spawn_blocking(move || {
            let _alone = writing.lock().unwrap_or_else(PoisonError::into_inner);
            lay_out(&draft, &place, &text.read())
        })
        .await;
        let failed = |reason: String| CheckFailure::Unwritable {
            folder: self.work.clone(),
            reason,
        };
        written
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))?;
        self.sweep(types.hash).await;
        Ok(folder)
    }

    /// Looks at the folder again before it is used.
    pub(super) fn doubt(&self, types: &TypeDeclarations) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|hash| *hash != types.hash);
    }

    fn is_known(&self, hash: &[u8; 32]) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = known.iter().position(|known| known == hash) else {
            return false;
        };
        if let Some(hash) = known.remove(place) {
            known.push_back(hash);
        }
        true
    }

    /// Notes a folder and removes what is of no use: that of types long gone, also of an earlier daemon.
    async fn sweep(&self, hash: [u8; 32]) {
        let kept: Vec<String> = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.retain(|known| *known != hash);
            known.push_back(hash);
            if known.len() > MAX_TYPES_FOLDERS {
                known.pop_front();
            }
            known.iter().map(name).collect()
        };
        let work = self.work.clone();
        let swept = tokio::task::spawn_blocking(move || {
            for entry in fs::read_dir(&work).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if is_name(&name) && !kept.contains(&name) {
                    // What cannot be removed now is tried again with the next types.
                    drop(fs::remove_dir_all(entry.path()));
                }
            }
        });
        drop(swept.await);
    }
}

fn name(hash: &[u8; 32]) -> String {
    // Half of it: a path should be readable, and nobody gains by two types with one name.
    hash[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn is_name(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn lay_out(draft: &Path, folder: &Path, text: &str) -> io::Result<()> {
    let holds = |file: &str, text: &str| {
        fs::read_to_string(folder.join(file)).is_ok_and(|found| found == text)
    };
    if holds(TSCONFIG_FILE, TSCONFIG) && holds(DECLARATIONS_FILE, text) {
        return Ok(());
    }
    remove(draft)?;
    fs::create_dir_all(draft)?;
    fs::write(draft.join(TSCONFIG_FILE), TSCONFIG)?;
    fs::write(draft.join(DECLARATIONS_FILE), text)?;
    // Of an earlier build, or half gone.
    remove(folder)?;
    fs::rename(draft, folder)
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(number: u8) -> TypeDeclarations {
        TypeDeclarations {
            hash: [number; 32],
            text: format!("// {number}\n").as_str().into(),
        }
    }

    #[tokio::test]
    async fn a_folder_holds_its_types_and_old_ones_go() {
        let home = tempfile::tempdir().unwrap();
        let work = home.path().join("check");
        let projects = TypesFolders::new(work.clone());
        let first = projects.folder(&types(0)).await.unwrap();
        assert_eq!(
            fs::read_to_string(first.join(DECLARATIONS_FILE)).unwrap(),
            "// 0\n"
        );
        assert!(first.join(TSCONFIG_FILE).exists());
        for number in 1..20 {
            projects.folder(&types(number)).await.unwrap();
        }
        assert!(!first.exists());
        assert_eq!(fs::read_dir(&work).unwrap().count(), MAX_TYPES_FOLDERS);
        // An earlier daemon's folders go as well, and what is none of ours stays.
        fs::write(work.join("mine.txt"), "").unwrap();
        TypesFolders::new(work.clone())
            .folder(&types(30))
            .await
            .unwrap();
        assert_eq!(fs::read_dir(&work).unwrap().count(), 2);
    }

    #[tokio::test]
    async fn what_is_missing_or_altered_is_written_again() {
        let home = tempfile::tempdir().unwrap();
        let projects = TypesFolders::new(home.path().join("check"));
        let folder = projects.folder(&types(1)).await.unwrap();
        fs::remove_dir_all(&folder).unwrap();
        projects.folder(&types(1)).await.unwrap();
        fs::write(folder.join(DECLARATIONS_FILE), "declare").unwrap();
        projects.doubt(&types(1));
        projects.folder(&types(1)).await.unwrap();
        assert_eq!(
            fs::read_to_string(folder.join(DECLARATIONS_FILE)).unwrap(),
            "// 1\n"
        );
    }
}
