//! What a project and a person have written for agents: rule files, and skills.
//!
//! A repository may come from a stranger: its files are words for the model, they widen nothing.

use std::path::{Path, PathBuf};

use infold_agent::instructions::Skill;

use crate::failure::Refused;

/// Rule files of a project, the first one of each folder counts.
const RULE_FILES: [&str; 2] = ["AGENTS.md", "AGENT.md"];
/// Folders with skills, in a project and in the user's home.
const SKILL_FOLDERS: [&str; 2] = [".infold/skills", ".agents/skills"];
/// Longest rule file.
const RULES_BYTES_MAX: u64 = 256 << 10;
/// Longest skill.
const SKILL_BYTES_MAX: u64 = 128 << 10;
/// Skills that are looked at.
const SKILLS_MAX: usize = 200;
/// Folders above the working folder that are looked at.
const FOLDERS_MAX: usize = 32;

/// The rules that hold in a folder: of the repository's root down to it.
pub fn project_rules(folder: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let mut folders: Vec<&Path> = Vec::new();
    for above in folder.ancestors().take(FOLDERS_MAX) {
        folders.push(above);
        if above.join(".git").exists() {
            break;
        }
    }
    // Outside of a repository, only the folder itself counts.
    if !folders.last().is_some_and(|root| root.join(".git").exists()) {
        folders.truncate(1);
    }
    let mut rules = Vec::new();
    for folder in folders.into_iter().rev() {
        let files = RULE_FILES.iter().map(|name| folder.join(name));
        if let Some(file) = files.into_iter().find(|file| file.is_file()) {
            rules.push((file.display().to_string(), read(&file, RULES_BYTES_MAX)?));
        }
    }
    Ok(rules)
}

/// The skills of a project and of the user's home. Of two with one name, the project's counts.
pub fn skills(folder: &Path, home: Option<&Path>) -> Vec<Skill> {
    let mut skills: Vec<Skill> = Vec::new();
    let roots = [Some(folder), home].into_iter().flatten();
    for place in roots.flat_map(|root| SKILL_FOLDERS.iter().map(move |name| root.join(name))) {
        for file in skill_files(&place) {
            let Some(skill) = skill(&file) else { continue };
            if skills.len() < SKILLS_MAX && !skills.iter().any(|known| known.name == skill.name) {
                skills.push(skill);
            }
        }
    }
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    skills
}

fn skill_files(place: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path().join("SKILL.md")).filter(|file| file.is_file()).collect();
    files.sort();
    files
}

/// Reads a skill: its name and description are in front, between two lines of dashes; else its folder names it.
fn skill(file: &Path) -> Option<Skill> {
    let whole = read(file, SKILL_BYTES_MAX).ok()?;
    let folder = file.parent()?.file_name()?.to_string_lossy().into_owned();
    let front = whole.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---"));
    let (front, text) = front.unwrap_or(("", &whole));
    let field = |name: &str| {
        let value = front.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let value = value.trim().trim_matches(['"', '\'']).to_owned();
        (!value.is_empty()).then_some(value)
    };
    let first_line = || text.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    Some(Skill {
        name: field("name").unwrap_or(folder),
        description: field("description").or_else(|| first_line().map(str::to_owned)).unwrap_or_default(),
        text: text.trim().to_owned(),
    })
}

fn read(file: &Path, bytes_max: u64) -> anyhow::Result<String> {
    let shown = file.display();
    let size = std::fs::metadata(file).map_err(|error| Refused::new(format!("cannot read {shown}: {error}")))?.len();
    if size > bytes_max {
        return Err(Refused::new(format!("{shown} has {size} bytes, and at most {bytes_max} are read"))
            .hint("make it shorter: all of it is paid for in every request")
            .into());
    }
    let bytes = std::fs::read(file).map_err(|error| Refused::new(format!("cannot read {shown}: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
