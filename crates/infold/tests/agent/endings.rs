//! How runs end: with which code, in which words, and that a session which ended early goes on.

use infold_testkit::model::{Fault, Script, Step};
use rustix::process::Signal;
use serde_json::json;

use super::scene::{ASKED, Ran, Scene, calls, ended, signal};

/// A script that calls a tool in every answer.
fn endless() -> Script {
    Script::new((0..50).map(|_| calls(vec![("list", json!({}))])))
}

fn problem(ran: &Ran, code: i32) -> String {
    ran.finished(code)["problem"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn without_a_key_nothing_is_sent_and_the_variable_is_named() {
    let scene = Scene::start(Script::new([Step::text("hello")])).await;
    let child = scene.command(&["exec", ASKED]).env_remove("ANTHROPIC_API_KEY").spawn().unwrap();
    let ran = ended(child).await;
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("ANTHROPIC_API_KEY") && ran.stderr.contains("keyring"), "{}", ran.stderr);
    assert_eq!(scene.model.requests().len(), 0);
    assert_eq!(scene.log().len(), 0);
}

#[tokio::test]
async fn what_cannot_be_gone_on_with_is_refused() {
    let scene = Scene::start(Script::new([Step::text("hello")])).await;
    let bad: [&[&str]; 7] = [
        &["--resume", "0123456789", "go on"],
        &["--fork", "nothing-like-it", "go on"],
        &["--from", "missing.jsonl", "go on"],
        &["--continue", "go on"],
        &["--folder", "/nowhere/at/all", "go on"],
        &["--skill", "juggling", "go on"],
        &["--output-schema", "missing.json", "go on"],
    ];
    for arguments in bad {
        let ran = scene.exec(arguments).await;
        assert_eq!(ran.code, 3, "{arguments:?}: {ran:?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!said.is_empty() && !said.contains("panicked"), "{ran:?}");
    }
    assert_eq!(scene.model.requests().len(), 0);
}

#[tokio::test]
async fn nothing_to_do_is_refused_and_so_is_a_flag_that_is_none() {
    let scene = Scene::start(Script::new([Step::text("hello")])).await;
    for arguments in [&["exec"][..], &["exec", ""], &["exec", "  \n "], &["exec", "-"]] {
        let ran = scene.run(arguments).await;
        assert_eq!(ran.code, 3, "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("nothing to do"), "{}", ran.stderr);
    }
    assert_eq!(scene.run(&["exec", "--juggle", ASKED]).await.code, 2);
    assert_eq!(scene.run(&["exec", "--provider", "nobody", ASKED]).await.code, 2);
    assert_eq!(scene.model.requests().len(), 0);
}

#[tokio::test]
async fn the_turns_of_a_run_are_bounded_and_a_resume_has_as_many_again() {
    let scene = Scene::start(endless()).await;
    let ran = scene.exec(&["--turns", "3", ASKED]).await;
    assert_eq!(problem(&ran, 5), "the run has had 3 turns, which is its limit");
    assert_eq!(scene.turns().len(), 3);
    let again = scene.exec(&["--turns", "2", "--resume", &ran.session()]).await;
    again.finished(5);
    assert_eq!(scene.turns().len(), 5);
}

#[tokio::test]
async fn the_tokens_of_a_run_are_bounded() {
    let steps = (0..9).map(|_| calls(vec![("list", json!({}))]).input_tokens(4_000));
    let scene = Scene::start(Script::new(steps)).await;
    let ran = scene.exec(&["--tokens", "10000", ASKED]).await;
    assert_eq!(problem(&ran, 5), "the run has used 12,150 tokens, its limit is 10,000");
    assert_eq!(scene.turns().len(), 3);
}

#[tokio::test]
async fn the_time_of_a_run_is_bounded() {
    let stalled = Step::failing(Fault::StallAfter { bytes: 0 });
    let scene = Scene::start(Script::new([stalled, Step::text("At last.")])).await;
    let ran = scene.exec(&["--seconds", "1", ASKED]).await;
    assert_eq!(problem(&ran, 5), "the run has taken 1 s, which is its limit");
    let again = scene.exec(&["--resume", &ran.session()]).await;
    assert_eq!(again.finished(0)["answer"], "At last.");
}

#[tokio::test]
async fn a_model_that_is_down_is_said_after_a_few_attempts() {
    let scene = Scene::start(Script::default()).await.set("agent.upstream=http://127.0.0.1:9");
    let ran = scene.exec(&[ASKED]).await;
    let problem = problem(&ran, 6);
    assert!(problem.contains("3 attempts") && problem.contains("nothing of the thread is lost"), "{problem}");
    assert_eq!(ran.of_kind("retrying").len(), 2, "{}", ran.stdout);
}

#[tokio::test]
async fn a_refused_key_is_not_tried_again_and_the_variable_is_named() {
    for (provider, variable) in [("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY")] {
        let refused = Step::failing(Fault::status(401));
        let scene = Scene::start(Script::new([refused, Step::text("Welcome.")])).await;
        let ran = scene.exec(&["--provider", provider, ASKED]).await;
        let problem = problem(&ran, 6);
        assert!(problem.contains("401") && problem.contains(variable), "{problem}");
        assert_eq!(scene.model.requests().len(), 1);
        let again = scene.exec(&["--provider", provider, "--resume", &ran.session()]).await;
        assert_eq!(again.finished(0)["answer"], "Welcome.");
    }
}

#[tokio::test]
async fn faults_that_pass_are_waited_out_and_leave_no_trace_in_the_conversation() {
    let faults = [
        Fault::status(529),
        Fault::ErrorEvent,
        Fault::CutAfter { bytes: 300 },
        Fault::EndsEarly,
        Fault::status_after(429, 0),
        Fault::Gzip,
    ];
    for fault in faults {
        let faulty = Step::calling("Half an answer.", [("list", json!({}))]).fault(fault.clone());
        let scene = Scene::start(Script::new([faulty, Step::text("The whole answer.")])).await;
        let ran = scene.exec(&[ASKED]).await;
        let last = ran.finished(0);
        assert_eq!(last["answer"], "The whole answer.", "{fault:?}");
        let sent = scene.model.requests();
        match fault {
            // It is no fault for a client that reads it.
            Fault::Gzip => assert!(sent[1].holds("Half an answer.")),
            _ => assert_eq!(sent[0].bytes, sent[1].bytes, "{fault:?}"),
        }
    }
}

#[tokio::test]
async fn a_model_that_keeps_failing_is_given_up_and_the_session_goes_on_later() {
    let failing = (0..3).map(|_| Step::failing(Fault::status(500)));
    let scene = Scene::start(Script::new(failing).then([Step::text("Here I am.")])).await;
    let ran = scene.exec(&[ASKED]).await;
    assert!(problem(&ran, 6).contains("500"), "{ran:?}");
    assert_eq!(scene.model.requests().len(), 3);
    let again = scene.exec(&["--resume", &ran.session()]).await;
    assert_eq!(again.finished(0)["answer"], "Here I am.");
    let sent = scene.model.requests();
    assert_eq!(sent[2].bytes, sent[3].bytes);
}

#[tokio::test]
async fn an_answer_that_keeps_to_its_schema_is_the_end_and_another_is_corrected() {
    let schema = json!({"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}}});
    let scene = Scene::start(Script::new([
        Step::text("There are three of them."),
        Step::text("{\"count\": \"three\"}"),
        Step::text("```json\n{\"count\": 3}\n```"),
    ]))
    .await;
    scene.write("schema.json", &schema.to_string());
    let ran = scene.exec(&["--output-schema", "schema.json", "Count them."]).await;
    let last = ran.finished(0);
    assert_eq!(last["turns"], 3);
    let turns = scene.turns();
    assert!(turns[0].holds("\"count\""), "the schema is part of the instructions");
    assert!(turns[1].holds("does not keep to the schema: it is no JSON"));
    assert!(turns[2].shows_times("does not keep to the schema") == 2, "{}", turns[2].shape());
}

#[tokio::test]
async fn an_answer_that_never_keeps_to_its_schema_has_a_code_of_its_own() {
    let scene = Scene::start(Script::new((0..9).map(|_| Step::text("[]")))).await;
    scene.write("schema.json", r#"{"type": "object"}"#);
    let ran = scene.exec(&["--output-schema", "schema.json", "Count them."]).await;
    assert_eq!(ran.finished(7)["outcome"], "wrong_form");
    assert_eq!(scene.turns().len(), 4, "one answer and three corrections");
    scene.write("list.json", "[1]");
    assert_eq!(scene.exec(&["--output-schema", "list.json", "Count."]).await.code, 3);
    scene.write("broken.json", "{");
    assert_eq!(scene.exec(&["--output-schema", "broken.json", "Count."]).await.code, 3);
}

#[tokio::test]
async fn a_prompt_that_can_never_fit_ends_with_a_code_of_its_own() {
    let scene = Scene::start(Script::new([Step::text("I have read it.")])).await.set("agent.context_budget=20000");
    let huge = "Words without an end. ".repeat(20_000);
    let ran = scene.exec_reading(&["Summarise this.", "-"], huge.as_bytes()).await;
    assert_eq!(ran.finished(8)["outcome"], "context_full");
    assert_eq!(scene.model.turns().len(), 0);
}

#[tokio::test]
async fn standard_input_is_added_to_what_is_asked() {
    let scene = Scene::start(Script::new([Step::text("One line was changed.")])).await;
    let ran = scene.exec_reading(&["Review this.", "-"], "+ a new line\n".as_bytes()).await;
    ran.finished(0);
    assert!(scene.turns()[0].holds("Review this.\n\n+ a new line"), "{}", scene.turns()[0].shape());
    let not_text = scene.exec_reading(&["-"], &[0xff, 0xfe, 0x00]).await;
    assert_eq!(not_text.code, 3, "{not_text:?}");
    let too_long = scene.exec_reading(&["-"], &vec![b'a'; (4 << 20) + 1]).await;
    assert_eq!(too_long.code, 3, "{too_long:?}");
}

#[tokio::test]
async fn an_interrupted_run_says_so_and_goes_on_later() {
    for which in [Signal::INT, Signal::TERM] {
        let stalled = Step::failing(Fault::StallAfter { bytes: 0 });
        let scene = Scene::start(Script::new([stalled, Step::text("Where were we?")])).await;
        let child = scene.begin(&[ASKED]);
        scene.model.until_sent(|_| true).await;
        signal(&child, which);
        let ran = ended(child).await;
        assert_eq!(ran.finished(130)["outcome"], "interrupted");
        let again = scene.exec(&["--resume", &ran.session()]).await;
        assert_eq!(again.finished(0)["answer"], "Where were we?");
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_short_is_said_to_be_and_gone_on_with() {
    let scene = Scene::start(Script::new([Step::text("And then the").at_limit(), Step::text("end.")])).await;
    let ran = scene.exec(&[ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "end.");
    assert!(scene.model.turns()[1].holds("Go on from where it ended."));
    assert!(ran.warnings().iter().any(|warning| warning.contains("agent.max_output_tokens")), "{:?}", ran.warnings());
}

#[tokio::test]
async fn two_runs_in_one_session_do_not_mix_their_words() {
    let stalled = Step::failing(Fault::StallAfter { bytes: 0 });
    let scene =
        Scene::start(Script::new([Step::text("One."), stalled, Step::text("Two."), Step::text("Three.")])).await;
    let session = scene.exec(&[ASKED]).await.session();
    let first = scene.begin(&["--resume", &session, "I am first."]);
    scene.model.until_sent(|request| request.holds("I am first.")).await;
    let second = scene.exec(&["--resume", &session, "I am second."]).await;
    second.finished(0);
    signal(&first, Signal::INT);
    ended(first).await.finished(130);
    let third = scene.exec(&["--resume", &session, "Who was it?"]).await;
    third.finished(0);
    assert_eq!(scene.model.broken(), Vec::<String>::new());
    let last = scene.model.turns().pop().unwrap();
    for words in ["I am first.", "I am second.", "Two."] {
        assert!(last.holds(words), "{words}: {}", last.shape());
    }
}

#[tokio::test]
async fn a_run_that_is_interrupted_ends_the_command_that_it_runs() {
    let script = Script::new([
        calls(vec![("shell", json!({"command": "echo $$ > pid; sleep 1000"}))]),
        Step::text("It was interrupted."),
    ]);
    let scene = Scene::start(script).await;
    let child = scene.begin(&["--approval", "all", ASKED]);
    let id = async {
        loop {
            match std::fs::read_to_string(scene.file("pid")) {
                Ok(id) if id.ends_with('\n') => return id.trim().to_owned(),
                _ => tokio::time::sleep(crate::support::POLL).await,
            }
        }
    };
    let id = tokio::time::timeout(crate::support::PATIENCE, id).await.unwrap();
    signal(&child, Signal::INT);
    ended(child).await.finished(130);
    assert!(!std::path::Path::new(&format!("/proc/{id}")).exists(), "the command still runs");
}

#[tokio::test]
async fn a_log_that_can_no_longer_be_written_ends_the_run_as_a_fault_and_the_session_goes_on_once_it_can() {
    let scene = Scene::start(endless()).await;
    let session = scene.exec(&["--turns", "1", ASKED]).await.session();
    // The disk is full, or the file damaged, in the middle of the next run.
    let records = scene.log().len();
    scene.in_database(&format!(
        "CREATE TRIGGER broken BEFORE INSERT ON agent_log WHEN (SELECT count(*) FROM agent_log) >= {}
         BEGIN SELECT RAISE(ABORT, 'this table is broken'); END",
        records + 4
    ));
    let ran = scene.exec(&["--turns", "5", "--resume", &session]).await;
    let last = ran.finished(1);
    assert_eq!(last["outcome"], "failed", "{last}");
    assert!(!last["problem"].as_str().unwrap().is_empty(), "{last}");
    assert_eq!(scene.log().len(), records + 4, "what was acknowledged is there");

    scene.in_database("DROP TRIGGER broken");
    scene.exec(&["--turns", "1", "--resume", &session]).await.finished(5);
    scene.turns();
}
