//! Servers of a project are taken once they are approved, as they are written then, and no longer.

use clap::Parser as _;
use tempfile::TempDir;

use super::*;
use crate::cli::Cli;
use crate::gateway::{approve_project_server, project_servers};
use crate::output::Output;
use crate::parts;
use crate::settings::{FlagValues, Surroundings, gather, resolve};

/// A command in a project of its own, and the engine with its approvals.
struct InProject {
    folder: TempDir,
    invocation: Invocation,
    engine: Engine,
}

impl InProject {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("project/inner")).unwrap();
        let variables = [("HOME".to_owned(), folder.path().as_os_str().to_owned())].into();
        let surroundings = Surroundings { variables, folder: Some(folder.path().join("project/inner")) };
        let globals = Cli::parse_from(["infold", "settings"]).globals;
        let in_force = resolve(gather(&surroundings, FlagValues::default()).unwrap()).unwrap();
        let output = Output::new(&globals, &surroundings);
        let invocation = Invocation { in_force, output, globals, surroundings };
        let engine = parts::engine(&invocation.data_folder().unwrap(), &invocation.in_force.settings).unwrap();
        Self { folder, invocation, engine }
    }

    fn write(&self, program: &str) {
        let text = format!("{{\"mcpServers\": {{\"theirs\": {{\"command\": \"{program}\"}}}}}}");
        std::fs::write(self.folder.path().join("project/.mcp.json"), text).unwrap();
    }

    async fn taken(&self) -> TakenServers {
        take_servers(Agent::Claude, &[], &self.invocation, &self.engine).await.unwrap()
    }
}

#[tokio::test]
async fn a_projects_server_is_taken_once_it_is_approved_and_not_when_it_is_another() {
    let project = InProject::new();
    project.write("a-program");
    let before = project.taken().await;
    assert!(before.entries.is_empty() && before.off.is_empty(), "{before:?}");
    assert!(before.notes[0].ends_with("waits for `infold approve theirs`"), "{:?}", before.notes);

    let waiting = project_servers(&project.invocation, Some(&project.engine)).await.unwrap();
    assert_eq!(waiting.iter().map(|server| server.is_approved).collect::<Vec<_>>(), [false]);
    approve_project_server(&waiting[0], &project.engine).await.unwrap();

    let after = project.taken().await;
    assert!(matches!(after.entries[0].origin, EntryOrigin::Project { client: SourceClient::Claude, .. }));
    assert_eq!(after.off[0].name, "theirs");
    let known = project_servers(&project.invocation, Some(&project.engine)).await.unwrap();
    assert!(known[0].is_approved);

    project.write("another-program");
    assert!(project.taken().await.entries.is_empty(), "what was approved is another program");
}

#[tokio::test]
async fn an_agent_that_is_not_to_read_its_files_keeps_its_servers() {
    let project = InProject::new();
    let own = "{\"mcpServers\": {\"mine\": {\"command\": \"x\"}}}";
    std::fs::write(project.folder.path().join(".claude.json"), own).unwrap();
    let arguments = ["--strict-mcp-config".into()];
    let taken = take_servers(Agent::Claude, &arguments, &project.invocation, &project.engine).await.unwrap();
    assert!(taken.entries.is_empty() && taken.notes[0].contains("--strict-mcp-config"), "{taken:?}");
    assert_eq!(project.taken().await.entries.len(), 1);
}
