//! Vectors by a model of the user's, in files or at an endpoint: they are stored under its name, nothing waits for it, and
//! without it memories are found by words.

use std::path::Path;

use anyhow::{Context, Result};
use infold_testkit::{DaemonSetup, Embeddings, EmbeddingsMood, TempFolder};
use serde_json::{Value, json};

use crate::support::{PATIENCE, POLL, Program, roomy};

const TASK: &str = "Mend the snapshot tests of the parser";
const LESSON: &str = "Run `just fixtures` before the parser's snapshot tests, or they fail with stale rows.";
const WORDS_ALONE: &str = "memories are found by words alone";

/// Writes a small model into a folder, in the form in which static models are published.
fn write_model(folder: &Path, scale: f32) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let words = ["[UNK]", "run", "just", "fixtures", "snapshot", "test", "##s", "parser", "rows", "mend"];
    let vocab: serde_json::Map<String, Value> =
        words.iter().zip(0..).map(|(word, id)| ((*word).to_owned(), json!(id))).collect();
    let tokenizer = json!({
        "normalizer": {"type": "BertNormalizer", "lowercase": true},
        "model": {"type": "WordPiece", "continuing_subword_prefix": "##", "vocab": vocab},
    });
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string())?;
    let data: Vec<u8> =
        (0..words.len() * 4).flat_map(|at| (scale * ((at * 7 % 11) as f32 - 5.0)).to_le_bytes()).collect();
    let head = json!({"embeddings": {"dtype": "F32", "shape": [words.len(), 4], "data_offsets": [0, data.len()]}});
    let head = head.to_string();
    std::fs::write(
        folder.join("model.safetensors"),
        [&(head.len() as u64).to_le_bytes()[..], head.as_bytes(), &data].concat(),
    )?;
    Ok(())
}

async fn record(program: &Program, title: &str, lesson: &str) -> Result<()> {
    program.done("memory_record", json!({"title": title, "lesson": lesson})).await.map(drop)
}

async fn opened(program: &Program, session: &str) -> Result<(String, String)> {
    let opened = program.done("branch_create", json!({"session_id": session, "description": TASK})).await?;
    Ok((opened["injected_context"].as_str().unwrap_or_default().to_owned(), opened["notes"].to_string()))
}

/// Waits until so many memories have a vector of a model whose name begins like this.
async fn until_embedded(program: &Program, model: &str, count: i64) -> Result<()> {
    let sql = format!("SELECT count(*) FROM memory_vectors WHERE model LIKE '{model}%' AND length(vector) > 0");
    let wait = async {
        while program.database()?.number(&sql)? != count {
            tokio::time::sleep(POLL).await;
        }
        anyhow::Ok(())
    };
    let waited = tokio::time::timeout(PATIENCE, wait).await;
    waited.with_context(|| format!("{sql} never gave {count}: {}", program.daemon.stderr()))?
}

/// Waits until an endpoint was sent so many requests.
async fn sent(endpoint: &Embeddings, requests: usize) -> Result<()> {
    let wait = async {
        while endpoint.requests() < requests {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.with_context(|| format!("{requests} requests were never sent"))
}

/// A daemon whose searches wait longer for a model than a busy machine takes.
fn patient() -> DaemonSetup {
    roomy().set("memory.embedding_wait_ms", 1_500)
}

fn with_endpoint(endpoint: &Embeddings) -> DaemonSetup {
    patient()
        .env("MEANING_KEY", "key-of-nobody-9876543210")
        .set("memory.embedding_model", "scripted")
        .set("memory.embedding_upstream", endpoint.base_url())
        .set("memory.embedding_key_env", "MEANING_KEY")
}

#[tokio::test]
async fn a_model_in_files_gives_the_vectors_and_another_one_makes_them_anew() -> Result<()> {
    let folder = TempFolder::new()?;
    let (model, data) = (folder.join("tiny"), folder.join("data"));
    write_model(&model, 1.0)?;
    let setup = || patient().data(&data).set("memory.embedding_model", model.display());
    let program = Program::start(setup()).await?;
    record(&program, "Fixtures before the snapshot tests", LESSON).await?;
    until_embedded(&program, "tiny-", 1).await?;
    let name = "SELECT model FROM memory_vectors WHERE model LIKE 'tiny-%'";
    let before = program.database()?.rows(name)?;
    let (injected, notes) = opened(&program, "first").await?;
    assert!(injected.contains(LESSON) && notes == "null", "{injected} {notes}");
    let named = format!("memory.embedding_model={}", model.display());
    let found =
        program.daemon.program(&["memory", "search", "--all", "fixtures parser", "--set", &named]).output().await?;
    assert!(
        String::from_utf8_lossy(&found.stdout).contains("Fixtures before"),
        "{}",
        String::from_utf8_lossy(&found.stderr)
    );
    drop(program);

    write_model(&model, -2.0)?;
    let program = Program::start(setup()).await?;
    until_embedded(&program, "tiny-", 1).await?;
    let wait = async {
        while program.database()?.rows(name)? == before {
            tokio::time::sleep(POLL).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, wait).await.context("other files make another model")??;
    assert_eq!(
        program.database()?.number("SELECT count(*) FROM memory_vectors")?,
        2,
        "that one, and the built-in one's"
    );
    Ok(())
}

#[tokio::test]
async fn without_its_files_memories_are_found_by_words_and_that_is_said_once() -> Result<()> {
    let folder = TempFolder::new()?;
    let broken = folder.join("broken");
    write_model(&broken, 1.0)?;
    std::fs::write(broken.join("model.safetensors"), "no table")?;
    for (model, words) in [(folder.join("nowhere"), "nowhere"), (broken, "model.safetensors")] {
        let program = Program::start(patient().set("memory.embedding_model", model.display())).await?;
        record(&program, "Fixtures before the snapshot tests", LESSON).await?;
        let (injected, notes) = opened(&program, "first").await?;
        assert!(injected.contains(LESSON), "found by words: {injected}");
        assert!(notes.contains(WORDS_ALONE) && notes.contains(words), "{notes}");
        let (injected, notes) = opened(&program, "second").await?;
        assert!(injected.contains(LESSON) && notes == "null", "it is said once: {notes}");
        let said = program.daemon.stderr();
        assert_eq!(said.matches("cannot be used").count(), 1, "{said}");
    }
    Ok(())
}

#[tokio::test]
async fn an_endpoint_gives_the_vectors_and_is_sent_scrubbed_texts_alone() -> Result<()> {
    let endpoint = Embeddings::start().await?;
    let program = Program::start(with_endpoint(&endpoint)).await?;
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    record(&program, "Fixtures before the snapshot tests", LESSON).await?;
    record(&program, "The parser's token", &format!("The snapshot tests of the parser need {secret} in CI.")).await?;
    until_embedded(&program, "scripted@", 2).await?;
    let (injected, notes) = opened(&program, "first").await?;
    assert!(injected.contains(LESSON) && notes == "null", "{injected} {notes}");
    program.done("memory_search", json!({"query": format!("parser {secret}")})).await?;
    let texts = endpoint.texts();
    assert!(texts.iter().any(|text| text.contains(TASK)), "what is looked for: {texts:?}");
    assert!(texts.iter().any(|text| text.contains(LESSON)), "what is there: {texts:?}");
    assert!(!texts.iter().any(|text| text.contains(secret)), "{texts:?}");
    assert_eq!(endpoint.key().as_deref(), Some("Bearer key-of-nobody-9876543210"));
    let count = endpoint.texts().len();
    opened(&program, "second").await?;
    assert_eq!(endpoint.texts().len(), count, "what was looked for a moment ago is remembered");
    Ok(())
}

#[tokio::test]
async fn while_an_endpoint_is_down_or_slow_memories_are_found_by_words() -> Result<()> {
    for mood in [EmbeddingsMood::Refuses(500), EmbeddingsMood::Stalls, EmbeddingsMood::Refuses(401)] {
        let endpoint = Embeddings::start().await?;
        endpoint.set_mood(mood);
        let program = Program::start(with_endpoint(&endpoint).set("memory.embedding_wait_ms", 50)).await?;
        record(&program, "Fixtures before the snapshot tests", LESSON).await?;
        let (injected, notes) = opened(&program, "first").await?;
        assert!(injected.contains(LESSON) && notes.contains(WORDS_ALONE), "{mood:?}: {notes}");
        let (injected, notes) = opened(&program, "second").await?;
        assert!(injected.contains(LESSON) && notes == "null", "{mood:?}: {notes}");
        assert!(!program.daemon.stderr().contains("key-of-nobody"));
        if mood == EmbeddingsMood::Refuses(500) {
            endpoint.set_mood(EmbeddingsMood::Answers);
            until_embedded(&program, "scripted@", 1).await?;
        }
    }
    let endpoint = Embeddings::start().await?;
    let setup = with_endpoint(&endpoint);
    drop(endpoint);
    let program = Program::start(setup).await?;
    record(&program, "Fixtures before the snapshot tests", LESSON).await?;
    assert!(opened(&program, "first").await?.0.contains(LESSON), "nobody listens there");
    Ok(())
}

#[tokio::test]
async fn vectors_are_made_anew_after_a_change_of_model_through_a_crash() -> Result<()> {
    let folder = TempFolder::new()?;
    let data = folder.join("data");
    let program = Program::start(roomy().data(&data)).await?;
    for number in 0..80 {
        let lesson =
            format!("Module number{number} keeps its tables in src/module{number}/tables.rs and nowhere else.");
        record(&program, &format!("Where module number{number} keeps its tables"), &lesson).await?;
    }
    assert_eq!(program.database()?.number("SELECT count(DISTINCT model) FROM memory_vectors")?, 1);
    drop(program);

    let endpoint = Embeddings::start().await?;
    endpoint.set_mood(EmbeddingsMood::AnswersFirst(1));
    let mut program = Program::start(with_endpoint(&endpoint).data(&data)).await?;
    sent(&endpoint, 2).await?;
    program.daemon.kill9().await?;
    let of_endpoint = "SELECT count(*) FROM memory_vectors WHERE model LIKE 'scripted@%'";
    let made = program.database()?.number(of_endpoint)?;
    assert!((1..80).contains(&made), "it was killed in the middle: {made}");
    endpoint.set_mood(EmbeddingsMood::Answers);
    program.restart().await?;
    until_embedded(&program, "scripted@", 80).await?;
    assert_eq!(program.database()?.number("SELECT count(*) FROM memory_vectors")?, 160);
    Ok(())
}
