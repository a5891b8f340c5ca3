//! The conversation that the proxies are given: that of an agent which reads and runs things. It grows by a turn
//! with every request, is made up, and is the same in every run.

use serde_json::{Value, json};

/// Sizes of results, one after another: most are short, some are long enough to be offloaded.
const RESULT_BYTES: [usize; 5] = [600, 900, 1_500, 2_500, 6_000];
/// Sizes of results in a conversation that is to stay small.
const SMALL_RESULT_BYTES: [usize; 5] = [150, 200, 250, 300, 350];
const SMALL_BYTES_MAX: usize = 10 << 10;
/// Words that lines are made of.
const WORDS: [&str; 12] =
    ["let", "value", "ledger", "return", "entry", "carried", "if", "total", "while", "balance", "match", "amount"];

/// A conversation under way.
#[derive(Debug)]
pub struct Talk {
    pub session: String,
    messages: String,
    turns: usize,
    result_bytes: [usize; 5],
}

impl Talk {
    /// Makes a conversation that has at least so many bytes already.
    pub fn of_bytes(session: String, bytes: usize) -> Self {
        let first = json!({"role": "user", "content": [{"type": "text", "text": "Find out why the ledger is off by one, and mend it."}]});
        let is_small = (1..SMALL_BYTES_MAX).contains(&bytes);
        let result_bytes = if is_small { SMALL_RESULT_BYTES } else { RESULT_BYTES };
        let mut talk = Self { session, messages: first.to_string(), turns: 0, result_bytes };
        while talk.messages.len() < bytes {
            talk.turn();
        }
        talk
    }

    /// Adds a turn: the model calls a tool and gets its result.
    pub fn turn(&mut self) {
        self.turns += 1;
        let turn = self.turns;
        let id = format!("toolu_{}_{turn}", self.session);
        let input = json!({"file_path": format!("/home/someone/ledger/src/part_{turn}.rs"), "offset": turn * 10});
        let call = json!({"role": "assistant", "content": [
            {"type": "text", "text": format!("Now I look at part {turn}.")},
            {"type": "tool_use", "id": id, "name": "Read", "input": input},
        ]});
        let text = lines(turn, self.result_bytes[turn % self.result_bytes.len()]);
        let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]});
        self.messages.push_str(&format!(",{call},{result}"));
    }

    /// The body of a request with the whole conversation.
    pub fn body(&self) -> Vec<u8> {
        let tools = json!([tool("Read"), tool("Bash"), tool("mcp__infold__read_result")]);
        format!(
            "{{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":1024,\"system\":[{{\"type\":\"text\",\"text\":\"You are an agent.\"}}],\"tools\":{tools},\"messages\":[{}]}}",
            self.messages
        )
        .into_bytes()
    }
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "A tool.", "input_schema": {"type": "object"}})
}

/// Lines of a file, each with its number, as agents read them.
fn lines(turn: usize, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    let mut number = 0;
    while text.len() < bytes {
        number += 1;
        let word = |step: usize| WORDS[(turn * 7 + number * step) % WORDS.len()];
        text.push_str(&format!(
            "{number:>6}→    {} {}_{turn}_{number} = {}.{}({});\n",
            word(1),
            word(3),
            word(5),
            word(7),
            turn * number
        ));
    }
    text
}
