//! The words of prompts.

use agent_client_protocol::v1::schema::{
    AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, ResourceLink, TextResourceContents,
};

use super::*;

fn words(blocks: &[ContentBlock]) -> String {
    match words_of(blocks, Path::new("/project"), 1_000) {
        Ok(ThreadEntry::User { text, .. }) => text,
        Ok(other) => panic!("{other:?}"),
        Err(error) => format!("error: {}", error.message),
    }
}

#[test]
fn files_are_named_from_the_folder_on_and_held_texts_are_in_the_words() {
    let held = TextResourceContents::new("fn main() {}\n", "file:///project/src/a%20b.rs#L1:2");
    let blob = BlobResourceContents::new("AAAA", "file:///tmp/a.png");
    let said = words(&[
        "Look at ".into(),
        ContentBlock::ResourceLink(ResourceLink::new("lib.rs", "file:///project/src/lib.rs")),
        " and ".into(),
        ContentBlock::ResourceLink(ResourceLink::new("page", "https://example.org/%20")),
        ContentBlock::Resource(EmbeddedResource::new(EmbeddedResourceResource::TextResourceContents(held))),
        ContentBlock::Resource(EmbeddedResource::new(EmbeddedResourceResource::BlobResourceContents(blob))),
    ]);
    assert_eq!(
        said,
        "Look at `src/lib.rs` and `https://example.org/%20`\n\n`src/a b.rs#L1:2`:\n```\nfn main() {}\n```\n\n\
         `/tmp/a.png` (its content is no text, and is left out)"
    );
}

#[test]
fn what_the_agent_does_not_take_is_refused() {
    assert_eq!(words(&[]), "error: the prompt is empty");
    assert_eq!(words(&["  \n".into()]), "error: the prompt is empty");
    let image = ContentBlock::Image(ImageContent::new("AAAA", "image/png"));
    let refused = "error: image is no image that can be sent: those are PNG, JPEG, GIF and WebP";
    assert_eq!(words(&["see ".into(), image]), refused);
    let sound = ContentBlock::Audio(AudioContent::new("AAAA", "audio/wav"));
    assert_eq!(words(&["hear ".into(), sound]), "error: this agent takes text, files and images, no sound");
}
