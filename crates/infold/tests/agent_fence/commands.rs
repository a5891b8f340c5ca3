//! The agent's `shell` with the real program: confined by what was tried, and nothing of a command is left.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use infold_agent::tools::fence::Fence;
use infold_agent::tools::sandbox::{Confinement, NetworkAccess, SandboxLevel, SandboxWish, try_out};
use infold_agent::tools::shell::{CleanEnvironment, ShellSetup};
use infold_agent::tools::{LocalCall, LocalTool, ToolLimits, ToolOutput, Workplace, run};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::gateway::processes::{marked, until, until_gone};
use crate::gateway::{MARK, mark};

/// Processes that have left the command's group and session, have no parent any more, and ignore signals.
const RUNAWAYS: &str = "
    setsid sh -c 'trap \"\" TERM HUP INT; sleep 1000 & wait; sleep 1000' &
    (setsid sh -c '(trap \"\" TERM HUP INT; sleep 1000 & wait; sleep 1000) &' &)
    nohup sleep 1000 &
";
/// Processes that they are, at least.
const RUNAWAYS_MIN: usize = 5;

/// A folder to run commands in, and the mark that they carry.
struct Scene {
    outer: TempDir,
    workplace: Arc<Workplace>,
    mark: String,
}

impl Scene {
    async fn new(wish: SandboxWish, network: NetworkAccess) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let [work, temporary, scratch] = ["work", "temporary", "scratch"].map(|name| outer.path().join(name));
        [&work, &temporary].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        let program = PathBuf::from(env!("CARGO_BIN_EXE_infold"));
        let trial = try_out(&program, wish, network, &scratch).await;
        let mark = mark();
        let variables = vec![("PATH".into(), std::env::var_os("PATH").unwrap()), (MARK.into(), mark.clone().into())];
        let shell = ShellSetup {
            program,
            sandbox: trial.map(|trial| trial.level),
            confinement: Confinement { writable: vec![work.clone(), temporary.clone()], hidden: Vec::new(), network },
            temporary,
            environment: CleanEnvironment { kept: variables, taken_out: Vec::new() },
        };
        let limits = ToolLimits {
            read_lines_max: 100,
            shown_bytes_max: 10_000,
            line_bytes_max: 100,
            file_bytes_max: 10_000,
            list_entries_max: 100,
            search_lines_max: 100,
            search_files_max: 100,
            shell_bytes_max: 10_000,
            shell_usual_seconds: 60,
            shell_seconds_max: 60,
        };
        let fence = Fence::new(&work, &[]).unwrap();
        let workplace = Arc::new(Workplace { fence, limits, shell, scrubber: None });
        Self { outer, workplace, mark }
    }

    fn level(&self) -> SandboxLevel {
        self.workplace.shell.sandbox.clone().unwrap()
    }

    async fn shell(&self, command: &str, cancelled: &CancellationToken) -> ToolOutput {
        let call = LocalCall::read(LocalTool::Shell, &json!({"command": command, "timeout_seconds": 20})).unwrap();
        run(call, &self.workplace, cancelled).await
    }

    fn outside(&self) -> &Path {
        self.outer.path()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_is_confined_as_well_as_was_tried() {
    let scene = Scene::new(SandboxWish::Best, NetworkAccess::Closed).await;
    let level = scene.level();
    eprintln!("{}", level.describe());
    let command = "echo in > inside; echo temporary > $TMPDIR/file; echo out > ../outside; echo ended";
    let output = scene.shell(command, &CancellationToken::new()).await;
    assert!(output.text.contains("ended\n[exit status 0, "), "{}", output.text);
    assert!(scene.outside().join("work/inside").exists() && scene.outside().join("temporary/file").exists());
    assert_eq!(scene.outside().join("outside").exists(), level.landlock_abi == 0 && !level.has_bubblewrap);

    let scene = Scene::new(SandboxWish::Off, NetworkAccess::Closed).await;
    assert_eq!(scene.level(), SandboxLevel::NONE);
    scene.shell(command, &CancellationToken::new()).await;
    assert!(scene.outside().join("outside").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inside_of_bubblewrap_a_command_writes_in_its_folder_but_not_gits_hooks() {
    let scene = Scene::new(SandboxWish::Bubblewrap, NetworkAccess::Closed).await;
    let level = scene.level();
    if !level.has_bubblewrap {
        eprintln!("skipped: bubblewrap does not work here ({})", level.describe());
        return;
    }
    assert!(level.is_full() && level.landlock_abi == 0, "{}", level.describe());
    let work = scene.outside().join("work");
    std::fs::create_dir_all(work.join(".git/hooks")).unwrap();
    std::fs::write(work.join(".git/hooks/pre-commit"), "kept").unwrap();
    std::fs::write(work.join(".infold.toml"), "kept").unwrap();
    let attempts = "
        echo in > inside; echo temporary > $TMPDIR/file; echo out > ../outside
        echo x > .git/hooks/new; echo x > .git/hooks/pre-commit; rm .git/hooks/pre-commit; mv .git/hooks .git/other
        echo x > .infold.toml; rm -f .infold.toml; mount -o remount,rw / ; unshare --user --mount true && echo got away
        (exec 3<>/dev/tcp/127.0.0.1/9) 2>&1 | grep -q permitted && echo no network
        echo to nobody > /dev/null && echo ended";
    let output = scene.shell(attempts, &CancellationToken::new()).await;
    assert!(output.text.contains("no network\nended\n[exit status 0, "), "{}", output.text);
    assert!(!output.text.contains("got away") && !output.text.contains("the command changed"), "{}", output.text);
    assert!(work.join("inside").exists() && scene.outside().join("temporary/file").exists());
    assert!(!scene.outside().join("outside").exists() && !work.join(".git/hooks/new").exists());
    for kept in [".git/hooks/pre-commit", ".infold.toml"] {
        assert_eq!(std::fs::read_to_string(work.join(kept)).unwrap(), "kept", "{kept}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_command_leaves_behind_ends_with_it() {
    for wish in [SandboxWish::Best, SandboxWish::Bubblewrap, SandboxWish::Off] {
        let scene = Scene::new(wish, NetworkAccess::Open).await;
        let waiting = format!("{RUNAWAYS} until [ -e go ]; do sleep 0.01; done; echo done");
        let (workplace, counted) = (scene.workplace.fence.folder().to_owned(), scene.mark.clone());
        let watching = tokio::task::spawn_blocking(move || {
            until(&counted, |count| count >= RUNAWAYS_MIN + 2);
            std::fs::write(workplace.join("go"), "").unwrap();
        });
        let output = scene.shell(&waiting, &CancellationToken::new()).await;
        watching.await.unwrap();
        assert!(output.text.contains("done\n[exit status 0, "), "{}", output.text);
        assert!(marked(&scene.mark).is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_command_ends_with_everything_that_it_started() {
    let scene = Scene::new(SandboxWish::Best, NetworkAccess::Open).await;
    let cancelled = CancellationToken::new();
    let (counted, cancel) = (scene.mark.clone(), cancelled.clone());
    let watching = tokio::task::spawn_blocking(move || {
        until(&counted, |count| count >= RUNAWAYS_MIN + 2);
        cancel.cancel();
    });
    let output = scene.shell(&format!("{RUNAWAYS} trap '' TERM; while :; do sleep 1000; done"), &cancelled).await;
    watching.await.unwrap();
    assert!(output.text.contains("[cancelled after "), "{}", output.text);
    assert!(marked(&scene.mark).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_forgotten_leaves_nothing_running() {
    let scene = Scene::new(SandboxWish::Best, NetworkAccess::Open).await;
    let (workplace, counted) = (Arc::clone(&scene.workplace), scene.mark.clone());
    let call = LocalCall::read(LocalTool::Shell, &json!({"command": format!("{RUNAWAYS} sleep 1000")})).unwrap();
    let calling = tokio::spawn(async move { run(call, &workplace, &CancellationToken::new()).await });
    let watched = counted.clone();
    tokio::task::spawn_blocking(move || until(&watched, |count| count >= RUNAWAYS_MIN + 2)).await.unwrap();
    calling.abort();
    assert!(calling.await.unwrap_err().is_cancelled());
    tokio::task::spawn_blocking(move || until_gone(&counted)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confined_command_cannot_kill_its_tender_to_get_away() {
    let scene = Scene::new(SandboxWish::Best, NetworkAccess::Open).await;
    if scene.level().landlock_abi < 6 {
        eprintln!("skipped: this kernel cannot keep signals inside");
        return;
    }
    let output = scene.shell("(setsid sleep 1000 &); kill -9 $PPID; echo went on", &CancellationToken::new()).await;
    assert!(output.text.contains("went on\n[exit status 0, "), "{}", output.text);
    assert!(marked(&scene.mark).is_empty());
}
