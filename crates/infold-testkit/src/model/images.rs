//! Images in requests: where each API has them, and what providers refuse about them.

use serde_json::Value;

use super::cache::BYTES_PER_TOKEN;
use super::received::{Api, Received};
use super::refusal::Refusal;

#[cfg(test)]
mod tests;

/// The types that all providers take, and how the base64 of such a file begins.
const KINDS: [(&str, &str); 4] =
    [("image/png", "iVBORw0KGgo"), ("image/jpeg", "/9j/"), ("image/gif", "R0lGOD"), ("image/webp", "UklGR")];
/// Most characters of an image that Anthropic takes.
const BASE64_CHARS_MAX: usize = 5 << 20;
/// A model with this in its name takes no images.
const BLIND: &str = "text-only";

/// An image in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentImage {
    /// Its type; empty where an API has none.
    pub media_type: String,
    /// Its bytes in base64.
    pub base64: String,
}

/// What an image of 1200×800 pixels costs at Anthropic; every image is taken for one of these.
const IMAGE_TOKENS: u64 = 1_280;

impl SentImage {
    /// As many bytes of text as the image counts for, the same for the same image.
    pub(super) fn weight(&self) -> String {
        let name = blake3::hash(self.base64.as_bytes()).to_hex().to_string();
        let bytes = usize::try_from(IMAGE_TOKENS * BYTES_PER_TOKEN).unwrap_or_default();
        format!("{name:i<bytes$}")
    }
}

impl Received {
    /// The images that people sent, in order.
    pub fn images(&self) -> Vec<SentImage> {
        images(self.api, &self.body)
    }
}

/// Refuses images that are none, and any for a model that takes none.
pub(super) fn check(api: Api, body: &Value) -> Result<(), Refusal> {
    let images = images(api, body);
    if images.is_empty() {
        return Ok(());
    }
    let is_blind = body["model"].as_str().is_some_and(|model| model.contains(BLIND));
    let broken = images.iter().any(|image| !is_image(image));
    let long = images.iter().map(|image| image.base64.len()).max().unwrap_or_default();
    match api {
        Api::Messages | Api::CountTokens if is_blind => {
            Err(Refusal::anthropic("This model does not support image input.".to_owned()))
        }
        Api::Messages | Api::CountTokens if broken => Err(Refusal::anthropic("Could not process image".to_owned())),
        Api::Messages | Api::CountTokens if long > BASE64_CHARS_MAX => Err(Refusal::anthropic(format!(
            "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: {long} bytes > {BASE64_CHARS_MAX} bytes"
        ))),
        Api::Responses | Api::Chat if is_blind => {
            let message = "Invalid content type. image_url is only supported by certain models.".to_owned();
            Err(Refusal::openai(message, "messages", None))
        }
        Api::Responses | Api::Chat if broken => {
            let message = "You uploaded an unsupported image. Please make sure your image is valid.".to_owned();
            Err(Refusal::openai(message, "messages", Some("image_parse_error")))
        }
        Api::Ollama if is_blind => Err(Refusal::ollama("this model is missing data required for image input")),
        Api::Ollama if broken => Err(Refusal::ollama("failed to process image")),
        Api::Messages | Api::CountTokens | Api::Responses | Api::Chat | Api::Ollama => Ok(()),
    }
}

fn is_image(image: &SentImage) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let is_kind = |(kind, begins): &(&str, &str)| {
        (*kind == image.media_type || image.media_type.is_empty()) && image.base64.starts_with(begins)
    };
    image.base64.bytes().all(is_digit) && KINDS.iter().any(is_kind)
}

fn images(api: Api, body: &Value) -> Vec<SentImage> {
    let list = if api == Api::Responses { "input" } else { "messages" };
    let messages = body[list].as_array().into_iter().flatten().filter(|message| message["role"] == "user");
    messages.flat_map(|message| of_message(api, message)).collect()
}

fn of_message(api: Api, message: &Value) -> Vec<SentImage> {
    let parts = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match api {
        Api::Messages | Api::CountTokens => {
            let sources = parts.iter().filter(|part| part["type"] == "image").map(|part| &part["source"]);
            let held = sources.filter(|source| source["type"] == "base64");
            held.map(|source| SentImage { media_type: text(&source["media_type"]), base64: text(&source["data"]) })
                .collect()
        }
        Api::Responses => {
            let images = parts.iter().filter(|part| part["type"] == "input_image");
            images.filter_map(|part| of_address(part["image_url"].as_str()?)).collect()
        }
        Api::Chat => {
            let images = parts.iter().filter(|part| part["type"] == "image_url");
            images.filter_map(|part| of_address(part["image_url"]["url"].as_str()?)).collect()
        }
        Api::Ollama => {
            let images = message["images"].as_array().into_iter().flatten();
            images.map(|image| SentImage { media_type: String::new(), base64: text(image) }).collect()
        }
    }
}

/// The image that an address holds; `None` if it is somewhere else.
fn of_address(address: &str) -> Option<SentImage> {
    let (media_type, base64) = address.strip_prefix("data:")?.split_once(";base64,")?;
    Some(SentImage { media_type: media_type.to_owned(), base64: base64.to_owned() })
}
