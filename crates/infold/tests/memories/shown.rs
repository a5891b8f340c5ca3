//! What people see of memories: with a session, in `infold top`, and why a search finds what it finds.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{LESSON, TASK, opened, taught};
use crate::support::{Program, roomy};

/// What the program prints with these arguments, on the daemon's data.
async fn prints(program: &Program, arguments: &[&str]) -> Result<String> {
    let mut command = program.daemon.program(arguments);
    let ended = command.env("LANG", "C.UTF-8").env("COLUMNS", "120").output().await?;
    ensure!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
    Ok(String::from_utf8(ended.stdout)?)
}

async fn as_json(program: &Program, arguments: &[&str]) -> Result<Value> {
    let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
    Ok(serde_json::from_str(&prints(program, &arguments).await?)?)
}

/// Names in a text, written alike.
fn alike(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("mem_") {
        out.push_str(&rest[..at]);
        out.push_str("MEMORY");
        rest = &rest[at + "mem_0123456789".len()..];
    }
    out + rest
}

#[tokio::test]
async fn show_says_what_a_session_was_given_and_what_was_learnt_from_it() -> Result<()> {
    let program = Program::start(roomy()).await?;
    taught(&program, "first", LESSON).await?;
    let (branch, injected, _) = opened(&program, "second", json!({})).await?;
    ensure!(injected.contains(LESSON), "{injected}");
    opened(&program, "second", json!({"parent_branch_id": "main"})).await?;

    let first = prints(&program, &["show", "first"]).await?;
    let lines: Vec<String> = first.lines().map(alike).collect();
    ensure!(lines.contains(&"1 lesson learnt".to_owned()), "{first}");
    let learnt = "  learnt  MEMORY  Fixtures before the snapshot tests of the parser  (works)";
    ensure!(lines.contains(&learnt.to_owned()), "{first}");
    let second = prints(&program, &["show", "second"]).await?;
    let given = "  given   MEMORY  Fixtures before the snapshot tests of the parser  (to 2 branches)";
    ensure!(alike(&second).contains(given) && second.contains(" · 1 memory"), "{second}");

    let shown = as_json(&program, &["show", "second"]).await?["memories"].clone();
    let of_api = program.api.get("/api/v1/sessions/second").await?.with_status(200)?["memories"].clone();
    assert_eq!(shown, of_api, "the program prints what the API answers");
    assert_eq!((&shown["given"], &shown["learnt"], &shown["waiting"]), (&json!(2), &json!(0), &json!(0)));
    let why = as_json(&program, &["memory", "why", &branch]).await?;
    let to_branch = &shown["given_to"][0];
    assert_eq!(to_branch["branch_id"], json!(branch));
    assert_eq!(to_branch["memories"][0]["memory_id"], why["memories"][0]["memory_id"]);
    let tokens: Vec<u64> = (0..2).filter_map(|at| shown["given_to"][at]["tokens"].as_u64()).collect();
    assert_eq!(shown["given_tokens"], json!(tokens.iter().sum::<u64>()));
    let chars = injected.chars().count() as u64;
    assert!(tokens.iter().all(|tokens| (chars / 8..chars).contains(tokens)), "{tokens:?} of {chars} characters");
    let line = format!("2 memories given to 2 branches, {} tokens", shown["given_tokens"]);
    ensure!(second.contains(&line), "{line} is not in {second}");

    let learnt = as_json(&program, &["show", "first"]).await?["memories"].clone();
    assert_eq!((&learnt["given"], &learnt["learnt"]), (&json!(0), &json!(1)));
    let listed = as_json(&program, &["memory", "list", "--all"]).await?;
    assert_eq!(learnt["learnt_memories"][0]["memory_id"], listed["memories"][0]["memory_id"]);

    let top = prints(&program, &["top", "--once"]).await?;
    ensure!(top.contains("1 memory, given 2 times in a day"), "{top}");
    assert_eq!(as_json(&program, &["top"]).await?["memories"]["given_in_a_day"], 2);
    Ok(())
}

#[tokio::test]
async fn what_waits_for_review_is_said_with_its_session() -> Result<()> {
    let program = Program::start(roomy().set("memory.review", "all")).await?;
    taught(&program, "first", LESSON).await?;
    program.done("memory_search", json!({"query": TASK})).await?;
    let shown = prints(&program, &["show", "first"]).await?;
    ensure!(shown.contains("1 lesson learnt · 1 waits for you: `infold memory review`"), "{shown}");
    ensure!(shown.contains("(works, waiting)"), "{shown}");
    assert_eq!(as_json(&program, &["show", "first"]).await?["memories"]["waiting"], 1);
    let top = prints(&program, &["top", "--once"]).await?;
    ensure!(top.contains("1 memory, 1 waits for you"), "{top}");
    Ok(())
}

#[tokio::test]
async fn search_explains_what_a_branch_would_be_given_as_the_branch_is() -> Result<()> {
    let program = Program::start(roomy()).await?;
    taught(&program, "first", LESSON).await?;
    let add =
        json!({"title": "The parser's tests are slow", "lesson": "Use `just quick` for the parser.", "project": null});
    let unsure = program.api.post("/api/v1/memories", &add).await?.with_status(201)?["memory_id"].clone();
    let database = rusqlite::Connection::open(program.daemon.data().join("infold.db"))?;
    database.busy_timeout(std::time::Duration::from_secs(10))?;
    let unsure = unsure.as_str().context("a name")?;
    database.execute("UPDATE memories SET for_it = 1, against = 1 WHERE id = ?1", [unsure])?;
    let far = json!({"title": "Deploy on Fridays", "lesson": "The tests of the harbour crane run for hours.", "project": null});
    program.api.post("/api/v1/memories", &far).await?.with_status(201)?;

    let found = as_json(&program, &["memory", "search", "--all", "--explain", TASK]).await?;
    let memories = found["memories"].as_array().context("a list")?;
    let fate = |title: &str| {
        let found = memories.iter().find(|memory| memory["title"].as_str().is_some_and(|known| known.contains(title)));
        found.map(|memory| memory["found"]["fate"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(fate("Fixtures before").as_deref(), Some("given"), "{found}");
    assert_eq!(fate("tests are slow").as_deref(), Some("unsure"), "{found}");
    assert_eq!(fate("Fridays").as_deref(), Some("unrelated"), "{found}");
    let path = format!("/api/v1/memories?explain=true&query={}", TASK.replace(' ', "%20"));
    let of_api = program.api.get(&path).await?.with_status(200)?;
    assert_eq!(of_api["memories"], found["memories"], "the API says the same");
    let plain = as_json(&program, &["memory", "search", "--all", TASK]).await?;
    assert_eq!(plain["memories"][0].get("found"), None, "it is said where somebody asks");

    // What is said is what then happens, with the same figures.
    let (branch, injected, _) = opened(&program, "second", json!({})).await?;
    let given: Vec<&Value> = memories.iter().filter(|memory| memory["found"]["fate"] == "given").collect();
    assert_eq!(injected.matches("| mem_").count(), given.len());
    let why = as_json(&program, &["memory", "why", &branch]).await?;
    assert_eq!(why["memories"][0]["why"]["relevance"], given[0]["found"]["why"]["relevance"]);

    let text = prints(&program, &["memory", "search", "--all", "--explain", TASK]).await?;
    for part in [
        "a branch would be given it, if it has room: relevance ",
        "no branch would be given it: it is not sure enough: confidence 0.50, at least 0.70 is needed",
        "no branch would be given it: it has too little to do with these words: relevance ",
        "   score ",
    ] {
        ensure!(text.contains(part), "{part} is not in\n{text}");
    }
    Ok(())
}
