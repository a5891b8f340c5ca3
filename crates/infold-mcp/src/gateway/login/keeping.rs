//! Where logins are kept: a file for each server in a folder that only the user can enter. If the user's keyring keeps the
//! tokens, the file says only that. Either way the file is replaced whenever the login changes, which is how other
//! processes notice.
//!
//! What must hold: a file is there whole or not at all, and nobody else can read it, from its first byte on.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::stored::StoredLogin;
use super::{LoginError, keyring, renewal};

/// How long another process may take to renew a login.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(60);
/// How often it is looked whether it is done.
const LOCK_LOOK: Duration = Duration::from_millis(20);
/// The longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The folder with the logins of all servers.
#[derive(Debug, Clone)]
pub struct LoginStore {
    folder: PathBuf,
}

/// Where a new login is to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreWish {
    /// In the keyring if that works, else in a file.
    Either,
    /// In the keyring, or not at all.
    Keyring,
    /// In a file.
    File,
}

/// Where a login is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginPlace {
    /// In the user's keyring.
    Keyring,
    /// In a private file, and, if the keyring was tried before, why it is not there.
    File {
        /// What went wrong with the keyring.
        keyring_problem: Option<String>,
    },
}

/// Which file it was that a login came from. Every change makes another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginStamp {
    inode: u64,
    modified: (i64, i64),
}

/// What is in a server's file.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kept_in", rename_all = "lowercase")]
enum LoginFile {
    File { login: Box<StoredLogin> },
    Keyring,
}

/// The login of one server.
#[derive(Debug, Clone)]
pub(super) struct KeptLogin {
    folder: PathBuf,
    /// The name of the file, and of the item in the keyring.
    item: String,
    /// The file itself: every request looks whether it is still the same.
    file: PathBuf,
}

/// Keeps other processes from changing a login.
#[derive(Debug)]
pub(super) struct LoginLock(#[allow(dead_code, reason = "it is held, and ends when it is dropped")] File);

impl LoginStore {
    /// Logins below this folder, which is made when the first one is kept.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The login of the server at this address. It may hold a key, so it is not part of the name.
    pub(super) fn of(&self, url: &Url) -> KeptLogin {
        let mut url = url.clone();
        url.set_fragment(None);
        let item: String = blake3::hash(url.as_str().as_bytes()).to_hex().chars().take(32).collect();
        KeptLogin { folder: self.folder.clone(), file: self.folder.join(format!("{item}.json")), item }
    }

    /// Which login of a server there is now; `None` if there is none.
    pub fn stamp(&self, url: &str) -> Option<LoginStamp> {
        self.of(&Url::parse(url).ok()?).stamp()
    }

    /// Removes the login of a server. The authorisation server learns of it, if it offers to.
    pub async fn forget(&self, url: &str) -> Result<Forgotten, LoginError> {
        let Ok(url) = Url::parse(url) else { return Ok(Forgotten::Nothing) };
        let kept = self.of(&url);
        if kept.stamp().is_none() {
            return Ok(Forgotten::Nothing);
        }
        let _lock = kept.lock().await?;
        let login = kept.read().await;
        let revoked = match &login {
            Ok(Some(login)) => renewal::revoke(&url, login).await,
            Ok(None) | Err(_) => false,
        };
        kept.remove().await?;
        Ok(if revoked { Forgotten::Revoked } else { Forgotten::Removed })
    }
}

/// What became of a login that is to be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgotten {
    /// There was none.
    Nothing,
    /// It is removed here. The tokens last until their end.
    Removed,
    /// It is removed here, and its tokens are good for nothing any more.
    Revoked,
}

impl KeptLogin {
    pub(super) fn stamp(&self) -> Option<LoginStamp> {
        let metadata = fs::metadata(&self.file).ok()?;
        Some(LoginStamp { inode: metadata.ino(), modified: (metadata.mtime(), metadata.mtime_nsec()) })
    }

    /// The login that is kept. A file that cannot be understood counts as none: the way out is the same, a new login.
    pub(super) async fn read(&self) -> Result<Option<StoredLogin>, LoginError> {
        let text = match read_file(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(LoginError::not_kept("read", error)),
        };
        match serde_json::from_str(&text) {
            Ok(LoginFile::File { login }) => Ok(Some(*login)),
            Ok(LoginFile::Keyring) => {
                let text = keyring::get(&self.item).await.map_err(|why| LoginError::not_kept("read", why))?;
                Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
            }
            Err(_) => {
                tracing::warn!(file = %self.file.display(), "a stored login cannot be understood");
                Ok(None)
            }
        }
    }

    /// Keeps a new login.
    pub(super) async fn keep(&self, login: &StoredLogin, wish: StoreWish) -> Result<LoginPlace, LoginError> {
        let text = serde_json::to_string(login).map_err(|_| LoginError::not_kept("written", "it is no JSON"))?;
        let keyring_problem = match wish {
            StoreWish::File => None,
            StoreWish::Either | StoreWish::Keyring => match keyring::put(&self.item, &text).await {
                Ok(()) => {
                    self.write(&LoginFile::Keyring)?;
                    return Ok(LoginPlace::Keyring);
                }
                Err(why) if wish == StoreWish::Keyring => return Err(LoginError::not_kept("written", why)),
                Err(why) => Some(why),
            },
        };
        self.write(&LoginFile::File { login: Box::new(login.clone()) })?;
        Ok(LoginPlace::File { keyring_problem })
    }

    /// Keeps a login where the one before it is.
    pub(super) async fn replace(&self, login: &StoredLogin) -> Result<(), LoginError> {
        let text = read_file(&self.file).unwrap_or_default();
        let wish = match serde_json::from_str(&text) {
            Ok(LoginFile::Keyring) => StoreWish::Keyring,
            Ok(LoginFile::File { .. }) | Err(_) => StoreWish::File,
        };
        self.keep(login, wish).await.map(|_| ())
    }

    /// Changes the login that is kept, if it still has this access token. The caller has the lock.
    pub(super) async fn change(
        &self,
        before: &StoredLogin,
        change: impl FnOnce(&mut StoredLogin),
    ) -> Result<(), LoginError> {
        match self.read().await? {
            Some(mut now) if now.access_token == before.access_token => {
                change(&mut now);
                self.replace(&now).await
            }
            // It is another one by now, about which nothing was said.
            Some(_) | None => Ok(()),
        }
    }

    async fn remove(&self) -> Result<(), LoginError> {
        let text = read_file(&self.file).unwrap_or_default();
        if let Ok(LoginFile::Keyring) = serde_json::from_str(&text) {
            keyring::remove(&self.item).await.map_err(|why| LoginError::not_kept("removed", why))?;
        }
        for path in [self.file.clone(), self.unfinished()] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(LoginError::not_kept("removed", error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Waits until no other process changes this login.
    pub(super) async fn lock(&self) -> Result<LoginLock, LoginError> {
        let locking = |error: io::Error| LoginError::not_kept("locked", error);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(locking)?;
        let path = self.folder.join(format!("{}.lock", self.item));
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path).map_err(locking)?;
        let begin = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(LoginLock(file)),
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(locking(error.into())),
                Err(_) if begin.elapsed() > LOCK_WAIT_MAX => {
                    return Err(LoginError::not_kept("locked", "another infold is busy with it"));
                }
                Err(_) => sleep(LOCK_LOOK).await,
            }
        }
    }

    /// What is being written has this name. Only who has the lock writes, so one name is enough, and what a crash left
    /// there goes with the next writing.
    fn unfinished(&self) -> PathBuf {
        self.folder.join(format!("{}.new", self.item))
    }

    fn write(&self, content: &LoginFile) -> Result<(), LoginError> {
        let written = || -> io::Result<()> {
            let unfinished = self.unfinished();
            match fs::remove_file(&unfinished) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&unfinished)?;
            file.write_all(serde_json::to_string(content)?.as_bytes())?;
            file.sync_all()?;
            fs::rename(&unfinished, &self.file)?;
            // Some file systems cannot sync a folder, and need not.
            let _ = File::open(&self.folder).and_then(|folder| folder.sync_all());
            Ok(())
        };
        written().map_err(|error| LoginError::not_kept("written", error))
    }
}

fn read_file(path: &Path) -> io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}
