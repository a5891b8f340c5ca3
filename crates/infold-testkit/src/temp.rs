//! Temporary folders that are removed with the test that made them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub struct TempFolder {
    folder: tempfile::TempDir,
}

impl TempFolder {
    /// A folder on the machine's ordinary temporary disk.
    pub fn new() -> Result<Self> {
        Self::inside(&std::env::temp_dir())
    }

    /// A folder in memory, if the machine has `/dev/shm`, else on disk. For tests that make thousands of files
    /// and do not need them on a disk.
    pub fn in_memory() -> Result<Self> {
        let memory = PathBuf::from("/dev/shm");
        if let Ok(folder) = Self::inside(&memory) {
            return Ok(folder);
        }
        Self::new()
    }

    /// A folder below `parent`, which is made if it is not there. For measurements that must run on
    /// the disk that `parent` is on.
    pub fn inside(parent: &Path) -> Result<Self> {
        if parent != Path::new("/dev/shm") {
            std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        let folder = tempfile::Builder::new()
            .prefix("infold-test-")
            .tempdir_in(parent)
            .with_context(|| format!("cannot make a folder in {}", parent.display()))?;
        Ok(Self { folder })
    }

    /// The folder's absolute path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The path of `name` below the folder.
    pub fn join(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
