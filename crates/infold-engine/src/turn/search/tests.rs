//! Bodies that are no turns: what is passed on of them, and when nothing is.

use super::*;
use crate::tests::{Bench, settings};
use crate::{EngineSettings, ScrubFault};

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const RESULTS: SearchScope = SearchScope::Results(ConversationPlace::Messages);

async fn searched_by(settings: EngineSettings, body: &str, scope: SearchScope) -> Result<String, Withheld> {
    let body = Bytes::copy_from_slice(body.as_bytes());
    let searched = Bench::new(settings).engine.search_body(&body, scope).await?;
    Ok(String::from_utf8(searched.to_vec()).expect("text"))
}

async fn searched(body: &str, scope: SearchScope) -> Result<String, Withheld> {
    searched_by(settings(), body, scope).await
}

fn chat(result: &str) -> String {
    format!(r#"{{ "messages":[{{"role":"user","content":"{TOKEN}"}},{{"role":"tool","content":"{result}"}}]}}"#)
}

#[tokio::test]
async fn of_a_conversation_only_what_tools_gave_is_changed() {
    let sent = searched(&chat(TOKEN), RESULTS).await.expect("it can be searched");
    let (said, given) = sent.split_once("role\":\"tool").expect("a result");
    assert!(said.contains(TOKEN) && !given.contains(TOKEN) && given.contains("[SECRET:github-pat:"), "{sent}");
    assert_eq!(searched(&chat("nothing"), RESULTS).await.expect("it is clean"), chat("nothing"));
}

#[tokio::test]
async fn any_other_text_is_searched_whole() {
    let escaped = TOKEN.replace('g', "\\u0067");
    for body in
        [chat("x"), format!("a={TOKEN}&b=1"), format!("no JSON: {escaped}"), format!("\u{feff}[NaN,\"{escaped}\"]")]
    {
        let sent = searched(&body, SearchScope::Text).await.expect("it can be searched");
        assert!(!sent.contains(TOKEN) && sent.contains("[SECRET:github-pat:"), "{sent}");
    }
}

#[tokio::test]
async fn a_value_is_searched_with_its_name() {
    let body = r#"{"metadata":{"password":"Gr4vel-Moth!7","user":"ann","list":["Gr4vel-Moth!7"]}}"#;
    let sent = searched(body, SearchScope::Json).await.expect("it can be searched");
    assert!(sent.starts_with(r#"{"metadata":{"password":"[SECRET:"#), "{sent}");
    assert!(sent.ends_with(r#"]","user":"ann","list":["Gr4vel-Moth!7"]}}"#), "{sent}");
}

#[tokio::test]
async fn what_cannot_be_read_is_withheld() {
    let cut = &chat(TOKEN)[..60];
    for (body, scope) in [(cut, RESULTS), (cut, SearchScope::Json), ("g\0h\0p\0_\0", SearchScope::Text)] {
        let searched = searched(body, scope).await;
        assert!(matches!(searched, Err(Withheld::Unreadable(_))), "{body:?}: {searched:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_searched_is_left_out_of_results_and_refused_elsewhere() {
    let mut short = settings();
    short.scrub.bytes_max = 100;
    let long = "words ".repeat(20);
    let sent = searched_by(short.clone(), &chat(&long), RESULTS).await.expect("the rest goes");
    assert!(sent.contains("infold withheld 120 bytes here") && !sent.contains(&long), "{sent}");
    let refused = searched_by(short, &chat(&long), SearchScope::Json).await;
    assert!(matches!(refused, Err(Withheld::Unsearched(ScrubError::TooLarge { bytes: 120, .. }))), "{refused:?}");
}

#[tokio::test]
async fn without_a_scrubber_nothing_is_sent() {
    let mut missing = settings();
    missing.scrub.fault = ScrubFault::Missing;
    let refused = searched_by(missing, &chat(TOKEN), RESULTS).await;
    assert_eq!(refused, Err(Withheld::Unscrubbed(ScrubError::Missing)));
}

#[test]
fn each_text_is_searched_once_in_rounds_of_bounded_length() {
    let long = "x".repeat(ROUND_BYTES_MAX);
    let texts = ["a", "b", "a", &long, "c"];
    let rounds: Vec<usize> = rounds(texts.into_iter()).iter().map(Vec::len).collect();
    assert_eq!(rounds, [2, 1, 1]);
}
