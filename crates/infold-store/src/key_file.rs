//! The file that holds a copy of the database's secret, so that the secret survives the loss of the database. Branch
//! ids in somebody's transcript and placeholders of secrets are made with it, and infold has to recognise them when the
//! database is gone.
//!
//! What must hold: the file is readable by its owner only from the first byte on, and is there whole or not
//! at all; of several processes that start at once, all have the same secret.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::StoreError;

/// Name of the key file, which lies beside the database.
pub const KEY_FILE: &str = "infold.key";

/// Length of the secret in bytes.
pub const KEY_BYTES: usize = 32;

/// Returns the secret: the one of both, of one of them, or a new one. Both hold it when this returns. Refuses a file
/// that holds another secret than the database: with that, none of the stored branches would be known.
pub(crate) fn secret(database: &Path, connection: &mut Connection) -> Result<[u8; KEY_BYTES], StoreError> {
    // The lock is taken before looking, so that processes starting at once go one after the other.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let path = database.with_file_name(KEY_FILE);
    let stored = transaction.query_row("SELECT secret FROM instance", [], |row| row.get(0)).optional()?;
    let secret = match (read(&path)?, stored) {
        (Some(secret), Some(stored)) if secret != stored => return Err(another_key(&path, database)),
        (Some(secret), _) => secret,
        (None, Some(secret)) => create(&path, &secret)?,
        (None, None) => create(&path, &fresh()?)?,
    };
    if stored != Some(secret) {
        transaction.execute("INSERT INTO instance (id, secret) VALUES (1, ?1)", [secret])?;
    }
    transaction.commit()?;
    Ok(secret)
}

fn another_key(path: &Path, database: &Path) -> StoreError {
    StoreError::Unfit {
        path: path.display().to_string(),
        problem: format!("is not the key of {}", database.display()),
        remedy: "remove the key file to go on with this database, which holds a copy of its own key; or put the \
                 database back that belongs to the key"
            .to_owned(),
    }
}

/// Reads the secret of a database without opening the database. If there is neither a key file nor a database yet,
/// makes a new secret. `None` if only the database has it.
pub fn key_beside(database: &Path) -> Result<Option<[u8; KEY_BYTES]>, StoreError> {
    let path = database.with_file_name(KEY_FILE);
    match read(&path)? {
        Some(secret) => Ok(Some(secret)),
        None if database.exists() => Ok(None),
        None => create(&path, &fresh()?).map(Some),
    }
}

fn fresh() -> Result<[u8; KEY_BYTES], StoreError> {
    let mut secret = [0; KEY_BYTES];
    getrandom::fill(&mut secret)
        .map_err(|error| StoreError::File { path: "random source".to_owned(), problem: error.to_string() })?;
    Ok(secret)
}

fn read(path: &Path) -> Result<Option<[u8; KEY_BYTES]>, StoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(file_error(path, &error)),
    };
    let mut bytes = Vec::with_capacity(KEY_BYTES + 1);
    file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| file_error(path, &error))?;
    <[u8; KEY_BYTES]>::try_from(bytes).map(Some).map_err(|_| StoreError::File {
        path: path.display().to_string(),
        problem: format!(
            "is not a key of {KEY_BYTES} bytes: put a copy of it back, or remove it to go on with the key that is in \
             the database"
        ),
    })
}

/// Creates the file, unless another process has done so already: then the other's secret is the one to use. The file
/// gets its name only once it is whole and on disk.
fn create(path: &Path, secret: &[u8; KEY_BYTES]) -> Result<[u8; KEY_BYTES], StoreError> {
    let unfinished = unfinished(path)?;
    let linked = write(&unfinished, secret).and_then(|()| std::fs::hard_link(&unfinished, path));
    let removed = std::fs::remove_file(&unfinished);
    match linked {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(file_error(path, &error)),
    }
    removed.and_then(|()| sync_folder(path)).map_err(|error| file_error(path, &error))?;
    read(path)?.ok_or_else(|| file_error(path, &ErrorKind::NotFound.into()))
}

/// Returns a path beside a file that no other process uses.
pub(crate) fn unfinished(path: &Path) -> Result<PathBuf, StoreError> {
    let [a, b, c, d, ..] = fresh()?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:08x}", u32::from_be_bytes([a, b, c, d])));
    Ok(path.with_file_name(name))
}

fn write(path: &Path, secret: &[u8; KEY_BYTES]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(secret)?;
    file.sync_all()
}

/// Makes the names in the folder of a file durable.
pub(crate) fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn file_error(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::File { path: path.display().to_string(), problem: error.to_string() }
}

#[cfg(test)]
mod tests;
