//! The forms in which a body can come, each with a secret in what a tool gave.

use std::io::{Read, Write};

use axum::http::HeaderMap;
use flate2::Compression;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use infold_wire::request::unescaped;
use reqwest::Method;

use super::bodies::Written;

/// A request as it is sent to the daemon.
#[derive(Debug, Clone)]
pub struct Sent {
    pub method: Method,
    pub path: String,
    pub content_type: &'static str,
    pub encoding: Option<&'static str>,
    pub is_chunked: bool,
    pub bytes: Vec<u8>,
}

/// Makes a request of a path, a conversation and a secret.
type Make = dyn Fn(&str, &Written, &str) -> Sent;

/// A form of body.
pub struct Form {
    pub name: &'static str,
    pub make: Box<Make>,
}

/// A form that differs from the plain one in how it is sent.
fn carried(name: &'static str, change: impl Fn(Sent) -> Sent + 'static) -> Form {
    let make = move |path: &str, written: &Written, secret: &str| {
        let result = format!("\"token = {secret}\"");
        let body = written.clone().with("@RESULT", &result).text();
        change(Sent::json(path, body.into_bytes()))
    };
    Form { name, make: Box::new(make) }
}

/// A form that differs from the plain one in what it says.
fn spelled(name: &'static str, write: impl Fn(Written, &str) -> String + 'static) -> Form {
    let make = move |path: &str, written: &Written, secret: &str| {
        Sent::json(path, write(written.clone(), secret).into_bytes())
    };
    Form { name, make: Box::new(make) }
}

/// A form in which the result is this JSON; `SECRET` in it is the secret.
fn giving(name: &'static str, result: impl Into<String>) -> Form {
    let result = result.into();
    spelled(name, move |written, secret| written.with("@RESULT", &result.replace("SECRET", secret)).text())
}

/// A form with more fields or entries at one place beside a plain result.
fn adding(name: &'static str, mark: &'static str, json: impl Into<String>) -> Form {
    let json = json.into();
    spelled(name, move |written, secret| {
        let result = format!("\"{secret}\"");
        written.with("@RESULT", &result).with(mark, &json.replace("SECRET", secret)).text()
    })
}

/// A form whose path is spelled in another way.
fn path(name: &'static str, change: impl Fn(&str) -> String + 'static) -> Form {
    carried(name, move |sent| Sent { path: change(&sent.path), ..sent })
}

fn packed(name: &'static str, encoding: &'static str, pack: impl Fn(&[u8]) -> Vec<u8> + 'static) -> Form {
    carried(name, move |sent| Sent { encoding: Some(encoding), bytes: pack(&sent.bytes), ..sent })
}

fn bytes(name: &'static str, change: impl Fn(Vec<u8>) -> Vec<u8> + 'static) -> Form {
    carried(name, move |sent| Sent { bytes: change(sent.bytes), ..sent })
}

/// A value with a string inside of so many lists.
fn deep(depth: usize) -> String {
    format!("{{\"x\":{}\"SECRET\"{}}}", "[".repeat(depth), "]".repeat(depth))
}

/// Every form.
pub fn all() -> Vec<Form> {
    [on_the_wire(), as_bytes(), as_json(), as_results(), as_paths()].into_iter().flatten().collect()
}

fn on_the_wire() -> Vec<Form> {
    vec![
        carried("plain", |sent| sent),
        carried("chunked", |sent| Sent { is_chunked: true, ..sent }),
        packed("gzip", "gzip", |bytes| zipped(GzEncoder::new(Vec::new(), Compression::default()), bytes)),
        packed("gzip in two members", "gzip", |bytes| {
            let (one, two) = bytes.split_at(bytes.len() / 2);
            [one, two].map(|part| zipped(GzEncoder::new(Vec::new(), Compression::default()), part)).concat()
        }),
        packed("deflate", "deflate", |bytes| zipped(ZlibEncoder::new(Vec::new(), Compression::default()), bytes)),
        packed("bare deflate", "deflate", |bytes| {
            zipped(DeflateEncoder::new(Vec::new(), Compression::default()), bytes)
        }),
        packed("br", "br", brotli),
        packed("zstd", "zstd", |bytes| zstd::encode_all(bytes, 3).unwrap()),
        packed("zstd, in capitals", "ZSTD", |bytes| zstd::encode_all(bytes, 3).unwrap()),
        packed("two encodings", "gzip, zstd", |bytes| {
            let inner = zipped(GzEncoder::new(Vec::new(), Compression::default()), bytes);
            zstd::encode_all(&inner[..], 3).unwrap()
        }),
        packed("an encoding that nobody knows", "compress", <[u8]>::to_vec),
        packed("an encoding that it does not have", "gzip", <[u8]>::to_vec),
        packed("gzip that is cut off", "gzip", |bytes| {
            let mut zipped = zipped(GzEncoder::new(Vec::new(), Compression::default()), bytes);
            zipped.truncate(zipped.len() - 9);
            zipped
        }),
        carried("another content type", |sent| Sent { content_type: "text/plain", ..sent }),
        carried("put, not posted", |sent| Sent { method: Method::PUT, ..sent }),
        carried("with a method of its own", |sent| Sent { method: Method::PATCH, ..sent }),
    ]
}

fn as_bytes() -> Vec<Form> {
    vec![
        bytes("a byte order mark", |bytes| [&b"\xef\xbb\xbf"[..], &bytes].concat()),
        bytes("trailing bytes", |bytes| [&bytes[..], b" and more"].concat()),
        bytes("a second value", |bytes| [&bytes[..], b"\n", &bytes].concat()),
        bytes("a byte that is no UTF-8", |bytes| [&bytes[..bytes.len() - 1], b",\"x\":\"\xff\"}"].concat()),
        bytes("cut off", |bytes| bytes[..bytes.len() - 2].to_vec()),
        bytes("UTF-16", |bytes| bytes.iter().flat_map(|byte| [*byte, 0]).collect()),
        bytes("a comment", |bytes| [&b"// a comment\n"[..], &bytes].concat()),
        bytes("cut off, with escapes", |bytes| {
            let text = String::from_utf8(bytes).unwrap().replace("ghp_", "\\u0067hp_");
            text.as_bytes()[..text.len() - 2].to_vec()
        }),
    ]
}

fn as_json() -> Vec<Form> {
    vec![
        adding("NaN", "@INPUT", r#"{"a":NaN,"b":-Infinity}"#),
        adding("nested 124 deep", "@INPUT", deep(124)).without_the_secret_in_calls(),
        adding("nested 2,000 deep", "@INPUT", deep(2_000)).without_the_secret_in_calls(),
        adding("nested 100,000 deep", "@INPUT", deep(100_000)).without_the_secret_in_calls(),
        adding("a key twice at the top", "@TOP", r#""model":"x","messages":[],"input":[],"items":[],"requests":[],"#),
        adding("a key twice in a result, the secret first", "@BESIDE", r#""content":"SECRET","output":"SECRET","#),
        adding("a type twice in a result", "@BESIDE", r#""type":"text","role":"user","#),
        adding("a response to go on from", "@TOP", r#""previous_response_id":"resp_1","#),
        adding("a conversation to go on from", "@TOP", r#""conversation":{"id":"conv_1"},"#),
    ]
}

fn as_results() -> Vec<Form> {
    let list = |part: &str| format!("[{part}]");
    vec![
        giving("escapes", r#""token = SECRET\u0020\n""#),
        spelled("a secret in escapes", |written, secret| {
            let escaped: String = secret.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
            written.with("@RESULT", &format!("\"{escaped}\"")).text()
        }),
        giving("parts of text", list(r#"{"type":"text","text":"SECRET"},{"type":"input_text","text":"SECRET"}"#)),
        giving("a part of an unknown kind", list(r#"{"type":"new","new":{"deep":["SECRET"]}}"#)),
        giving(
            "an address",
            list(r#"{"type":"search_result","source":"https://x/?token=SECRET","title":"t","content":[]}"#),
        ),
        giving(
            "an address beside a text",
            list(
                r#"{"type":"search_result","source":"https://x/?token=SECRET","title":"t","content":[{"type":"text","text":"SECRET"}]}"#,
            ),
        ),
        giving(
            "a document",
            list(r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"SECRET"}}"#),
        ),
        giving("a picture's name", list(r#"{"type":"image","source":{"type":"url","url":"https://x/?t=SECRET"}}"#)),
        giving(
            "what a shell printed",
            list(r#"{"stdout":"SECRET","stderr":"SECRET","outcome":{"type":"exit","note":"SECRET"}}"#),
        ),
        giving("an object", r#"{"type":"text","text":"SECRET","a":{"b":"SECRET"}}"#),
        giving("a key that is the secret", r#"[{"type":"text","text":"x","SECRET":1}]"#),
        giving("a list of plain texts", r#"["SECRET",["SECRET"]]"#),
        giving(
            "parts within parts",
            format!("{}\"SECRET\"{}", r#"[{"type":"x","content":"#.repeat(60), "}]".repeat(60)),
        ),
        adding("fields beside the content", "@BESIDE", r#""extra":"SECRET","more":{"a":["SECRET"]},"#),
        adding("a function's message", "@ENTRY", r#",{"role":"function","name":"read","content":"SECRET"}"#),
        adding("a tool's message without an id", "@ENTRY", r#",{"role":"tool","content":"SECRET"}"#),
        adding("an output without an id", "@ENTRY", r#",{"type":"custom_tool_call_output","output":"SECRET"}"#),
        adding(
            "a result without an id",
            "@ENTRY",
            r#",{"role":"user","content":[{"type":"tool_result","content":"SECRET"}]}"#,
        ),
        adding(
            "a result that is no list",
            "@ENTRY",
            r#",{"role":"user","content":{"type":"tool_result","content":"SECRET"}}"#,
        ),
        adding(
            "a call that its provider made",
            "@ENTRY",
            r#",{"type":"mcp_call","id":"m1","name":"n","output":"SECRET"}"#,
        ),
    ]
}

fn as_paths() -> Vec<Form> {
    vec![
        path("a slash at the end", |path| format!("{path}/")),
        path("a letter as an escape", |path| {
            let (front, last) = path.rsplit_once('/').unwrap();
            let (first, rest) = last.split_at(1);
            format!("{front}/%{:02x}{rest}", first.as_bytes()[0])
        }),
        path("two slashes", |path| path.replacen("/v1/", "//v1/", 1).replace("deployments/", "deployments//")),
        path("an escaped slash", |path| format!("{path}%2F")),
        path("in capitals", |path| {
            let (provider, rest) = path[1..].split_once('/').unwrap();
            format!("/{provider}/{}", rest.to_uppercase())
        }),
        path("a query", |path| format!("{path}?beta=true")),
        path("more behind it", |path| format!("{path}/unheard_of")),
        path("without the version", |path| path.replacen("/v1/", "/", 1)),
    ]
}

impl Form {
    /// What a model called a tool with is no tool's output, so the secret is only in the result.
    fn without_the_secret_in_calls(self) -> Self {
        let make = self.make;
        let changed = move |path: &str, written: &Written, secret: &str| {
            let sent = make(path, written, secret);
            let text = String::from_utf8(sent.bytes).unwrap();
            Sent { bytes: text.replace(&format!("[\"{secret}\"]"), "[\"x\"]").into_bytes(), ..sent }
        };
        Self { make: Box::new(changed), ..self }
    }
}

fn zipped(mut encoder: impl Finish, bytes: &[u8]) -> Vec<u8> {
    encoder.write_all(bytes).unwrap();
    encoder.end()
}

/// Encoders that are alike, but for their types.
trait Finish: Write {
    fn end(self) -> Vec<u8>;
}

impl Finish for GzEncoder<Vec<u8>> {
    fn end(self) -> Vec<u8> {
        self.finish().unwrap()
    }
}

impl Finish for ZlibEncoder<Vec<u8>> {
    fn end(self) -> Vec<u8> {
        self.finish().unwrap()
    }
}

impl Finish for DeflateEncoder<Vec<u8>> {
    fn end(self) -> Vec<u8> {
        self.finish().unwrap()
    }
}

/// A brotli stream of blocks that are not compressed, because there is no encoder here: a window of 16 bits, for each
/// block its length and the mark for plain bytes, and an empty last block.
fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, block) in bytes.chunks(1 << 16).enumerate() {
        let length = u32::try_from(block.len() - 1).unwrap();
        // Not the last one (1 bit), a length of 4 nibbles (2 bits), the length (16 bits), plain bytes (1 bit).
        let head = (length << 3) | (1 << 19);
        // The window (1 bit) is only in front of the first block.
        let head = if number == 0 { head << 1 } else { head };
        out.extend_from_slice(&head.to_le_bytes()[..3]);
        out.extend_from_slice(block);
    }
    out.push(3);
    out
}

/// What a body says to somebody who reads it in any way that a provider could: decoded, without escapes, and without the
/// zeros of wide characters.
pub fn readable(headers: &HeaderMap, bytes: &[u8]) -> String {
    let encoding = headers.get("content-encoding").map(|value| value.to_str().unwrap().to_lowercase());
    let mut plain = Vec::new();
    match encoding.as_deref() {
        None => plain = bytes.to_vec(),
        Some("gzip") => drop(MultiGzDecoder::new(bytes).read_to_end(&mut plain).unwrap()),
        Some("deflate") => {
            if ZlibDecoder::new(bytes).read_to_end(&mut plain).is_err() {
                plain.clear();
                DeflateDecoder::new(bytes).read_to_end(&mut plain).unwrap();
            }
        }
        Some("zstd") => plain = zstd::decode_all(bytes).unwrap(),
        Some(other) => panic!("the upstream got a body that is encoded as {other}"),
    }
    plain.retain(|byte| *byte != 0);
    let text = String::from_utf8_lossy(&plain).into_owned();
    format!("{text}\n{}", unescaped(&text))
}
