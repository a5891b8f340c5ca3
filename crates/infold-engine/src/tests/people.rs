//! What people do with memories.

use infold_core::memory::{BeliefMove, LessonDraft, MemoryKind, MemoryScope, MemoryState, Trust};

use super::*;

const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

fn draft(title: &str, lesson: &str) -> LessonDraft {
    LessonDraft { title: title.to_owned(), lesson: lesson.to_owned(), kind: Some(MemoryKind::Works) }
}

fn stranger() -> Principal {
    Principal { owner: infold_core::Owner::from_subject("mallory"), ..Principal::local() }
}

async fn add(bench: &Bench, title: &str, lesson: &str) -> Result<MemoryAdded, Error> {
    let request =
        AddMemory { draft: draft(title, lesson), project: Some("0123456789abcdef".to_owned()), replaces: None };
    bench.engine.add_memory(&bench.who, request).await
}

async fn titles(bench: &Bench, request: ListMemories) -> Vec<String> {
    let page = bench.engine.list_memories(&bench.who, &ListMemories { limit: 100, ..request }).await.unwrap();
    page.memories.into_iter().map(|listed| listed.row.memory.lesson.title.into_string()).collect()
}

fn import(lines: &str, mode: ImportMode) -> ImportMemories {
    ImportMemories { lines: lines.as_bytes().to_vec(), name: "team".to_owned(), project: None, mode }
}

#[tokio::test]
async fn a_memory_that_a_person_writes_is_cleaned_scrubbed_and_sure() {
    let bench = Bench::new(settings());
    let lesson = format!("run\u{202e} it with {SECRET} first");
    let added = add(&bench, "  Rebuild\n fixtures ", &lesson).await.unwrap();
    let shown = bench.engine.show_memory(&bench.who, added.memory.id.as_str()).await.unwrap();
    let memory = &shown.detail.row.memory;
    assert_eq!(memory.lesson.title.as_str(), "Rebuild fixtures");
    assert!(!memory.lesson.lesson.as_str().contains(SECRET) && !memory.lesson.lesson.as_str().contains('\u{202e}'));
    assert_eq!((memory.trust, memory.state.clone(), shown.confidence), (Trust::Person, MemoryState::Live, 0.9));

    assert_eq!(code(add(&bench, "", "text").await), "invalid_input");
    assert_eq!(code(add(&bench, "title", &"x".repeat(1_201)).await), "invalid_input");
    assert_eq!(code(add(&bench, "title", SECRET).await), "invalid_input");
    assert_eq!(titles(&bench, ListMemories::default()).await, ["Rebuild fixtures"]);
}

#[tokio::test]
async fn lists_find_by_words_kind_and_project() {
    let bench = Bench::new(settings());
    add(&bench, "Rebuild fixtures", "before the snapshot tests").await.unwrap();
    bench.pass(1);
    let everywhere =
        AddMemory { draft: LessonDraft { kind: None, ..draft("Use tabs", "always") }, project: None, replaces: None };
    bench.engine.add_memory(&bench.who, everywhere).await.unwrap();

    assert_eq!(titles(&bench, ListMemories::default()).await, ["Rebuild fixtures", "Use tabs"]);
    let query = |text: &str| ListMemories { query: Some(text.to_owned()), ..ListMemories::default() };
    assert_eq!(titles(&bench, query("how do I rebuild the snapshots?")).await, ["Rebuild fixtures"]);
    assert_eq!(titles(&bench, query("tabs or spaces")).await, ["Use tabs"]);
    assert_eq!(titles(&bench, query("nothing like it")).await, [""; 0]);
    let facts = ListMemories { kind: Some(MemoryKind::Fact), ..ListMemories::default() };
    assert_eq!(titles(&bench, facts).await, ["Use tabs"]);
    let elsewhere = ListMemories { project: Some("/somewhere/else".to_owned()), ..ListMemories::default() };
    assert_eq!(titles(&bench, elsewhere).await, ["Use tabs"]);
}

#[tokio::test]
async fn an_edit_changes_what_was_named_and_can_be_undone() {
    let bench = Bench::new(settings());
    let id = add(&bench, "Rebuild fixtures", "text").await.unwrap().memory.id;
    let edit = EditMemory {
        title: Some("Rebuild snapshots".to_owned()),
        project: Some(String::new()),
        ..EditMemory::default()
    };
    let edited = bench.engine.edit_memory(&bench.who, id.as_str(), edit).await.unwrap();
    assert_eq!((edited.lesson.title.as_str(), edited.lesson.lesson.as_str()), ("Rebuild snapshots", "text"));
    assert_eq!((edited.scope, edited.lesson.kind), (MemoryScope::Everywhere, MemoryKind::Works));
    let query = ListMemories { query: Some("snapshots".to_owned()), ..ListMemories::default() };
    assert_eq!(titles(&bench, query.clone()).await, ["Rebuild snapshots"]);

    let bad = EditMemory { lesson: Some(" ".to_owned()), ..EditMemory::default() };
    assert_eq!(code(bench.engine.edit_memory(&bench.who, id.as_str(), bad).await), "invalid_input");
    let (number, what, undone) = bench.engine.undo_memories(&bench.who, None).await.unwrap();
    assert_eq!((number, what.as_str(), undone), (2, "edited", vec![id]));
    assert_eq!(titles(&bench, query).await, [""; 0]);
    assert_eq!(code(bench.engine.undo_memories(&bench.who, Some(2)).await), "change_undone");
    assert_eq!(code(bench.engine.undo_memories(&bench.who, Some(77)).await), "change_not_found");
}

#[tokio::test]
async fn a_judgement_moves_the_belief_in_its_direction_only() {
    let bench = Bench::new(settings());
    let id = add(&bench, "Rebuild fixtures", "text").await.unwrap().memory.id;
    let mut before = 0.9;
    for _ in 0..20 {
        let after = bench.engine.move_belief(&bench.who, &id, BeliefMove::Helpful).await.unwrap();
        assert!(after >= before, "{after} is below {before}");
        before = after;
    }
    for _ in 0..20 {
        let after = bench.engine.move_belief(&bench.who, &id, BeliefMove::Unhelpful).await.unwrap();
        assert!(after < before, "{after} is not below {before}");
        before = after;
    }
    let shown = bench.engine.show_memory(&bench.who, id.as_str()).await.unwrap();
    assert!((shown.confidence - before).abs() < 1e-9);
    assert_eq!(shown.detail.evidence.len(), 41);
}

#[tokio::test]
async fn what_is_imported_waits_for_somebody_to_accept_it() {
    let bench = Bench::new(settings());
    let line = r#"{"title":"Use pnpm","lesson":"npm ci fails here","kind":"fails","files":[{"path":"package.json","use":"read"}],"other":1}"#;
    let imported = bench.engine.import_memories(&bench.who, import(line, ImportMode::Keep)).await.unwrap();
    assert_eq!(imported, MemoriesImported { lines: 1, made: 1, change: Some(1) });
    let page =
        bench.engine.list_memories(&bench.who, &ListMemories { limit: 9, ..ListMemories::default() }).await.unwrap();
    let (memory, confidence) = (&page.memories[0].row.memory, page.memories[0].confidence);
    assert_eq!(memory.trust, Trust::Outside);
    assert_eq!(memory.origin.label.as_ref().unwrap().as_str(), "import:team");
    assert_eq!(memory.lesson.files[0].path.as_str(), "package.json");
    assert!(confidence < settings().memory.injection.confidence_min, "{confidence} would be shown");

    let id = memory.id.to_string();
    bench.engine.review_memory(&bench.who, &id, MemoryReview::Accept).await.unwrap();
    let shown = bench.engine.show_memory(&bench.who, &id).await.unwrap();
    assert!(shown.confidence > 0.899 && shown.detail.row.memory.trust == Trust::Person);
    let again = bench.engine.import_memories(&bench.who, import(line, ImportMode::Keep)).await.unwrap();
    assert_eq!(again.made, 0);
    let shown = bench.engine.show_memory(&bench.who, &id).await.unwrap();
    assert!(shown.confidence > 0.899, "what was there stays as it is");
    bench.engine.review_memory(&bench.who, &id, MemoryReview::Reject).await.unwrap();
    let live = ListMemories { state: Some(StateFilter::Live), ..ListMemories::default() };
    assert_eq!(titles(&bench, live).await, [""; 0]);
}

#[tokio::test]
async fn one_bad_line_refuses_an_import_and_is_named() {
    let bench = Bench::new(settings());
    let good = r#"{"title":"a","lesson":"b"}"#;
    let long = format!(r#"{{"title":"a","lesson":"{}"}}"#, "x".repeat(1_300));
    let bad = [
        ("not json", "line 3"),
        ("[]", "line 3"),
        (r#"{"title":"a"}"#, "missing field `lesson`"),
        (r#"{"title":"","lesson":"b"}"#, "title must not be empty"),
        (r#"{"title":"a","lesson":"b","kind":"odd"}"#, "unknown variant `odd`"),
        (r#"{"title":"a","lesson":"b","files":[{"path":"","use":"read"}]}"#, "path is empty"),
        (&long, "1300"),
    ];
    for (line, problem) in bad {
        let request = import(&format!("{good}\n\n{line}\n{good}"), ImportMode::Keep);
        let error = bench.engine.import_memories(&bench.who, request).await.unwrap_err();
        assert_eq!(error.code(), "invalid_input");
        let said = error.to_string();
        assert!(said.contains("line 3") && said.contains(problem), "{said}");
    }
    let mut latin = import(good, ImportMode::Keep);
    latin.lines.extend(b"\n{\"title\":\"\xe9\",\"lesson\":\"b\"}");
    assert!(bench.engine.import_memories(&bench.who, latin).await.unwrap_err().to_string().contains("line 2"));
    let secret = import(&format!("{good}\n{{\"title\":\"a\",\"lesson\":\"{SECRET}\"}}"), ImportMode::Keep);
    assert_eq!(code(bench.engine.import_memories(&bench.who, secret).await), "invalid_input");
    for nothing in ["", "\n\n", &good.replace("title", &"t".repeat(17 << 20))] {
        assert_eq!(
            code(bench.engine.import_memories(&bench.who, import(nothing, ImportMode::Keep)).await),
            "invalid_input"
        );
    }
    let many = format!("{good}\n").repeat(10_001);
    assert_eq!(code(bench.engine.import_memories(&bench.who, import(&many, ImportMode::Keep)).await), "invalid_input");
    let dry = bench.engine.import_memories(&bench.who, import(good, ImportMode::DryRun)).await.unwrap();
    assert_eq!(dry, MemoriesImported { lines: 1, made: 0, change: None });
    assert_eq!(titles(&bench, ListMemories::default()).await, [""; 0]);
}

#[tokio::test]
async fn what_was_exported_can_be_imported() {
    let bench = Bench::new(settings());
    add(&bench, "Rebuild fixtures", "line one\nline two").await.unwrap();
    bench.pass(1);
    add(&bench, "Use tabs", "always").await.unwrap();
    let exported = bench.engine.export_memories(&bench.who, None).await.unwrap();
    assert_eq!(exported.lines().count(), 2);

    let other = Bench::new(settings());
    let imported = other.engine.import_memories(&other.who, import(&exported, ImportMode::Keep)).await.unwrap();
    assert_eq!((imported.lines, imported.made), (2, 2));
    let mut titles = titles(&other, ListMemories::default()).await;
    titles.sort();
    assert_eq!(titles, ["Rebuild fixtures", "Use tabs"]);
}

#[tokio::test]
async fn an_import_is_forgotten_by_its_name_and_a_preview_forgets_nothing() {
    let bench = Bench::new(settings());
    add(&bench, "mine", "text").await.unwrap();
    let line = r#"{"title":"theirs","lesson":"text"}"#;
    bench.engine.import_memories(&bench.who, import(line, ImportMode::Keep)).await.unwrap();
    for (mode, left) in [(ForgetMode::Preview, 2), (ForgetMode::Forget, 1)] {
        let report = bench.engine.forget_source(&bench.who, "import:team", mode).await.unwrap();
        assert_eq!(report.forgotten.memories.len(), 1);
        assert_eq!(titles(&bench, ListMemories::default()).await.len(), left);
    }
    for wrong in ["", "team", "import:", "session:", "odd:x", "project:relative/path"] {
        let refused = bench.engine.forget_source(&bench.who, wrong, ForgetMode::Forget).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{wrong}");
    }
    assert_eq!(code(bench.engine.forget_memories(&bench.who, &[], ForgetMode::Forget).await), "invalid_input");
}

#[tokio::test]
async fn somebody_elses_memory_is_refused_like_one_that_is_not_there() {
    let bench = Bench::new(settings());
    let id = add(&bench, "mine", "text").await.unwrap().memory.id.to_string();
    let (engine, who) = (&bench.engine, stranger());
    let missing = "mem_0123456789".to_owned();
    let said = |error: Error, name: &str| (error.code(), error.http_status(), error.to_string().replace(name, "NAME"));
    let absent = said(engine.show_memory(&who, &missing).await.unwrap_err(), &missing);
    assert_eq!(absent, ("memory_not_found", 404, "Memory not found: NAME".to_owned()));

    let parsed = infold_core::memory::MemoryId::parse(&id).unwrap();
    let replacing = AddMemory { draft: draft("x", "y"), project: None, replaces: Some(id.clone()) };
    let refused = [
        engine.show_memory(&who, &id).await.unwrap_err(),
        engine.edit_memory(&who, &id, EditMemory::default()).await.unwrap_err(),
        engine.review_memory(&who, &id, MemoryReview::Reject).await.unwrap_err(),
        engine.move_belief(&who, &parsed, BeliefMove::Unhelpful).await.unwrap_err(),
        engine.forget_memories(&who, std::slice::from_ref(&id), ForgetMode::Forget).await.unwrap_err(),
        engine.forget_memories(&who, std::slice::from_ref(&id), ForgetMode::Preview).await.unwrap_err(),
        engine.add_memory(&who, replacing).await.unwrap_err(),
    ];
    for error in refused {
        assert_eq!(said(error, &id), absent);
    }
    assert_eq!(engine.export_memories(&who, None).await.unwrap(), "");
    assert_eq!(titles(&bench, ListMemories::default()).await, ["mine"]);
}

#[tokio::test]
async fn a_branch_that_was_given_nothing_says_so_and_an_unknown_one_is_refused() {
    let bench = Bench::new(settings());
    let branch = bench.open("s").await.unwrap().branch_id.to_string();
    let why = bench.engine.why_shown(&bench.who, &branch).await.unwrap();
    assert!(why.is_none_or(|why| why.memories.is_empty()));
    assert_eq!(code(bench.engine.why_shown(&stranger(), &branch).await), "branch_not_found");
    assert_eq!(code(bench.engine.why_shown(&bench.who, "br_nothing").await), "branch_not_found");
}

#[tokio::test]
async fn sessions_and_projects_are_silenced_by_name() {
    let bench = Bench::new(settings());
    let silence = async |scope: &str, silence| bench.engine.silence(&bench.who, scope, silence).await;
    silence("session:work", Silence::On).await.unwrap();
    silence("project:/tmp/p", Silence::On).await.unwrap();
    assert_eq!(bench.engine.silenced(&bench.who).await.unwrap().len(), 2);
    assert_eq!(bench.engine.silenced(&stranger()).await.unwrap(), [""; 0]);
    silence("session:work", Silence::Off).await.unwrap();
    assert_eq!(bench.engine.silenced(&bench.who).await.unwrap().len(), 1);
    for wrong in ["", "work", "odd:x", "session:", "project:"] {
        assert!(matches!(silence(wrong, Silence::On).await, Err(Error::Refused(_))), "{wrong}");
    }
}
