//! Ollama's answer, a JSON object a line, as a stream of Chat Completions.
//!
//! What must hold: the same bytes give the same events, however they are cut; an answer that broke off does not look
//! whole; no line is held beyond its bound.

use serde_json::{Value, json};

/// The longest line that is read, in bytes.
const LINE_BYTES_MAX: usize = 8 << 20;

/// An answer while it is translated.
#[derive(Debug)]
pub(super) struct OllamaLines {
    answer_id: String,
    line: Vec<u8>,
    is_line_cut: bool,
    calls: usize,
    has_ended: bool,
}

impl OllamaLines {
    pub(super) fn new(answer_id: &str) -> Self {
        Self { answer_id: answer_id.to_owned(), line: Vec::new(), is_line_cut: false, calls: 0, has_ended: false }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut events = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend_line(&bytes[..end]);
            self.end_line(&mut events);
            bytes = &bytes[end + 1..];
        }
        self.extend_line(bytes);
        events
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let mut events = Vec::new();
        self.end_line(&mut events);
        events
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        self.is_line_cut |= self.line.len() + bytes.len() > LINE_BYTES_MAX;
        if self.is_line_cut {
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self, events: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.line);
        let is_cut = std::mem::take(&mut self.is_line_cut);
        if self.has_ended || (line.iter().all(u8::is_ascii_whitespace) && !is_cut) {
            return;
        }
        match serde_json::from_slice::<Value>(&line) {
            Ok(said) => self.take(&said, events),
            // The last line of an answer that broke off has no end; the missing end of the stream says so.
            Err(error) if error.is_eof() && !is_cut => {}
            Err(_) => self.fail("a line of the answer cannot be read", events),
        }
    }

    fn take(&mut self, said: &Value, events: &mut Vec<u8>) {
        if let Some(problem) = said["error"].as_str() {
            return self.fail(problem, events);
        }
        let message = &said["message"];
        let mut delta = json!({});
        let fields = [("content", &message["content"]), ("reasoning_content", &message["thinking"])];
        for (name, text) in fields {
            if text.as_str().is_some_and(|text| !text.is_empty()) {
                delta[name] = text.clone();
            }
        }
        let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !calls.is_empty() {
            delta["tool_calls"] = calls.iter().map(|call| self.call(call)).collect();
        }
        if delta.as_object().is_some_and(|fields| !fields.is_empty()) {
            self.event(said, &json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null, events);
        }
        if said["done"] == true {
            self.end(said, events);
        }
    }

    fn call(&mut self, call: &Value) -> Value {
        let index = self.calls;
        self.calls += 1;
        let function = &call["function"];
        let arguments = match &function["arguments"] {
            Value::Null => "{}".to_owned(),
            arguments => arguments.to_string(),
        };
        json!({
            "index": index,
            "id": format!("call_{}_{index}", self.answer_id),
            "type": "function",
            "function": {"name": function["name"], "arguments": arguments},
        })
    }

    fn end(&mut self, said: &Value, events: &mut Vec<u8>) {
        let reason = match said["done_reason"].as_str() {
            Some("stop") | None if self.calls > 0 => "tool_calls",
            Some(reason) => reason,
            None => "stop",
        };
        self.event(said, &json!([{"index": 0, "delta": {}, "finish_reason": reason}]), Value::Null, events);
        let count = |name: &str| said[name].as_u64().unwrap_or_default();
        let (sent, received) = (count("prompt_eval_count"), count("eval_count"));
        let usage = json!({
            "prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent.saturating_add(received),
        });
        self.event(said, &json!([]), usage, events);
        write_event("[DONE]", events);
        self.has_ended = true;
    }

    fn event(&self, said: &Value, choices: &Value, usage: Value, events: &mut Vec<u8>) {
        let mut event = json!({
            "id": format!("chatcmpl-{}", self.answer_id),
            "object": "chat.completion.chunk",
            "model": said["model"],
            "choices": choices,
        });
        if !usage.is_null() {
            event["usage"] = usage;
        }
        write_event(&event.to_string(), events);
    }

    /// Says that the answer failed; what comes behind is not read.
    fn fail(&mut self, problem: &str, events: &mut Vec<u8>) {
        write_event(&json!({"error": {"message": problem}}).to_string(), events);
        self.has_ended = true;
    }
}

fn write_event(data: &str, events: &mut Vec<u8>) {
    events.extend_from_slice(b"data: ");
    events.extend_from_slice(data.as_bytes());
    events.extend_from_slice(b"\n\n");
}
