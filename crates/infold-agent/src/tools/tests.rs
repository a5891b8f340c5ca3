//! What the tests of single tools share, and calls from a model's arguments to the answer.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use infold_core::Scrubber;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::fence::Fence;
use super::sandbox::{Confinement, NetworkAccess, SandboxLevel};
use super::shell::{CleanEnvironment, ShellSetup};
use super::{LocalCall, LocalTool, ToolLimits, ToolOutput, Workplace, run};
use crate::ResultOutcome;

/// In the place of `infold tend`: it runs the command and does nothing else.
const STAND_IN: &str = "#!/bin/sh\nshift 3\nexec \"$@\"\n";

/// A folder with tools in it.
pub(super) struct Scene {
    pub(super) outer: TempDir,
    pub(super) workplace: Arc<Workplace>,
}

impl Scene {
    /// A folder with these files.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        Self::with_limits(files, limits())
    }

    pub(super) fn with_limits(files: &[(&str, &str)], limits: ToolLimits) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("work");
        for (path, text) in [("work/.here", "")].iter().chain(&in_folder(files)) {
            let path = outer.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::remove_file(folder.join(".here")).unwrap();
        let program = outer.path().join("stand-in");
        fs::write(&program, STAND_IN).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let path = ("PATH".into(), std::env::var_os("PATH").unwrap());
        let shell = ShellSetup {
            program,
            sandbox: Ok(SandboxLevel::NONE),
            confinement: Confinement { writable: vec![], hidden: vec![], network: NetworkAccess::Open },
            temporary: outer.path().to_owned(),
            environment: CleanEnvironment { kept: vec![path], taken_out: vec![] },
        };
        let fence = Fence::new(&folder, &[]).unwrap();
        let workplace = Arc::new(Workplace { fence, limits, shell, scrubber: None });
        Self { outer, workplace }
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.workplace.fence.folder().to_owned()
    }

    pub(super) fn text(&self, path: impl AsRef<Path>) -> String {
        fs::read_to_string(self.folder().join(path)).unwrap()
    }

    /// Calls a tool as a model does.
    pub(super) async fn call(&self, tool: LocalTool, arguments: Value) -> ToolOutput {
        let call = LocalCall::read(tool, &arguments).unwrap();
        run(call, &self.workplace, &CancellationToken::new()).await
    }

    /// What a call says that works.
    pub(super) async fn said(&self, tool: LocalTool, arguments: Value) -> String {
        let output = self.call(tool, arguments).await;
        assert_eq!(output.outcome, ResultOutcome::Succeeded, "{}", output.text);
        output.text
    }

    /// What a call says that fails.
    pub(super) async fn refused(&self, tool: LocalTool, arguments: Value) -> String {
        let output = self.call(tool, arguments).await;
        assert_eq!(output.outcome, ResultOutcome::Failed, "{}", output.text);
        assert!(output.changes.is_empty());
        output.text
    }
}

fn in_folder<'a>(files: &[(&str, &'a str)]) -> Vec<(&'static str, &'a str)> {
    files.iter().map(|(path, text)| (&*format!("work/{path}").leak(), *text)).collect()
}

/// Limits that most tests do not reach.
pub(super) fn limits() -> ToolLimits {
    ToolLimits {
        read_lines_max: 1000,
        shown_bytes_max: 20_000,
        line_bytes_max: 500,
        file_bytes_max: 1_000_000,
        list_entries_max: 500,
        search_lines_max: 200,
        search_files_max: 1000,
        shell_bytes_max: 20_000,
        shell_usual_seconds: 60,
        shell_seconds_max: 120,
    }
}

#[tokio::test]
async fn nothing_outside_of_the_folder_is_read_listed_searched_or_written() {
    let scene = Scene::new(&[("a.txt", "inside")]);
    fs::write(scene.outer.path().join("secret"), "outside").unwrap();
    std::os::unix::fs::symlink("../secret", scene.folder().join("link")).unwrap();
    std::os::unix::fs::symlink("..", scene.folder().join("up")).unwrap();
    for path in ["../secret", "link", "up/secret"] {
        let calls = [
            (LocalTool::Read, json!({"path": path})),
            (LocalTool::Write, json!({"path": path, "content": "x"})),
            (LocalTool::Edit, json!({"path": path, "old": "outside", "new": "x"})),
            (LocalTool::List, json!({"path": path})),
            (LocalTool::Search, json!({"pattern": "out", "path": path})),
        ];
        for (tool, arguments) in calls {
            let text = scene.refused(tool, arguments).await;
            assert!(text.contains("outside of the working folder"), "{text}");
        }
    }
    // Nor does a search of the folder itself follow a link out of it.
    let found = scene.said(LocalTool::Search, json!({"pattern": "side"})).await;
    assert_eq!(found, "a.txt:1:inside\n[1 lines in 1 files]\n");
    assert_eq!(fs::read_to_string(scene.outer.path().join("secret")).unwrap(), "outside");
}

#[tokio::test]
async fn a_placeholder_is_not_written_in_a_secrets_place() {
    let mut scene = Scene::new(&[("env", "KEY=real\n")]);
    // Made up here, so that it is the scrubber's own.
    let scrubber = Scrubber::new([7; 32]);
    let token = format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    let own = scrubber.scrub(&token).unwrap().as_str().to_owned();
    assert!(own.starts_with("[SECRET:"), "{own}");
    Arc::get_mut(&mut scene.workplace).unwrap().scrubber = Some(scrubber);
    let calls = [
        (LocalTool::Write, json!({"path": "env", "content": format!("KEY={own}\n")})),
        (LocalTool::Edit, json!({"path": "env", "old": "KEY=real", "new": format!("KEY={own}")})),
        (LocalTool::Edit, json!({"path": "env", "old": format!("KEY={own}"), "new": "KEY=x"})),
        (LocalTool::Shell, json!({"command": format!("echo KEY={own} > env")})),
    ];
    for (tool, arguments) in calls {
        let text = scene.refused(tool, arguments).await;
        assert!(text.contains(&own) && text.contains("Leave that line as it is"), "{text}");
    }
    assert_eq!(scene.text("env"), "KEY=real\n");
    // What only looks like one may be written.
    scene.said(LocalTool::Write, json!({"path": "doc", "content": "[SECRET:github-pat:000000]"})).await;
}
