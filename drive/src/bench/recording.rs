//! A recorded session of any length, for measuring: lines as Claude Code writes them, with results
//! whose sizes are spread as in recorded sessions (one in eight is long, and those hold most of it).

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;
use infold_testkit::Rng;
use serde_json::json;

const WORDS: [&str; 16] = [
    "session",
    "branch",
    "fold_at",
    "tokens",
    "parse_line",
    "config",
    "error",
    "result",
    "path/to/file.rs",
    "value",
    "fn main",
    "let mut",
    "return",
    "BTreeMap",
    "0x3fa2",
    "1024",
];

/// Writes at least `bytes` of a session to `path`; the same every time.
pub fn write(path: &Path, bytes: u64) -> Result<()> {
    let mut rng = Rng::new(42);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut written = 0;
    let mut turn = 0_u64;
    while written < bytes {
        for line in turn_lines(turn, &mut rng) {
            written += line.len() as u64 + 1;
            writeln!(file, "{line}")?;
        }
        turn += 1;
    }
    file.flush()?;
    Ok(())
}

/// One round: sometimes the user speaks, then the model calls a tool and gets its result.
fn turn_lines(turn: u64, rng: &mut Rng) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |place: u64, kind: &str, message: serde_json::Value| {
        let parent = (turn * 4 + place).checked_sub(1).map(uuid);
        lines.push(
            json!({
                "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/home/dev/project",
                "sessionId": uuid(u64::MAX), "version": "2.1.325", "type": kind, "message": message,
                "uuid": uuid(turn * 4 + place), "timestamp": "2026-11-15T18:19:56.000Z",
            })
            .to_string(),
        );
    };
    let wish = text(rng, 200);
    line(0, "user", json!({"role": "user", "content": wish}));
    let assistant = |content: serde_json::Value| {
        json!({
            "model": "claude-opus-4-6", "id": format!("msg_{turn}"), "type": "message", "role": "assistant",
            "content": [content], "usage": {"input_tokens": 3, "output_tokens": 90},
        })
    };
    line(1, "assistant", assistant(json!({"type": "text", "text": text(rng, 300)})));
    let input = json!({"file_path": format!("/home/dev/project/src/part_{}.rs", turn % 97), "offset": turn % 400});
    let call = format!("toolu_{turn:08}");
    line(2, "assistant", assistant(json!({"type": "tool_use", "id": call, "name": "Read", "input": input})));
    let length =
        if rng.next_u64().is_multiple_of(8) { 4_096 + rng.next_u64() % 40_000 } else { rng.next_u64() % 4_096 };
    let result = text(rng, length);
    let result = json!([{"type": "tool_result", "tool_use_id": call, "content": result}]);
    line(3, "user", json!({"role": "user", "content": result}));
    lines
}

fn uuid(number: u64) -> String {
    format!("00000000-0000-4000-8000-{:012x}", number & 0xffff_ffff_ffff)
}

/// Lines of words, `length` bytes or a little more.
fn text(rng: &mut Rng, length: u64) -> String {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut text = String::with_capacity(length + 32);
    while text.len() < length {
        let number = rng.next_u64();
        text.push_str(WORDS[(number % 16) as usize]);
        text.push(if number.is_multiple_of(9) { '\n' } else { ' ' });
    }
    text
}
