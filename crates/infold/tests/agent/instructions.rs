//! What reaches the prompt: the project's rules, skills, memories.

use infold_testkit::model::{Script, Step};
use serde_json::json;

use super::scene::{ASKED, Scene, calls, result_of};

const SKILL: &str = "---\nname: juggling\ndescription: How to keep balls in the air.\n---\nThrow the next ball early.";

fn system(scene: &Scene, turn: usize) -> String {
    scene.turns()[turn].body["system"].to_string()
}

#[tokio::test]
async fn enh_4_the_project_s_rules_come_behind_the_base_from_the_root_down() {
    let scene = Scene::start(Script::new([Step::text("Yes.")])).await;
    std::fs::create_dir(scene.file(".git")).unwrap();
    scene.write("AGENTS.md", "Rule of the root.");
    scene.write("inner/AGENT.md", "Rule of the inner folder.");
    scene.write("inner/file.txt", "text");
    let inner = scene.file("inner").display().to_string();
    scene.exec(&["--folder", &inner, ASKED]).await.finished(0);
    let system = system(&scene, 0);
    let at = |words: &str| system.find(words).unwrap_or_else(|| panic!("{words} is missing in {system}"));
    assert!(at("Rule of the root.") < at("Rule of the inner folder."));
}

#[tokio::test]
async fn enh_4_a_skill_of_the_command_line_is_part_of_the_prompt_and_stays() {
    let script = Script::new([
        calls(vec![("skill", json!({"name": "whistling"}))]),
        calls(vec![("skill", json!({"name": "knitting"}))]),
        Step::text("Done."),
    ]);
    let scene = Scene::start(script).await;
    scene.write(".infold/skills/juggling/SKILL.md", SKILL);
    scene.write(".agents/skills/whistling/SKILL.md", "# Whistle\nPurse your lips.");
    scene.exec(&["--skill", "juggling", ASKED]).await.finished(0);
    let turns = scene.turns();
    assert!(system(&scene, 0).contains("Throw the next ball early."));
    assert!(system(&scene, 0).contains("juggling: How to keep balls in the air."));
    assert!(!system(&scene, 0).contains("Purse your lips."), "a skill that was not asked for is named only");
    for turn in &turns {
        assert_eq!(
            turn.body["system"], turns[0].body["system"],
            "the prompt stays as it is while the model takes up skills"
        );
    }
    assert!(result_of(&turns[1], "skill").contains("Purse your lips."));
    assert!(turns[2].holds("there is no skill knitting"), "{}", turns[2].shape());
}

#[tokio::test]
async fn a_skill_of_the_home_is_found_and_the_project_s_of_the_same_name_counts() {
    let scene =
        Scene::start(Script::new([calls(vec![("skill", json!({"name": "juggling"}))]), Step::text("Done.")])).await;
    let home = scene.home().join(".infold/skills/juggling");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("SKILL.md"), "---\nname: juggling\n---\nFrom home.").unwrap();
    scene.exec(&[ASKED]).await.finished(0);
    assert!(result_of(&scene.turns()[1], "skill").contains("From home."));
}

#[tokio::test]
async fn enh_4_memories_that_fit_are_in_the_prompt_and_stay_when_a_session_goes_on() {
    let script = Script::new([Step::text("I remember."), Step::text("Still."), Step::text("And now.")]);
    let scene = Scene::start(script).await;
    let added = ["memory", "add", "--title", "The greeting", "the greeting lives in greeting.txt, not in the code"];
    let added = scene.run(&added).await;
    assert_eq!(added.code, 0, "{added:?}");
    let first = scene.exec(&["Where is the greeting?"]).await;
    first.finished(0);
    scene.exec(&["--resume", &first.session(), "Sing a song about rivers."]).await.finished(0);
    assert!(system(&scene, 0).contains("the greeting lives in greeting.txt"), "{}", system(&scene, 0));
    assert_eq!(system(&scene, 0), system(&scene, 1), "memories are chosen when a session starts");
}

#[tokio::test]
async fn a_secret_in_what_the_project_wrote_does_not_reach_the_model() {
    let token = format!("{}_{}", "ghp", "Q7rT2mXv9LkB4nZc8JpW3sHd6FgY1aEu5oRi");
    let script = Script::new([calls(vec![("read", json!({"path": "secret.txt"}))]), Step::text("Read.")]);
    let scene = Scene::start(script).await;
    scene.write("AGENTS.md", &format!("Use {token} to log in."));
    scene.write("secret.txt", &format!("token = {token}\n"));
    let ran = scene.exec(&[&format!("Is {token} still good?")]).await;
    ran.finished(0);
    for turn in scene.turns() {
        assert!(!String::from_utf8_lossy(&turn.bytes).contains(&token), "{}", turn.shape());
    }
    assert!(!ran.stdout.contains(&token), "{}", ran.stdout);
    assert!(!scene.log().iter().any(|record| record.to_string().contains(&token)));
}
