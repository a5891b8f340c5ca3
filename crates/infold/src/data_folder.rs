//! The data folder: only its owner can look inside.
//!
//! It holds everything infold knows, and the token that lets a program in. So the folder is 0700
//! and what is made in it is 0600 from the first byte; a folder that others can enter is refused
//! instead of being quietly put right, because somebody may have read it already. And it is infold's alone: folders
//! that others use, such as the system's, are refused, and never with the advice to change their rights.

use std::fs::{self, DirBuilder, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cluster;
use crate::failure::Refused;
use crate::settings::{Backend, InForce};

/// The database's file name in the data folder.
pub const DATABASE: &str = "infold.db";

/// Folders of the system, whose users are many.
const SHARED: &[&str] = &[
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/dev/shm",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/run/user",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/usr/bin",
    "/usr/include",
    "/usr/lib",
    "/usr/local",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/local/share",
    "/usr/sbin",
    "/usr/share",
    "/usr/src",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/spool",
    "/var/tmp",
];
/// Below these, every folder is somebody's home.
const HOMES: &[&str] = &["/home"];
/// What infold itself puts into its folder. One of these shows that a folder is infold's.
const OWN_FILES: [&str; 3] = [DATABASE, infold_store::KEY_FILE, infold_door::TOKEN_FILE];

/// A data folder that exists, and that nobody but its owner can access.
#[derive(Debug, Clone)]
pub struct DataFolder {
    path: PathBuf,
}

/// The path of the data folder, whether or not it exists. Refuses one that is not infold's alone.
pub fn location(in_force: &InForce) -> Result<PathBuf, Refused> {
    let path = in_force
        .data_folder()
        .ok_or_else(|| Refused::new("no data folder: HOME is not set").hint("set --data DIR or INFOLD_DATA"))?;
    is_for_infold_alone(&path, in_force.usual_data_folder())?;
    Ok(path)
}

/// Refuses a folder of the system's, somebody's home, and every folder above the usual data folder. A home that is empty, or
/// infold's already, is that of a user who is there for infold.
pub fn is_for_infold_alone(path: &Path, usual: Option<&Path>) -> Result<(), Refused> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_shared = SHARED.iter().any(|shared| real == Path::new(shared));
    let is_home = real.parent().is_some_and(|parent| HOMES.iter().any(|homes| parent == Path::new(homes)));
    let is_above =
        |usual: &Path| usual != path && usual != real && (usual.starts_with(path) || usual.starts_with(&real));
    let is_somebodys = (is_home || usual.is_some_and(is_above)) && is_others(path);
    if !is_shared && !is_somebodys {
        return Ok(());
    }
    let example = usual.map_or_else(String::new, |usual| format!(", such as {}", quoted(usual)));
    Err(Refused::new(format!("{} cannot be the data folder: other programs use it", path.display()))
        .hint(format!("name a folder of infold's own with --data DIR{example}")))
}

impl DataFolder {
    /// Opens the folder, and creates it if it does not exist.
    pub fn create(path: PathBuf) -> anyhow::Result<Self> {
        // Every file that is created from here on, by whichever library, is for its owner alone.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("cannot create the data folder {}", path.display()))?;
        let metadata = fs::metadata(&path).with_context(|| format!("data folder {}", path.display()))?;
        safe_to_use(&path, &metadata)?;
        Ok(Self { path })
    }

    /// Opens the folder; `None` if it does not exist.
    pub fn existing(path: PathBuf) -> anyhow::Result<Option<Self>> {
        match fs::metadata(&path) {
            Ok(_) => Self::create(path).map(Some),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error).with_context(|| format!("data folder {}", path.display())),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the database, whether or not it exists.
    pub fn database(&self, backend: Backend) -> PathBuf {
        match backend {
            Backend::Sqlite => self.path.join(DATABASE),
            Backend::Nats => self.path.join(cluster::FOLDER).join(DATABASE),
        }
    }
}

/// Refuses a path that is not a folder, that belongs to another user, or that others can access.
pub fn safe_to_use(path: &Path, metadata: &Metadata) -> Result<(), Refused> {
    let shown = path.display();
    if !metadata.is_dir() {
        return Err(Refused::new(format!("data folder {shown} is not a folder"))
            .hint("choose another with --data DIR or INFOLD_DATA"));
    }
    let (owner, ours) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != ours {
        return Err(Refused::new(format!("data folder {shown} belongs to another user (uid {owner}; you are {ours})"))
            .hint("run infold as its owner, or choose another folder with --data DIR"));
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        let hint = match is_others(path) {
            true => format!("name a folder of infold's own, such as --data {}", quoted(&path.join("infold"))),
            false => format!("chmod 700 {}", quoted(path)),
        };
        return Err(
            Refused::new(format!("other users can access the data folder {shown} (mode {mode:04o})")).hint(hint)
        );
    }
    Ok(())
}

/// Whether a folder holds something, and nothing of infold's.
fn is_others(path: &Path) -> bool {
    let holds_something = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    holds_something && !OWN_FILES.iter().any(|name| path.join(name).exists())
}

/// The path as it is typed in a shell, in quotes if it needs them.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests;
