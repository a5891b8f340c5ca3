//! Only scrubbed strings get into the JSON that is stored.

use crate::ScrubFault;
use crate::tests::{Bench, settings};

use super::*;

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

async fn stored(bench: &Bench, json: &str, known: &[&Scrubbed]) -> String {
    let stored = bench.engine.scrub_json(json.as_bytes(), known).await.expect("JSON");
    String::from_utf8(stored.bytes().to_vec()).expect("text")
}

#[tokio::test]
async fn a_secret_in_any_string_is_taken_out_and_the_rest_keeps_its_bytes() {
    let bench = Bench::new(settings());
    let json = r#"[ {"type":"search_result", "source":"https://x/?token=@", "@":1.50, "text":"caf\u00e9 @"} ]"#;
    let kept = stored(&bench, &json.replace('@', TOKEN), &[]).await;
    assert!(!kept.contains(TOKEN), "{kept}");
    let (front, rest) = kept.split_once("[SECRET:").expect("a placeholder");
    assert_eq!(front, r#"[ {"type":"search_result", "source":"https://x/?token="#);
    assert!(rest.contains(":1.50, \"text\":\"café [SECRET:"), "{rest}");
    let clean = r#"[ {"type":"text", "text":"caf\u00e9"} ]"#;
    assert_eq!(stored(&bench, clean, &[]).await, clean);
}

#[tokio::test]
async fn what_was_scrubbed_before_and_words_of_the_api_need_no_scrubber() {
    let mut broken = settings();
    broken.scrub.fault = ScrubFault::Panic;
    let json = r#"[{"type":"text","text":"known","other":1}]"#;
    let kept = stored(&Bench::new(broken), json, &[&Scrubbed::fixed("known")]).await;
    assert!(kept.starts_with(r#"[{"type":"text","text":"known","[infold withheld 5 bytes"#), "{kept}");
}
