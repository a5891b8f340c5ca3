//! A server's result: read from whatever it sent, and written again with its texts replaced by what may be shown.
//!
//! A block of a kind that is not known becomes a text with its JSON, so that one odd block never costs a result. What is
//! not text keeps its type and its place.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

/// A result as its server sent it.
#[derive(Debug)]
pub(super) struct ServerResult {
    blocks: Vec<ResultBlock>,
    /// The texts of all blocks, in order.
    pub(super) texts: Vec<String>,
    /// The blocks that are more than a text, without their texts.
    pub(super) others: Vec<Value>,
    pub(super) structured: Option<Value>,
    pub(super) is_error: bool,
    /// Its length as JSON.
    pub(super) bytes: u64,
}

/// What is in the place of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResultBlock {
    /// The next text.
    Text,
    /// The next text, in the next block without its text.
    ResourceText,
    /// The next block.
    Other,
}

impl ServerResult {
    /// Reads the result of a call, of so many bytes.
    pub(super) fn read(mut result: Value, bytes: usize) -> Self {
        let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or_default();
        let structured = result.get_mut("structuredContent").map(Value::take).filter(Value::is_object);
        let content = match result.get_mut("content").map(Value::take) {
            Some(Value::Array(content)) => content,
            Some(Value::Null) | None => Vec::new(),
            Some(other) => vec![other],
        };
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let mut read = Self { blocks: Vec::new(), texts: Vec::new(), others: Vec::new(), structured, is_error, bytes };
        content.into_iter().for_each(|block| read.take(block));
        read
    }

    fn take(&mut self, mut block: Value) {
        if let Some(text) = bare_text(&mut block) {
            self.blocks.push(ResultBlock::Text);
            self.texts.push(text);
            return;
        }
        match serde_json::from_value::<ContentBlock>(block.clone()) {
            Ok(ContentBlock::Text(text)) => {
                self.blocks.push(ResultBlock::Text);
                self.texts.push(text.text);
            }
            Ok(_) => {
                let text = block.pointer_mut("/resource/text").map(Value::take);
                match text {
                    Some(Value::String(text)) => {
                        self.blocks.push(ResultBlock::ResourceText);
                        self.texts.push(text);
                    }
                    _ => self.blocks.push(ResultBlock::Other),
                }
                self.others.push(block);
            }
            Err(_) => {
                self.blocks.push(ResultBlock::Text);
                self.texts.push(block.to_string());
            }
        }
    }

    /// The result with these texts in the place of its own. If there are fewer texts, the first takes the place
    /// of all.
    pub(super) fn shown(self, texts: Vec<String>, structured: Option<Value>) -> CallToolResult {
        let (mut texts, mut others) = (texts.into_iter(), self.others.into_iter());
        let mut content: Vec<ContentBlock> = Vec::with_capacity(self.blocks.len());
        for block in self.blocks {
            match block {
                ResultBlock::Text => content.extend(texts.next().map(ContentBlock::text)),
                ResultBlock::ResourceText => content.extend(with_text(others.next(), texts.next())),
                ResultBlock::Other => content.extend(others.next().and_then(read_again)),
            }
        }
        // A result that is only structured may have been offloaded, and then its reference is a text of its own.
        content.extend(texts.map(ContentBlock::text));
        let mut result = if self.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
        result.structured_content = structured;
        result
    }
}

/// The text of a block that is nothing else. Most are, and need no copy.
fn bare_text(block: &mut Value) -> Option<String> {
    let fields = block.as_object_mut().filter(|fields| fields.len() == 2)?;
    let is_text = fields.get("type").is_some_and(|kind| kind == "text");
    match fields.get_mut("text").filter(|_| is_text)? {
        Value::String(text) => Some(std::mem::take(text)),
        _ => None,
    }
}

/// A resource with its text again. One whose text went elsewhere is left out.
fn with_text(block: Option<Value>, text: Option<String>) -> Option<ContentBlock> {
    let (mut block, text) = (block?, text?);
    *block.pointer_mut("/resource/text")? = Value::String(text);
    read_again(block)
}

fn read_again(block: Value) -> Option<ContentBlock> {
    serde_json::from_value(block).ok()
}
