//! `infold rewind`: the session, its files and its branches are as they were, and the next request has the same bytes.

use anyhow::{Context, Result};
use infold_testkit::model::{Decision, Script, Step};
use serde_json::{Value, json};

use super::scene::Scene;

const FIRST: &str = "Write the file, please.";
const SECOND: &str = "Now change it.";

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write", json!({ "path": path, "content": content }))
}

/// A session of two runs: the first makes a file, the second changes it twice and makes another one.
async fn two_runs() -> Result<(Scene, String)> {
    let script = Script::new([
        Step::calling("I write it.", [write("a.txt", "one\n")]),
        Step::text("Written."),
        Step::calling("I change it.", [write("a.txt", "two\n"), write("new/b.txt", "more\n")]),
        Step::calling("Once more.", [write("a.txt", "three\n")]),
        Step::text("Changed."),
        Step::text("Another way."),
    ]);
    let scene = Scene::start(script).await?;
    scene.done(&["exec", FIRST]).await?;
    let session = scene.session().await?;
    scene.done(&["exec", "--resume", &session, SECOND]).await?;
    assert_eq!((scene.file("a.txt").as_str(), scene.file("new/b.txt").as_str()), ("three\n", "more\n"));
    Ok((scene, session))
}

async fn points(scene: &Scene, session: &str) -> Result<Vec<Value>> {
    let listed = scene.json(&["rewind", session]).await?;
    Ok(listed["points"].as_array().context("no points")?.clone())
}

/// The number of the point with these words.
fn number(points: &[Value], words: &str) -> Result<String> {
    let point = points.iter().find(|point| point["words"] == words);
    Ok(point.with_context(|| format!("{words}: {points:#?}"))?["record"].to_string())
}

#[tokio::test]
async fn going_back_puts_files_back_and_the_next_request_has_the_same_bytes() -> Result<()> {
    let (scene, session) = two_runs().await?;
    let before = points(&scene, &session).await?;
    let shown: Vec<(&str, &str)> =
        before.iter().filter_map(|point| Some((point["kind"].as_str()?, point["words"].as_str()?))).collect();
    let wanted = [
        ("said", FIRST),
        ("answered", "I write it."),
        ("answered", "Written."),
        ("said", SECOND),
        ("answered", "I change it."),
        ("answered", "Once more."),
        ("answered", "Changed."),
    ];
    assert_eq!(shown, wanted);
    let text = scene.done(&["rewind", &session]).await?.text;
    assert!(text.contains("RECORD") && text.contains(SECOND), "{text}");

    let to = number(&before, SECOND)?;
    let went = scene.json(&["rewind", &session, "--to", &to]).await?;
    assert_eq!((&went["to"].to_string(), &went["files"]), (&to, &json!(["a.txt", "new/b.txt"])));
    assert_eq!(scene.file("a.txt"), "one\n");
    assert!(!scene.path("new/b.txt").exists());
    assert_eq!(points(&scene, &session).await?, before[..4]);

    let printed = scene.done(&["exec", "--resume", &session]).await?;
    assert_eq!(printed.text.lines().last(), Some("Another way."), "{printed:#?}");
    let turns = scene.turns();
    assert_eq!(scene.last_bytes(), String::from_utf8(turns[2].bytes.clone())?);
    let after = points(&scene, &session).await?;
    assert_eq!(number(&after, "Another way.")?.parse::<u64>()?, number(&before, "Changed.")?.parse::<u64>()? + 3);
    Ok(())
}

#[tokio::test]
async fn where_somebody_else_has_changed_a_file_nothing_is_changed() -> Result<()> {
    let (scene, session) = two_runs().await?;
    std::fs::write(scene.path("a.txt"), "mine\n")?;
    let before = points(&scene, &session).await?;
    let to = number(&before, "Written.")?;

    let refused = scene.run(&["rewind", &session, "--to", &to]).await?;
    assert_eq!(refused.code, Some(3), "{refused:#?}");
    assert!(refused.errors.contains("-mine") && refused.errors.contains("--keep-files"), "{}", refused.errors);
    assert_eq!((scene.file("a.txt").as_str(), scene.file("new/b.txt").as_str()), ("mine\n", "more\n"));
    assert_eq!(points(&scene, &session).await?, before);

    scene.done(&["rewind", &session, "--to", &to, "--keep-files"]).await?;
    assert_eq!((scene.file("a.txt").as_str(), scene.file("new/b.txt").as_str()), ("mine\n", "more\n"));
    assert_eq!(points(&scene, &session).await?, before[..3]);

    let unknown = scene.run(&["rewind", &session, "--to", "1"]).await?;
    assert_eq!(unknown.code, Some(3), "the beginning is no point: {unknown:#?}");
    Ok(())
}

#[tokio::test]
async fn a_compaction_is_gone_back_behind() -> Result<()> {
    let reading =
        (1..=8).map(|number| Step::calling("I read.", [("read", json!({ "path": format!("{number}.txt") }))]));
    let script = Script::new(reading).then([
        Step::calling("It is full.", [("compact_context", json!({}))]),
        Step::text("Go on."),
        Step::text("Again."),
    ]);
    let scene = Scene::start(script).await?;
    for number in 1..=8 {
        let text: String =
            (1..=60).map(|line| format!("line {line} of file {number}, which says nothing new\n")).collect();
        std::fs::write(scene.path(&format!("{number}.txt")), text)?;
    }
    scene.done(&["exec", FIRST]).await?;
    let session = scene.session().await?;
    let before = points(&scene, &session).await?;
    assert!(before.iter().any(|point| point["kind"] == "compacted"), "{before:#?}");

    scene.json(&["rewind", &session, "--to", &number(&before, FIRST)?]).await?;
    scene.done(&["exec", "--resume", &session]).await?;
    let turns = scene.turns();
    assert_eq!(scene.last_bytes(), String::from_utf8(turns[0].bytes.clone())?);
    assert_eq!(points(&scene, &session).await?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_branch_that_was_open_is_closed_and_its_call_opens_another_one() -> Result<()> {
    let opening = || ("branch_create", json!({ "description": "look into it", "prompt": "Look." }));
    let in_branch = |step: Step| {
        Step::seeing(move |received| match received.holds(FIRST) {
            true => Decision::Stuck("this is the main thread".to_owned()),
            false => step.decision(received),
        })
    };
    let script = Script::new([
        Step::calling("A branch does it.", [opening()]),
        in_branch(Step::calling("I look.", [("list", json!({}))])),
        in_branch(Step::calling("Found.", [("branch_return", json!({ "message": "It is there." }))])),
        Step::text("Done."),
    ]);
    let scene = Scene::start(script).await?;
    let limited = scene.run(&["exec", FIRST, "--turns", "2"]).await?;
    assert_eq!(limited.code, Some(5), "{limited:#?}");
    let session = scene.session().await?;
    let answered = number(&points(&scene, &session).await?, "A branch does it.")?;

    let went = scene.json(&["rewind", &session, "--to", &answered]).await?;
    let closed = went["branches"].as_array().context("no branches")?;
    assert_eq!(closed.len(), 1, "{went}");
    let shown = scene.json(&["show", &session]).await?;
    let branch = &shown["branches"][0];
    assert_eq!((&branch["branch_id"], &branch["reason"]), (&closed[0], &json!("interrupted")), "{shown}");
    assert_eq!(shown["memories"]["learnt"], 0, "nothing is learnt of going back: {shown}");

    scene.done(&["exec", "--resume", &session]).await?;
    let shown = scene.json(&["show", &session]).await?;
    let branches = shown["branches"].as_array().context("no branches")?;
    let reasons: Vec<&Value> = branches.iter().map(|branch| &branch["reason"]).collect();
    assert_eq!((branches.len(), reasons[0]), (2, &json!("interrupted")), "{shown}");
    assert_eq!(branches[1]["status"], "completed", "{shown}");
    assert!(scene.turns().pop().context("no turn")?.holds("It is there."));

    let first = number(&points(&scene, &session).await?, FIRST)?;
    scene.done(&["rewind", &session, "--to", &first]).await?;
    scene.done(&["exec", "--resume", &session]).await?;
    assert_eq!(scene.last_bytes(), String::from_utf8(scene.turns()[0].bytes.clone())?);
    Ok(())
}

#[tokio::test]
async fn a_call_that_is_run_again_behind_a_point_has_its_new_result_offloaded_too() -> Result<()> {
    let command = "for n in $(seq 1 3000); do echo $(cat word.txt) line $n; done";
    let script = Script::new([
        Step::calling("I print.", [("shell", json!({ "command": command }))]),
        Step::text("Printed."),
        Step::text("Printed again."),
    ]);
    let scene = Scene::start(script).await?.set("agent.approval", "all");
    std::fs::write(scene.path("word.txt"), "heron")?;
    scene.done(&["exec", FIRST]).await?;
    let session = scene.session().await?;
    let before = points(&scene, &session).await?;
    scene.json(&["rewind", &session, "--to", &number(&before, "I print.")?]).await?;
    std::fs::write(scene.path("word.txt"), "curlew")?;
    scene.done(&["exec", "--resume", &session]).await?;

    let turns = scene.turns();
    let shown = |turn: usize| turns[turn].last_result_of("shell").context("no result");
    let (first, second) = (shown(1)?, shown(2)?);
    assert!(first.contains("heron line 1") && first.contains("read_result") && first.len() < 12_000, "{first:.300}");
    assert!(second.contains("curlew line 1") && second.contains("read_result"), "{second:.300}");
    assert!(second.len() < 12_000 && !second.contains("heron"), "{second:.300}");
    Ok(())
}
