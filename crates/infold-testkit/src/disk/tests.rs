//! What was synced survives every power loss; what was not synced may be lost, kept or torn.

use std::collections::BTreeSet;
use std::path::Path;

use super::Disk;
use crate::trace::{Action, Step, Trace};
use crate::{Rng, TempFolder};

#[test]
fn what_a_finished_sync_covers_is_always_there() {
    let trace = trace(vec![
        (1, 1, create("a", 0)),
        (2, 2, Action::SyncFolder { name: String::new() }),
        (3, 3, write(0, 0, b"kept")),
        (4, 6, Action::SyncFile { file: 0 }),
        (5, 5, write(0, 4, b"lost")),
    ]);

    assert!(images(&trace, 7).iter().all(|image| image.starts_with("a=kept")));
    assert!(images(&trace, 7).contains("a=kept"), "a write after the sync began is not covered");
    assert!(images(&trace, 6).contains("a="), "a sync that has not ended covers nothing");
}

#[test]
fn what_was_not_synced_may_be_lost_kept_or_torn() {
    let long = [b'x'; 1024];
    let trace = trace(vec![
        (1, 1, create("a", 0)),
        (2, 2, Action::SyncFolder { name: String::new() }),
        (3, 3, write(0, 0, &long)),
    ]);

    let lengths: BTreeSet<usize> = images(&trace, 4).iter().map(|image| image.len() - 2).collect();

    assert_eq!(lengths, BTreeSet::from([0, 512, 1024]));
    assert!(images(&trace, 4).iter().any(|image| image.contains("\0x")), "the first sector alone can be lost");
}

#[test]
fn names_survive_up_to_some_point() {
    let trace = trace(vec![
        (1, 1, create("a", 0)),
        (2, 2, write(0, 0, b"1")),
        (3, 3, Action::SyncFile { file: 0 }),
        (4, 4, Action::Rename { from: "a".to_owned(), to: "b".to_owned() }),
        (5, 5, create("c", 1)),
    ]);

    let expected = ["", "a=1", "b=1", "b=1 c="].map(str::to_owned);
    assert_eq!(images(&trace, 6), BTreeSet::from(expected));
}

#[test]
fn only_a_sync_of_their_folder_keeps_names_unless_there_is_a_journal() {
    let trace = trace(vec![
        (1, 1, Action::MakeFolder { name: "f".to_owned() }),
        (2, 2, create("f/a", 0)),
        (3, 3, write(0, 0, b"1")),
        (4, 4, Action::SyncFile { file: 0 }),
        (5, 5, write(0, 1, b"2")),
        (6, 6, create("f/b", 1)),
    ]);

    assert_eq!(synced(Disk::with_journal(&trace), 7), "f f/a=1", "a synced file has its name");
    assert_eq!(synced(Disk::new(&trace), 7), "");
    assert_eq!(synced(Disk::with_journal(&trace), 4), "", "nothing was synced yet");
}

#[test]
fn what_was_written_back_is_there_without_a_sync() {
    let trace = trace(vec![(1, 1, create("a", 0)), (2, 2, write(0, 0, b"1")), (3, 3, write(0, 1, b"2"))]);
    let mut disk = Disk::new(&trace);
    disk.advance(3);
    disk.write_back();

    assert_eq!(synced(disk, 4), "a=1");
}

#[test]
fn what_is_in_a_folder_that_was_lost_is_lost() {
    let in_folder = |kept: &str| {
        trace(vec![
            (1, 1, Action::MakeFolder { name: "f".to_owned() }),
            (2, 2, create("f/a", 0)),
            (3, 3, Action::SyncFolder { name: "f".to_owned() }),
            (4, 4, Action::SyncFolder { name: kept.to_owned() }),
            (5, 5, Action::Rename { from: "f".to_owned(), to: "g".to_owned() }),
        ])
    };

    assert_eq!(synced(Disk::new(&in_folder("f")), 6), "");
    assert_eq!(synced(Disk::new(&in_folder("")), 6), "f f/a=");
    assert!(images(&in_folder(""), 6).contains("g g/a="), "a folder takes along what is in it");
}

#[test]
fn a_rename_and_what_comes_after_it_stay_in_order() {
    let rename = |from: &str, to: &str| Action::Rename { from: from.to_owned(), to: to.to_owned() };
    let trace = trace(vec![
        (1, 1, Action::MakeFolder { name: "f".to_owned() }),
        (2, 2, create("f/a", 0)),
        (3, 3, rename("f", "g")),
        (4, 4, Action::SyncFolder { name: String::new() }),
        (5, 5, Action::Unlink { name: "g/a".to_owned() }),
        (6, 6, Action::SyncFolder { name: "g".to_owned() }),
    ]);
    let mut disk = Disk::new(&trace);
    disk.advance(7);
    disk.write_back();

    assert_eq!(synced(disk, 7), "g", "the file is not left under a name that it never had");
    assert_eq!(synced(Disk::with_journal(&trace), 7), "g");
    assert_eq!(synced(Disk::new(&trace), 7), "f", "the name in the folder was not synced before the rename");
}

/// What is left if nothing else than what was synced is.
fn synced(mut disk: Disk<'_>, cut: usize) -> String {
    let folder = TempFolder::in_memory().unwrap();
    disk.advance(cut);
    disk.lose_all_unsynced(folder.path()).unwrap();
    shown(folder.path(), "").join(" ")
}

/// All states of the folder that many power losses at `cut` lead to.
fn images(trace: &Trace, cut: usize) -> BTreeSet<String> {
    let mut disk = Disk::new(trace);
    disk.advance(cut);
    let mut rng = Rng::new(1);
    let mut images = BTreeSet::new();
    for _ in 0..200 {
        let folder = TempFolder::in_memory().unwrap();
        disk.lose_power(cut, &mut rng, folder.path()).unwrap();
        images.insert(shown(folder.path(), "").join(" "));
    }
    images
}

/// Every file below a folder as `name=content`, and every folder by its name.
fn shown(folder: &Path, above: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            lines.extend(shown(&entry.path(), &format!("{name}/")));
            lines.push(name);
        } else {
            lines.push(format!("{name}={}", String::from_utf8(std::fs::read(entry.path()).unwrap()).unwrap()));
        }
    }
    lines.sort();
    lines
}

fn trace(steps: Vec<(usize, usize, Action)>) -> Trace {
    let mut steps: Vec<Step> = steps.into_iter().map(|(began, ended, action)| Step { began, ended, action }).collect();
    steps.sort_by_key(|step| step.ended);
    Trace { steps, files: 2, lines: 10 }
}

fn create(name: &str, file: usize) -> Action {
    Action::Create { name: name.to_owned(), file }
}

fn write(file: usize, offset: usize, bytes: &[u8]) -> Action {
    Action::Write { file, offset, bytes: bytes.to_vec() }
}
