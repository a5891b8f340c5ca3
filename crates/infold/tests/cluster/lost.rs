//! Servers whose files were put back from an old copy: machines that have seen more refuse the log and say so, and it is made anew
//! from a machine's index.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use infold_testkit::nats::NatsCluster;
use infold_testkit::{Daemon, TempFolder};
use tokio::process::Command;

use super::machines::{Machines, STREAM};

const SERVERS: usize = 3;
/// After how long making the log anew is killed, in milliseconds: at its beginning, and in the middle of it.
const KILLED_AFTER_MS: [u64; 4] = [40, 80, 120, 160];

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Stops all servers, does something with each one's files, and starts them again.
async fn while_stopped(cluster: &mut NatsCluster, mut change: impl FnMut(&Path, &str)) {
    let folder = cluster.folder().to_owned();
    for node in 0..SERVERS {
        cluster.kill(node).unwrap();
    }
    for node in 0..SERVERS {
        let name = format!("n{}", node + 1);
        change(&folder.join(&name).join("store"), &name);
        cluster.restart(node).unwrap();
    }
    cluster.until_ready().await.unwrap();
}

/// What makes the log anew from the index of a daemon that is not running.
struct Republishing<'a> {
    daemon: &'a Daemon,
    settings: &'a [String],
}

impl Republishing<'_> {
    fn command(&self, more: &[&str]) -> Command {
        let mut command = self.daemon.program(&["store", "republish", "--set", "store.backend=nats"]);
        command.args(self.settings).args(more);
        command
    }

    async fn run(&self, more: &[&str]) -> Output {
        self.command(more).output().await.unwrap()
    }

    /// Makes the log anew, after some tries that were killed.
    async fn with_kills(&self) {
        for ms in KILLED_AFTER_MS {
            let mut command = self.command(&["--yes"]);
            let mut program = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            tokio::time::sleep(Duration::from_millis(ms)).await;
            program.kill().await.unwrap();
        }
        let made = self.run(&["--yes"]).await;
        // The last one that was killed may have been through.
        let is_made = made.status.success() || text(&made.stderr).contains("has everything that this machine has");
        assert!(is_made, "{}", text(&made.stderr));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_from_an_old_copy_is_refused_and_made_anew_from_an_index() {
    let Some(mut machines) = Machines::start(2, |setup| setup).await else { return };
    let mut programs = machines.programs().await;
    let early = programs[0].open("early", "look around").await.unwrap();
    machines.cluster.until_leader(STREAM).await.unwrap();

    let copy = TempFolder::new().unwrap();
    while_stopped(&mut machines.cluster, |store, name| copy_folder(store, &copy.join(name))).await;
    let (one, other) = (&programs[0], &programs[1]);
    other.fold(&early, "found in time").await.unwrap();
    let late = one.open("late", "look again").await.unwrap();
    other.look_at(&late).await.unwrap();
    for program in &mut programs {
        program.daemon.terminate().await.unwrap();
    }
    while_stopped(&mut machines.cluster, |store, name| {
        std::fs::remove_dir_all(store).unwrap();
        copy_folder(&copy.join(name), store);
    })
    .await;

    for program in &mut programs {
        let refused = program.daemon.restart().await.unwrap_err().to_string();
        assert!(refused.contains("this machine has seen entries up to"), "{refused}");
        assert!(refused.contains("docs/cluster.md about a lost log"), "{refused}");
    }
    let settings = machines.settings();
    let looked = Republishing { daemon: &programs[0].daemon, settings: &settings }.run(&[]).await;
    assert!(looked.status.success(), "{}", text(&looked.stderr));
    assert!(text(&looked.stdout).contains("this machine's index has everything up to entry"), "{looked:?}");
    assert!(text(&looked.stderr).contains("nothing is changed yet"), "{looked:?}");
    assert!(programs[0].daemon.restart().await.is_err(), "nothing was changed");
    Republishing { daemon: &programs[0].daemon, settings: &settings }.with_kills().await;

    for program in &mut programs {
        program.restart().await.unwrap();
        assert_eq!(program.look_at(&late).await.unwrap()["status"], "active");
        assert_eq!(program.look_at(&early).await.unwrap()["status"], "completed");
    }
    programs[1].fold(&late, "found after all").await.unwrap();
    assert_eq!(programs[0].look_at(&late).await.unwrap()["status"], "completed");
    let needless = Republishing { daemon: &programs[0].daemon, settings: &settings }.run(&["--yes"]).await;
    assert!(!needless.status.success());
    assert!(text(&needless.stderr).contains("has everything that this machine has"), "{needless:?}");
}
