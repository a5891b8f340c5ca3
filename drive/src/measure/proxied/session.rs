//! One recorded session played through the proxy, request by request.

use anyhow::{Context, Result, bail};
use infold_core::transcript::{Item, Kind, Transcript};
use infold_replay::{Judge, Measures, SentItem};
use infold_testkit::McpHttp;

use super::broken::{BadReferences, parted};
use super::client::{Conversation, PlayedApi, requests};
use super::received::{Reader, Received, Reference};
use crate::upstream::RecordingUpstream;

/// How many bytes `read_result` gives at most at once.
const PAGE_BYTES_MAX: usize = 65_536;
/// How every placeholder begins.
const SCRUBBED: &str = "[SECRET:";

/// What it takes to send a request through the daemon, and to see what the provider got.
#[derive(Debug)]
pub struct PlayWay<'a> {
    pub http: &'a reqwest::Client,
    pub daemon_url: &'a str,
    pub upstream: &'a RecordingUpstream,
}

impl PlayWay<'_> {
    /// Sends a request and returns what the provider got of it.
    pub async fn send(&self, conversation: &Conversation, body: Vec<u8>) -> Result<Vec<u8>> {
        let api = conversation.api;
        let request = self
            .http
            .post(format!("{}{}", self.daemon_url, api.path()))
            .header("content-type", "application/json")
            .header("x-api-key", "sk-measured")
            .header("authorization", "Bearer sk-measured")
            .header("anthropic-version", "2023-06-01")
            .header(api.session_header(), &conversation.session)
            .body(body);
        let response = request.send().await.context("the daemon did not answer")?;
        let status = response.status();
        let answer = response.text().await?;
        if !status.is_success() {
            bail!("session {}: HTTP {status}: {answer}", conversation.session);
        }
        self.upstream.take(&conversation.session).context("the provider was sent nothing")
    }
}

/// What was seen of one session, or of several together.
#[derive(Debug, Default)]
pub struct Seen {
    pub name: String,
    pub requests: usize,
    /// Requests that reached the provider byte for byte.
    pub identical: usize,
    /// Measures of what the client sent, and of what the provider got.
    pub was: Measures,
    pub now: Measures,
    pub invalid_reasoning: usize,
    /// Offloaded results, and how many of them were read back unchanged.
    pub offloaded: usize,
    pub recalled: usize,
    pub broken: BadReferences,
}

impl Seen {
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.identical += other.identical;
        self.was.add(&other.was);
        self.now.add(&other.now);
        self.invalid_reasoning += other.invalid_reasoning;
        self.offloaded += other.offloaded;
        self.recalled += other.recalled;
        self.broken.add(&other.broken);
    }
}

/// Plays a session, and reads back every offloaded result at its end.
pub async fn play(name: &str, transcript: &Transcript, way: &PlayWay<'_>, mcp: &McpHttp) -> Result<Seen> {
    let api = PlayedApi::of(transcript);
    let calls = requests(transcript);
    let model = calls.first().map_or("", |call| call.model.as_str());
    let mut conversation = Conversation::new(api, name, model);
    let (mut was, mut now) = (Judge::new(transcript), Judge::new(transcript));
    let (mut client, mut reader) = (Reader::new(api), Reader::new(api));
    let mut seen = Seen { name: name.to_owned(), ..Seen::default() };
    let mut at = 0;
    let mut last = None;
    for call in calls {
        let end = call.first_item.min(transcript.items.len()).max(at);
        conversation.add(&transcript.items[at..end].iter().collect::<Vec<&Item>>());
        at = end;
        let body = conversation.body();
        let got = way.send(&conversation, body.clone()).await?;

        seen.requests += 1;
        seen.identical += usize::from(got == body);
        take(&mut was, &client.read(&body)?);
        let received = reader.read(&got)?;
        take(&mut now, &received);
        seen.invalid_reasoning += received.invalid_reasoning;
        last = Some(received);
    }
    (seen.was, seen.now) = (was.finish(), now.finish());
    if let Some(last) = last {
        seen.broken = BadReferences::of(transcript, &last);
        recall(transcript, &last, mcp, &mut seen).await?;
    }
    Ok(seen)
}

fn take(judge: &mut Judge<'_>, received: &Received) {
    let items: Vec<SentItem<'_>> = received.entries.iter().flat_map(|entry| entry.items()).collect();
    judge.take(&items);
}

/// Reads back every offloaded result of the last request, page by page.
async fn recall(transcript: &Transcript, last: &Received, mcp: &McpHttp, seen: &mut Seen) -> Result<()> {
    for reference in last.entries.iter().flat_map(|entry| &entry.references) {
        let content = read_back(mcp, &reference.handle).await?;
        seen.offloaded += 1;
        let is_whole = is_whole(transcript, reference, &content);
        if !is_whole {
            eprintln!("{} of call {} was not read back: {} bytes", reference.handle, reference.call, content.len());
        }
        seen.recalled += usize::from(is_whole);
    }
    Ok(())
}

/// The whole result that a handle names.
async fn read_back(mcp: &McpHttp, handle: &str) -> Result<String> {
    let mut content = String::new();
    loop {
        let page = serde_json::json!({"ref_id": handle, "offset": content.len(), "limit": PAGE_BYTES_MAX});
        let answer = mcp.call("read_result", page).await?;
        if !answer.is_ok() {
            eprintln!("{handle}: {}", answer.summary());
        }
        let page = answer.structured.as_ref().and_then(|body| body["content"].as_str()).unwrap_or_default();
        content.push_str(page);
        if page.len() < PAGE_BYTES_MAX / 2 {
            return Ok(content);
        }
    }
}

/// Whether `content` is what the call gave, but for secrets. What the tool printed was offloaded; what the client put
/// behind it follows the reference.
fn is_whole(transcript: &Transcript, reference: &Reference, content: &str) -> bool {
    transcript.items.iter().any(|item| match &item.kind {
        Kind::Result { id, text, .. } if *id == reference.call => {
            let (printed, remarks) = parted(text);
            let is_same = content == text || (content == printed && reference.text.ends_with(remarks));
            is_same || (content.contains(SCRUBBED) && content.len() * 2 > text.len())
        }
        _ => false,
    })
}
