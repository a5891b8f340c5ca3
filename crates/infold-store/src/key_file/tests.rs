//! The secret with the key file, without it, and with several processes that want it at once.

use std::path::Path;

use tempfile::TempDir;

use super::{KEY_FILE, unfinished};
use crate::tests::settings;
use crate::{Store, StoreError};

fn open(folder: &Path) -> Result<Store, StoreError> {
    Store::open(&folder.join("infold.db"), &settings())
}

fn remove_database(folder: &Path) {
    for name in ["infold.db", "infold.db-wal", "infold.db-shm"] {
        // The write-ahead log is gone already if the last connection has written it back.
        let _ = std::fs::remove_file(folder.join(name));
    }
}

#[test]
fn the_secret_survives_the_database_and_the_database_survives_the_file() {
    let folder = TempDir::new().unwrap();
    let secret = *open(folder.path()).unwrap().secret();
    assert_eq!(std::fs::read(folder.path().join(KEY_FILE)).unwrap(), secret);

    remove_database(folder.path());
    assert_eq!(*open(folder.path()).unwrap().secret(), secret);

    std::fs::remove_file(folder.path().join(KEY_FILE)).unwrap();
    assert_eq!(*open(folder.path()).unwrap().secret(), secret);
    assert_eq!(std::fs::read(folder.path().join(KEY_FILE)).unwrap(), secret);
}

#[test]
fn a_key_of_another_database_is_refused_and_both_files_are_left_alone() {
    let folder = TempDir::new().unwrap();
    let secret = *open(folder.path()).unwrap().secret();
    std::fs::write(folder.path().join(KEY_FILE), [7; 32]).unwrap();
    let Err(StoreError::Unfit { problem, remedy, .. }) = open(folder.path()) else { panic!("opened") };
    assert!(problem.starts_with("is not the key of ") && remedy.starts_with("remove the key file"), "{problem}");
    assert_eq!(std::fs::read(folder.path().join(KEY_FILE)).unwrap(), [7; 32]);

    std::fs::remove_file(folder.path().join(KEY_FILE)).unwrap();
    assert_eq!(*open(folder.path()).unwrap().secret(), secret);
}

#[test]
fn all_that_start_at_once_agree_and_leave_nothing_unfinished() {
    for _ in 0..8 {
        let folder = TempDir::new().unwrap();
        let secrets: Vec<[u8; 32]> = std::thread::scope(|scope| {
            let opening: Vec<_> = (0..4).map(|_| scope.spawn(|| *open(folder.path()).unwrap().secret())).collect();
            opening.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(secrets.iter().all(|secret| *secret == secrets[0]));
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        let is_unfinished = |name: &&std::ffi::OsString| {
            name.to_string_lossy().starts_with("infold.key.") || name.to_string_lossy().starts_with("infold.db.")
        };
        assert_eq!(names.iter().filter(is_unfinished).count(), 0, "{names:?}");
    }
}

#[test]
fn a_file_that_is_no_key_is_left_alone_and_reported() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join(KEY_FILE), "short").unwrap();
    let Err(StoreError::File { problem, .. }) = open(folder.path()) else { panic!("opened") };
    assert!(problem.starts_with("is not a key of 32 bytes: put a copy of it back"), "{problem}");
    assert_eq!(std::fs::read(folder.path().join(KEY_FILE)).unwrap(), b"short");
}

#[test]
fn what_is_unfinished_lies_beside_the_file_under_another_name() {
    let path = Path::new("folder/infold.key");
    let name = unfinished(path).unwrap();
    assert_eq!(name.parent(), path.parent());
    assert_ne!(name, path);
}
