//! Each API's form of an image is found, and what is none is refused.

use serde_json::json;

use super::*;

const PNG: &str = "iVBORw0KGgoAAAANSUhEUg==";

/// A request of each API with an image of these bytes.
fn requests(model: &str, base64: &str) -> Vec<(Api, Value)> {
    let address = format!("data:image/png;base64,{base64}");
    let of = |list: &str, message: Value| json!({"model": model, list: [message]});
    let source = json!({"type": "base64", "media_type": "image/png", "data": base64});
    let user = |content: Value| json!({"role": "user", "content": content});
    vec![
        (Api::Messages, of("messages", user(json!([{"type": "image", "source": source}])))),
        (Api::Responses, of("input", user(json!([{"type": "input_image", "image_url": address}])))),
        (Api::Chat, of("messages", user(json!([{"type": "image_url", "image_url": {"url": address}}])))),
        (Api::Ollama, of("messages", json!({"role": "user", "content": "see", "images": [base64]}))),
    ]
}

#[test]
fn an_image_is_found_in_every_form_and_checked() {
    for (api, body) in requests("the-model", PNG) {
        assert_eq!(images(api, &body)[0].base64, PNG, "{api:?}");
        assert_eq!(check(api, &body), Ok(()), "{api:?}");
    }
    for (api, body) in requests("the-model", "aGVsbG8=").into_iter().chain(requests("text-only-1", PNG)) {
        let refused = check(api, &body).unwrap_err();
        assert!(refused.status == 400 && refused.message.to_lowercase().contains("image"), "{api:?}: {refused:?}");
    }
}
