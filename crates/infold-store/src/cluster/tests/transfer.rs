//! Copying everything from one store to another.

use std::path::Path;

use infold_core::Command;
use rusqlite::Connection;
use tempfile::TempDir;

use super::machines;
use crate::tests::{append_of, fresh, settings};
use crate::{KEY_FILE, Store, StoreError};

/// A store of a machine's own, with the key of another one.
fn alone(with_key_of: &Path) -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    std::fs::copy(with_key_of.join(KEY_FILE), folder.path().join(KEY_FILE)).unwrap();
    let store = Store::open(&folder.path().join("infold.db"), &settings()).unwrap();
    (folder, store)
}

#[tokio::test]
async fn everything_is_copied_into_the_log_and_back_and_a_copy_goes_on() {
    let Some((one, _two, first, _second)) = machines() else { return };
    let (_folder, local) = alone(one.path());
    for number in 0..600_u64 {
        let name = format!("s-{number}");
        local.append(append_of(&fresh(&name), &Command::Start, 10)).await.unwrap();
    }
    // Cut off in the middle: what is there already is passed over the next time.
    first.append(append_of(&fresh("s-0"), &Command::Start, 10)).await.unwrap();
    let copied = local.copy_shared_to(&first, |_| {}).await.unwrap();
    assert!(copied.written < copied.rows, "{copied:?}");
    assert_eq!(first.shared_digest().await.unwrap(), local.shared_digest().await.unwrap());
    let again = local.copy_shared_to(&first, |_| {}).await.unwrap();
    assert_eq!((again.written, again.rows), (0, copied.rows));

    let (_folder, back) = alone(one.path());
    assert_eq!(first.copy_shared_to(&back, |_| {}).await.unwrap().digest, copied.digest);
}

#[tokio::test]
async fn nothing_is_written_over_that_only_the_other_store_has() {
    let Some((one, _two, first, _second)) = machines() else { return };
    let (folder, local) = alone(one.path());
    // The same row of the archive, with another branch in it, and no session on either side.
    let archived = |id: &str| format!("INSERT INTO archive VALUES ('{id}', 1, 'o', 's', 1, '', '{{}}', x'00')");
    let theirs = archived("theirs");
    first.inner.writer.run(move |transaction| Ok(transaction.execute_batch(&theirs)?)).await.unwrap();
    Connection::open(folder.path().join("infold.db")).unwrap().execute_batch(&archived("ours")).unwrap();
    for (from, to) in [(&local, &first), (&first, &local)] {
        let before = to.shared_digest().await.unwrap();
        match from.copy_shared_to(to, |_| {}).await {
            Err(StoreError::Unfit { problem, .. }) => assert!(problem.contains("of its own (archive)"), "{problem}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(to.shared_digest().await.unwrap(), before);
    }
}
