//! Bodies that are no messages: broken, of another form, too large, of another type, on every route that takes a
//! body.

use anyhow::Result;
use reqwest::Method;
use serde_json::{Value, json};

use super::scene::World;
use crate::support::{Api, ApiAnswer, Refused};

/// Bodies that are not one JSON object.
fn no_objects() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("empty", Vec::new()),
        ("blank", b"  \n ".to_vec()),
        ("cut off", br#"{"description": "x"#.to_vec()),
        ("with a comma too many", br#"{"description": "x",}"#.to_vec()),
        ("with something behind it", br#"{"description": "x"} {"description": "y"}"#.to_vec()),
        ("an array", br#"[{"description": "x"}]"#.to_vec()),
        ("an empty array", b"[]".to_vec()),
        ("null", b"null".to_vec()),
        ("a string", br#""description""#.to_vec()),
        ("a number", b"7".to_vec()),
        ("not UTF-8", b"{\"description\": \"\xff\xfe\"}".to_vec()),
        ("half a surrogate pair", br#"{"description": "\ud800"}"#.to_vec()),
        ("with a bare NUL", b"{\"description\": \"a\0b\"}".to_vec()),
        ("a hundred thousand arrays deep", "[".repeat(100_000).into_bytes()),
        ("a hundred thousand objects deep", r#"{"a":"#.repeat(100_000).into_bytes()),
        ("a form", b"description=x&prompt=y".to_vec()),
        ("NaN", br#"{"description": NaN}"#.to_vec()),
    ]
}

async fn post(api: &Api, path: &str, content_type: Option<&str>, body: Vec<u8>) -> Result<ApiAnswer> {
    let request = api.request(Method::POST, path).header("accept", "application/json, text/event-stream").body(body);
    let request = match content_type {
        Some(content_type) => request.header("content-type", content_type),
        None => request,
    };
    ApiAnswer::read(request).await
}

/// The routes of the JSON API that take a body, with names that exist.
async fn api_paths(world: &World) -> Result<Vec<String>> {
    let things = world.things("/projects/bodies").await?;
    let description = world.program.api.get("/api/v1/openapi.json").await?.with_status(200)?;
    let paths = description["paths"].as_object().cloned().unwrap_or_default();
    let with_body = paths.into_iter().filter(|(_, methods)| methods["post"]["requestBody"].is_object());
    let filled = |path: String| {
        path.replace("{session}", &things.session)
            .replace("{branch}", &things.branch)
            .replace("{ref_id}", &things.ref_id)
    };
    Ok(with_body.map(|(path, _)| filled(path)).collect())
}

#[tokio::test]
async fn a_body_that_is_no_object_is_refused_on_every_route_that_takes_one() -> Result<()> {
    let world = World::new().await?;
    let paths = api_paths(&world).await?;
    assert!(paths.len() >= 5, "{paths:?}");
    let before = world.stored()?;
    for path in &paths {
        for (what, body) in no_objects() {
            let answer = post(&world.program.api, path, Some("application/json"), body).await?;
            let refused = answer.refused()?;
            assert_eq!(refused.status, 400, "{path}, {what}: {}", answer.text);
            assert_eq!(refused.unclear("body|description|not known here"), None, "{path}, {what}");
        }
    }
    assert_eq!(world.stored()?, before);
    Ok(())
}

#[tokio::test]
async fn a_body_that_is_no_message_is_refused_over_mcp() -> Result<()> {
    let world = World::new().await?;
    let before = world.stored()?;
    let call = json!({"name": "branch_create", "arguments": {"session_id": "s", "description": "x"}});
    let whole = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
    let mut bodies = no_objects();
    let text = |value: Value| value.to_string().into_bytes();
    bodies.extend([
        ("a batch", text(json!([whole, whole]))),
        ("without a version", text(json!({"id": 1, "method": "tools/call", "params": call}))),
        ("of another version", text(json!({"jsonrpc": "1.0", "id": 1, "method": "tools/call", "params": call}))),
        ("without a method", text(json!({"jsonrpc": "2.0", "id": 1, "params": call}))),
        ("with a method that is no string", text(json!({"jsonrpc": "2.0", "id": 1, "method": 7, "params": call}))),
        ("with an id that is no id", text(json!({"jsonrpc": "2.0", "id": {}, "method": "tools/call", "params": call}))),
        (
            "with a fraction for an id",
            text(json!({"jsonrpc": "2.0", "id": 1.5, "method": "tools/call", "params": call})),
        ),
    ]);
    for (what, body) in bodies {
        let answer = post(&world.program.api, "/mcp", Some("application/json"), body).await?;
        assert_eq!(answer.status, 400, "{what}: {}", answer.text);
        let error = &answer.body["error"];
        assert!(matches!(error["code"].as_i64(), Some(-32700 | -32600)), "{what}: {}", answer.text);
        let refused = Refused {
            rpc: error["code"].as_i64(),
            code: String::new(),
            status: 400,
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            data: Value::Null,
        };
        assert_eq!(refused.unclear("body|message|jsonrpc|method|id"), None, "{what}: {}", answer.text);
    }
    assert_eq!(world.stored()?, before);
    Ok(())
}

#[tokio::test]
async fn only_json_is_taken_and_only_so_much_of_it() -> Result<()> {
    let world = World::new().await?;
    let mut paths = api_paths(&world).await?;
    paths.push("/mcp".to_owned());
    let before = world.stored()?;
    for path in &paths {
        for content_type in [
            None,
            Some("text/plain"),
            Some("application/x-www-form-urlencoded"),
            Some("multipart/form-data; boundary=x"),
            Some("application/jsonp"),
            Some("text/plain; a=application/json"),
        ] {
            let answer = post(&world.program.api, path, content_type, br#"{"description": "x"}"#.to_vec()).await?;
            assert_eq!(answer.status, 415, "{path} as {content_type:?}: {}", answer.text);
            assert!(answer.text.contains("Content-Type must be application/json"), "{path}: {}", answer.text);
        }
        // Transcripts and files of memories are longer than anything else that is sent, and have a bound of their own.
        let is_long = path == "/api/v1/forks" || path == "/api/v1/memories/import";
        let bytes_max = if is_long { 67_108_864 } else { 8_388_608 };
        let large = format!("{{\"description\": \"{}\"}}", "x".repeat(bytes_max));
        let answer = post(&world.program.api, path, Some("application/json"), large.into_bytes()).await?;
        assert_eq!(answer.status, 413, "{path}: {}", answer.text);
        assert!(answer.text.contains(&format!("larger than {bytes_max} bytes")), "{path}: {}", answer.text);
    }
    assert_eq!(world.stored()?, before);
    Ok(())
}
