//! What a client of the soak sends: sessions of an agent that go on for some turns, and now and then a very large body.

use infold_testkit::Rng;
use serde_json::json;

use crate::bench::proxy::Talk;

const KIB: usize = 1 << 10;
/// Sizes that sessions begin with, and how many in a hundred do.
const SIZES: [(usize, usize); 4] = [(2 * KIB, 50), (20 * KIB, 38), (100 * KIB, 10), (500 * KIB, 2)];
/// How many turns a session goes on for, at most.
const TURNS_MAX: usize = 40;
/// The smallest of the very large bodies.
const LARGE_BYTES_MIN: usize = 1 << 20;
/// The length of one result in a very large body.
const RESULT_BYTES: usize = 120 * KIB;
/// What images and results are filled with: it does not compress to nothing, and looks like no secret.
const WORDS: [&str; 8] = ["harbour ", "quiet ", "ledger ", "stone ", "window ", "garden ", "river ", "lantern\n"];

/// A client, with the session that it is in.
pub struct SoakClient {
    number: usize,
    sessions: usize,
    turns_left: usize,
    talk: Talk,
    rng: Rng,
}

impl SoakClient {
    pub fn new(number: usize, rng: Rng) -> Self {
        Self { number, sessions: 0, turns_left: 0, talk: Talk::of_bytes(String::new(), 0), rng }
    }

    /// The next request: its session, and its body.
    pub fn next(&mut self) -> (String, Vec<u8>) {
        if self.turns_left == 0 {
            self.turns_left = 1 + self.rng.below(TURNS_MAX);
            let bytes = self.size();
            self.talk = Talk::of_bytes(self.new_session("soak"), bytes);
        }
        self.turns_left -= 1;
        self.talk.turn();
        (self.talk.session.clone(), self.talk.body())
    }

    /// A very large request: one image, or many long results.
    pub fn large(&mut self, largest_bytes: usize) -> (String, Vec<u8>) {
        let bytes = LARGE_BYTES_MIN + self.rng.below(largest_bytes.saturating_sub(LARGE_BYTES_MIN));
        let session = self.new_session("large");
        let messages = if self.rng.chance(50) { self.image(bytes) } else { self.results(&session, bytes) };
        let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 1024, "messages": messages});
        (session, body.to_string().into_bytes())
    }

    fn image(&mut self, bytes: usize) -> serde_json::Value {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut data = String::with_capacity(bytes + 8);
        while data.len() < bytes {
            let mut bits = self.rng.next_u64();
            for _ in 0..8 {
                data.push(char::from(alphabet[(bits % 64) as usize]));
                bits >>= 6;
            }
        }
        let source = json!({"type": "base64", "media_type": "image/png", "data": data});
        json!([{"role": "user", "content": [
            {"type": "text", "text": "What does this show?"}, {"type": "image", "source": source},
        ]}])
    }

    fn results(&mut self, session: &str, bytes: usize) -> serde_json::Value {
        let mut messages = vec![json!({"role": "user", "content": "Read all of it."})];
        for number in 0..bytes.div_ceil(RESULT_BYTES) {
            let id = format!("toolu_{session}_{number}");
            let mut text = String::with_capacity(RESULT_BYTES + 16);
            while text.len() < RESULT_BYTES {
                text.push_str(self.rng.pick(&WORDS).copied().unwrap_or_default());
            }
            let input = json!({"file_path": format!("/logs/{number}.txt")});
            messages.push(json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": id, "name": "Read", "input": input},
            ]}));
            messages.push(json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": text},
            ]}));
        }
        messages.into()
    }

    fn size(&mut self) -> usize {
        let mut at = self.rng.below(100);
        for (bytes, share) in SIZES {
            if at < share {
                return bytes;
            }
            at -= share;
        }
        SIZES[0].0
    }

    fn new_session(&mut self, name: &str) -> String {
        self.sessions += 1;
        format!("{name}-{}-{}", self.number, self.sessions)
    }
}
