//! Finding transcripts by path, by id and in folders.

use std::fs;

use super::*;

fn home() -> (tempfile::TempDir, Surroundings) {
    let folder = tempfile::tempdir().unwrap();
    let mut surroundings = Surroundings::default();
    surroundings.variables.insert("HOME".to_owned(), folder.path().into());
    (folder, surroundings)
}

fn write(path: PathBuf) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{}\n").unwrap();
    path
}

#[test]
fn a_session_of_claude_code_is_found_by_its_id() {
    let (home, surroundings) = home();
    let id = "5b2438e4-96a7-43f7-b051-10a055bb0fbe";
    let file = write(home.path().join(format!(".claude/projects/-home-dev/{id}.jsonl")));
    assert_eq!(find(id, &surroundings).unwrap(), NamedSource::File(file));
}

#[test]
fn a_session_of_codex_is_found_by_its_id() {
    let (home, surroundings) = home();
    let id = "01a1e06f-f5df-7c31-a7ac-54fed74a2a9d";
    let file = write(home.path().join(format!(".codex/sessions/2026/11/15/rollout-2026-11-15T18-19-56-{id}.jsonl")));
    assert_eq!(find(id, &surroundings).unwrap(), NamedSource::File(file));
}

#[test]
fn the_first_characters_of_an_id_are_enough_where_they_name_one_session() {
    let (home, surroundings) = home();
    let file = |id: &str| write(home.path().join(format!(".claude/projects/-home-dev/{id}.jsonl")));
    let one = file("5b2438e4-96a7-43f7-b051-10a055bb0fbe");
    file("5b2438ff-0000-43f7-b051-10a055bb0fbe");
    assert_eq!(find("5b2438e4", &surroundings).unwrap(), NamedSource::File(one));
    assert_eq!(find("5b2", &surroundings).unwrap(), NamedSource::Session("5b2".to_owned()), "too short to mean one");
    let several = find("5b24", &surroundings).unwrap_err().to_string();
    assert!(several.contains("5b2438e4-96a7-43f7-b051-10a055bb0fbe, 5b2438ff-0000"), "{several}");
}

#[test]
fn a_client_s_own_variable_says_where_its_sessions_are() {
    let (home, mut surroundings) = home();
    surroundings.variables.insert("CODEX_HOME".to_owned(), home.path().join("elsewhere").into());
    let id = "01a1e06f-f5df-7c31-a7ac-54fed74a2a9d";
    let file = write(home.path().join(format!("elsewhere/sessions/rollout-2026-11-15T18-19-56-{id}.jsonl")));
    assert_eq!(find(id, &surroundings).unwrap(), NamedSource::File(file));
}

#[test]
fn what_no_client_has_is_a_session_of_our_own() {
    let (_home, surroundings) = home();
    assert_eq!(find("my-session", &surroundings).unwrap(), NamedSource::Session("my-session".to_owned()));
}

#[test]
fn a_path_that_is_not_there_is_refused_with_what_to_do() {
    let (_home, surroundings) = home();
    let error = find("nowhere/session.jsonl", &surroundings).unwrap_err();
    assert!(error.to_string().contains("hint: give the path of a transcript"), "{error}");
}

#[test]
fn a_folder_means_the_transcripts_in_it_each_once() {
    let (home, _) = home();
    let first = write(home.path().join("a/one.jsonl"));
    let second = write(home.path().join("b/two.json"));
    write(home.path().join("b/notes.txt"));
    write(home.path().join("b/subagents/agent-a1.jsonl"));
    write(home.path().join("b/subagents/agent-a1.meta.json"));
    let names = [home.path().to_owned(), first.clone()];
    assert_eq!(expand(&names).unwrap(), [first, second]);
}

#[test]
fn a_folder_without_transcripts_is_refused() {
    let (home, _) = home();
    write(home.path().join("notes.txt"));
    let error = expand(&[home.path().to_owned()]).unwrap_err();
    assert!(error.to_string().contains("no transcript in"), "{error}");
}
