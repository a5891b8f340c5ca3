//! What was synced survives every power loss; what was not synced may be lost, kept or torn.

use std::collections::BTreeSet;

use super::Disk;
use crate::trace::{Action, Step, Trace};
use crate::{Rng, TempFolder};

#[test]
fn what_a_finished_sync_covers_is_always_there() {
    let trace = trace(vec![
        (1, 1, create("a", 0)),
        (2, 2, Action::SyncFolder),
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
    let trace = trace(vec![(1, 1, create("a", 0)), (2, 2, Action::SyncFolder), (3, 3, write(0, 0, &long))]);

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

/// All states of the folder that many power losses at `cut` lead to, each as `name=content` of every file.
fn images(trace: &Trace, cut: usize) -> BTreeSet<String> {
    let mut disk = Disk::new(trace);
    disk.advance(cut);
    let mut rng = Rng::new(1);
    let mut images = BTreeSet::new();
    for _ in 0..200 {
        let folder = TempFolder::in_memory().unwrap();
        disk.lose_power(cut, &mut rng, folder.path()).unwrap();
        let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<String> = entries
            .map(|path| {
                let content = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
                format!("{}={content}", path.file_name().unwrap().to_string_lossy())
            })
            .collect();
        files.sort();
        images.insert(files.join(" "));
    }
    images
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
