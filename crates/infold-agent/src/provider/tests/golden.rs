//! One rich thread, as each provider gets it.

use serde_json::{Value, json};

use super::threads::{image, prompt, rich, said, sent_json, thoughts, user, with_images};
use crate::provider::{Effort, ProviderApi, request_body};
use crate::{SpokenBy, ThreadEntry};

#[test]
fn a_rich_thread_in_the_form_of_each_api() {
    for (name, api) in [
        ("anthropic", ProviderApi::Anthropic),
        ("responses", ProviderApi::Responses),
        ("chat", ProviderApi::Chat),
        ("ollama", ProviderApi::Ollama),
    ] {
        insta::assert_json_snapshot!(name, sent_json(api, &rich(api)));
    }
}

#[test]
fn without_reasoning_and_tools_nothing_is_said_of_them() {
    let entries = [user("hi")];
    for api in super::threads::APIS {
        let mut asked = prompt(&entries, &[]);
        asked.reasoning = Effort::Off;
        let body: Value = serde_json::from_slice(&request_body(api, &asked)).unwrap();
        for field in ["thinking", "output_config", "reasoning", "include", "reasoning_effort", "tools"] {
            assert!(body[field].is_null(), "{field} in {body}");
        }
    }
}

#[test]
fn instructions_are_cut_at_breakpoints_and_never_into_blank_parts() {
    let entries = [user("hi")];
    let mut asked = prompt(&entries, &[]);
    asked.system = "aé \n b c d e";
    // Inside of a character, before white space alone, twice the same, and behind the end.
    asked.breakpoints = &[2, 5, 7, 7, 9, 11, 900];
    let body: Value = serde_json::from_slice(&request_body(ProviderApi::Anthropic, &asked)).unwrap();
    let system = body["system"].as_array().unwrap();
    let texts: Vec<&str> = system.iter().map(|block| block["text"].as_str().unwrap()).collect();
    assert_eq!(texts.concat(), asked.system);
    assert!(texts.iter().all(|text| !text.trim().is_empty()), "{texts:?}");
    let marked = system.iter().filter(|block| block["cache_control"] == json!({"type": "ephemeral"})).count();
    assert_eq!(marked, 3, "{system:?}");
    assert_eq!(body["messages"][0]["content"][0]["cache_control"], json!({"type": "ephemeral"}));
}

#[test]
fn reasoning_alone_is_left_out_and_the_users_words_meet() {
    for api in super::threads::APIS {
        let mut entries = vec![user("one")];
        entries.extend(thoughts(api));
        entries.push(ThreadEntry::user("two".to_owned(), SpokenBy::Agent));
        let text = sent_json(api, &entries).to_string();
        assert!(!text.contains("Two files") && text.contains("one") && text.contains("two"), "{text}");
    }
}

/// The messages of a request, with a word in place of the image's bytes.
fn messages(api: ProviderApi, entries: &[ThreadEntry]) -> Value {
    let body = sent_json(api, entries);
    let list = if body["input"].is_array() { &body["input"] } else { &body["messages"] };
    let last = list.as_array().unwrap().iter().rfind(|message| message["role"] == "user").unwrap();
    let bytes = String::from(image().data.unwrap());
    serde_json::from_str(&last.to_string().replace(&bytes, "BYTES")).unwrap()
}

#[test]
fn images_are_in_the_message_that_names_them_in_the_form_of_each_api() {
    for api in super::threads::APIS {
        let message = messages(api, &[with_images("See.")]);
        let second = image().label(2);
        let words = json!(format!("See.\n\n{}\n{second}", image().label(1)));
        let wanted = match api {
            ProviderApi::Anthropic => {
                let image = json!({
                    "type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "BYTES"},
                });
                let text = json!({"type": "text", "text": words, "cache_control": {"type": "ephemeral"}});
                json!({"role": "user", "content": [image, image, text]})
            }
            ProviderApi::Responses => {
                let image =
                    json!({"type": "input_image", "image_url": "data:image/png;base64,BYTES", "detail": "auto"});
                let text = json!({"type": "input_text", "text": words});
                json!({"type": "message", "role": "user", "content": [text, image, image]})
            }
            ProviderApi::Chat => {
                let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,BYTES"}});
                json!({"role": "user", "content": [{"type": "text", "text": words}, image, image]})
            }
            ProviderApi::Ollama => json!({"role": "user", "content": words, "images": ["BYTES", "BYTES"]}),
        };
        assert_eq!(message, wanted, "{api:?}");
    }
}

#[test]
fn an_image_whose_bytes_are_gone_is_only_named() {
    let ThreadEntry::User { text, by, mut images } = with_images("See.") else { panic!() };
    images.iter_mut().for_each(|image| image.id += 1);
    for api in super::threads::APIS {
        let entries = [user("hi"), said("ho"), ThreadEntry::User { text: text.clone(), by, images: images.clone() }];
        let sent = sent_json(api, &entries).to_string();
        assert!(sent.contains("shot.png") && !sent.contains("image/png") && !sent.contains("images"), "{sent}");
    }
}
