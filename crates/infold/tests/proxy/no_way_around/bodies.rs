//! A conversation for each route, with marks where a test puts something else.

/// A body with places to be filled. What is not filled is left empty.
#[derive(Debug, Clone)]
pub struct Written(String);

impl Written {
    /// Puts JSON in the place of a mark: `@RESULT`, what the tool gave; `@BESIDE`, fields beside it; `@TOP`, fields of
    /// the body; `@INPUT`, what the tool was called with; `@ENTRY`, entries behind the last one.
    pub fn with(mut self, mark: &str, json: &str) -> Self {
        assert!(self.0.contains(mark), "{mark} in {}", self.0);
        self.0 = self.0.replace(mark, json);
        self
    }

    pub fn text(self) -> String {
        let text = self.0.replace("@RESULT", "\"nothing\"").replace("@INPUT", "{}");
        ["@BESIDE", "@TOP", "@ENTRY"].into_iter().fold(text, |text, mark| text.replace(mark, ""))
    }
}

const MESSAGES: &str = r#"{@TOP "model": "claude-opus-5-5", "max_tokens":10, "messages":[{"role":"user","content":"@PERSON"},
    {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":@INPUT}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1",@BESIDE"content":@RESULT}]}@ENTRY]}"#;

const ITEMS: &str = r#"[{"role":"user","content":"@PERSON"},
    {"type":"function_call","call_id":"t1","name":"read","arguments":"{}","x":@INPUT},
    {"type":"function_call_output","call_id":"t1",@BESIDE"output":@RESULT}@ENTRY]"#;

const CHAT: &str = r#"{@TOP "model": "gpt-5.5", "messages":[{"role":"user","content":"@PERSON"},
    {"role":"assistant","tool_calls":[{"id":"t1","type":"function","function":{"name":"read","arguments":"{}"},"x":@INPUT}]},
    {"role":"tool","tool_call_id":"t1",@BESIDE"content":@RESULT}@ENTRY]}"#;

/// A conversation in the form that a route takes, in which a person says `said`. A route without one fails the test, so
/// that none is forgotten.
pub fn conversation(path: &str, said: &str) -> Written {
    let body = match path {
        "/anthropic/v1/messages" | "/anthropic/v1/messages/count_tokens" | "/anthropic/v1/complete" => {
            MESSAGES.to_owned()
        }
        "/anthropic/v1/messages/batches" => {
            format!(
                r#"{{"requests":[{{"custom_id":"a","params":{MESSAGES}}}, {{"custom_id":"b","params":{MESSAGES}}}]}}"#
            )
        }
        "/openai/v1/responses" | "/openai/v1/responses/input_tokens" | "/openai/v1/responses/compact" => {
            format!(r#"{{@TOP "model": "gpt-5.5", "input":{ITEMS}}}"#)
        }
        "/openai/v1/conversations" | "/openai/v1/conversations/*/items" => format!(r#"{{@TOP "items":{ITEMS}}}"#),
        "/openai/v1/chat/completions" | "/openai/v1/unheard_of" | "/openai/deployments/x/chat/completions" => {
            CHAT.to_owned()
        }
        other => panic!("the proxy knows {other}, and this test has no body for it: add one"),
    };
    Written(body.replace("@PERSON", said))
}
