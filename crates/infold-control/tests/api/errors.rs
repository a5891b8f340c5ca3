//! Every way to be refused, with its status, its code and a sentence that says what to do.

use axum::body::Body;
use http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::client::{Answer, Api, bare, local, request};

const BRANCHES: &str = "/api/v1/sessions/s/branches";

/// Posts bytes as they are.
async fn post_raw(api: &Api, content_type: Option<&str>, body: impl Into<Body>) -> Answer {
    let mut request = Request::builder().method("POST").uri(BRANCHES);
    if let Some(content_type) = content_type {
        request = request.header("content-type", content_type);
    }
    api.send(local(), request.body(body.into()).unwrap()).await
}

async fn posted(api: &Api, body: Value) -> String {
    api.post(BRANCHES, body).await.error()
}

#[tokio::test]
async fn a_field_that_is_wrong_is_named_and_nothing_is_stored() {
    let api = Api::new();
    let check = |body: Value| posted(&api, body);
    assert_eq!(check(json!({})).await, r#"400 invalid_input: description is required {"field":"description"}"#);
    assert_eq!(
        check(json!({ "description": "x", "colour": "red" })).await,
        "400 invalid_input: colour is not known here: use only description, prompt, budget, timeout_seconds, \
         isolation, inject_memories, parent_branch_id, project_path, session_id, idempotency_key {\"field\":\"colour\"}"
    );
    assert_eq!(
        check(json!({ "description": 7 })).await,
        r#"400 invalid_input: description must be a string {"field":"description"}"#
    );
    for wrong in [json!("8192"), json!(-1), json!(1.5), json!([1]), json!(1e300)] {
        assert_eq!(
            check(json!({ "description": "x", "budget": wrong })).await,
            r#"400 invalid_input: budget must be a whole number, 0 or more {"field":"budget"}"#
        );
    }
    assert_eq!(
        check(json!({ "description": "x", "budget": 0 })).await,
        r#"400 invalid_input: budget must be at least 1 {"field":"budget"}"#
    );
    assert_eq!(
        check(json!({ "description": "\u{7}" })).await,
        r#"400 invalid_input: description must not be empty {"field":"description"}"#
    );
    assert!(
        check(json!({ "description": "x".repeat(501) })).await.starts_with("400 invalid_input: description has 501")
    );
    assert!(check(json!({ "description": "x", "parent_branch_id": "br_1" })).await.starts_with("404 branch_not_found"));
    assert_eq!(api.get("/api/v1/sessions").await.json()["sessions"], json!([]));
}

#[tokio::test]
async fn a_body_that_is_no_object_is_refused() {
    let api = Api::new();
    let json = Some("application/json; charset=utf-8");
    for (body, expected) in [
        ("", "The body is not JSON: EOF while parsing a value at line 1 column 0"),
        ("{\"description\": ", "The body is not JSON: EOF while parsing a value at line 1 column 16"),
        ("{description}", "The body is not JSON: key must be a string at line 1 column 2"),
        ("{\"description\":\"x\"} {}", "The body is not JSON: trailing characters at line 1 column 21"),
        ("[\"x\",null,null,null,null,null,null,null,null]", "The body must be a JSON object"),
        ("[]", "The body must be a JSON object"),
        ("null", "The body must be a JSON object"),
        ("\"x\"", "The body must be a JSON object"),
    ] {
        let answer = post_raw(&api, json, body).await;
        assert_eq!(answer.error(), format!("400 malformed_request: {expected} {{}}"), "{body}");
    }
    let twice = post_raw(&api, json, r#"{"description":"x","description":"y"}"#).await;
    assert_eq!(
        twice.error(),
        r#"400 invalid_input: description is given more than once: give it once {"field":"description"}"#
    );
    let broken = post_raw(&api, json, &b"{\"description\":\"\xff\"}"[..]).await;
    assert!(
        broken.error().starts_with("400 malformed_request: The body is not JSON: invalid unicode"),
        "{}",
        broken.text
    );
    assert_eq!(post_raw(&api, json, r#" {"description":"x"} "#).await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn a_body_of_another_type_is_refused_with_415_and_a_large_one_with_413() {
    let api = Api::new();
    for content_type in [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("application/jsonp")]
    {
        let answer = post_raw(&api, content_type, r#"{"description":"x"}"#).await;
        assert_eq!(answer.error(), "415 unsupported_media_type: Content-Type must be application/json {}");
    }
    let large = post_raw(&api, Some("application/json"), "x".repeat(200_001)).await;
    let expected = "413 body_too_large: The body is larger than 200000 bytes: send less at once {\"bytes_max\":200000}";
    assert_eq!(large.error(), expected);
}

#[tokio::test]
async fn a_query_that_is_wrong_is_refused_by_name() {
    let api = Api::new();
    for (query, expected) in [
        ("limit=0", "limit must be at least 1 {\"field\":\"limit\"}"),
        ("limit=many", "limit must be a whole number, 0 or more {\"field\":\"limit\"}"),
        ("limit=", "limit must be a whole number, 0 or more {\"field\":\"limit\"}"),
        ("offset=-1", "offset must be a whole number, 0 or more {\"field\":\"offset\"}"),
        ("offset=99999999999", "offset is too large {\"field\":\"offset\"}"),
        ("limit=1&limit=2", "limit is given more than once: give it once {\"field\":\"limit\"}"),
        ("size=1", "size is not known here: use only project_path, offset, limit {\"field\":\"size\"}"),
    ] {
        let answer = api.get(&format!("/api/v1/sessions?{query}")).await;
        assert_eq!(answer.error(), format!("400 invalid_input: {expected}"), "{query}");
    }
    let odd = api.get("/api/v1/results/res_1?lines=5-4").await;
    assert!(odd.error().starts_with("400 invalid_input: lines must be lines counted from 1"), "{}", odd.text);
    let session = api.get("/api/v1/archive?session_id=a%20b").await;
    assert!(session.error().starts_with("400 invalid_input: session_id must be 1 to 128"), "{}", session.text);
    let session = api.get("/api/v1/sessions/a%20b").await;
    assert!(session.error().starts_with("400 invalid_input: session_id must be 1 to 128"), "{}", session.text);
    let path = api.get("/api/v1/sessions/%ff").await;
    assert!(path.error().starts_with("400 invalid_input: The path must be UTF-8"), "{}", path.text);
}

#[tokio::test]
async fn nobody_gets_in_without_a_principal_but_to_ask_for_health() {
    let api = Api::new();
    for (path, methods) in infold_control::routes() {
        for method in methods {
            let answer = api.send(None, bare(method, &path.replace(['{', '}'], ""))).await;
            if ["/healthz", "/readyz"].contains(&path) {
                assert_eq!(answer.status, StatusCode::OK, "{method} {path}");
                continue;
            }
            let expected = "401 unauthenticated: No principal came with this request: \
                            reach infold through its own listener {}";
            assert_eq!(answer.error(), expected, "{method} {path}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"infold\""));
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_404_and_what_is_not_taken_405() {
    let api = Api::new();
    let nowhere = api.get("/api/v1/nothing").await;
    let expected = "404 path_not_found: There is nothing at /api/v1/nothing: \
                    GET /api/v1/openapi.json says what there is {}";
    assert_eq!(nowhere.error(), expected);
    let put = api.send(local(), request("PUT", "/api/v1/sessions/s", &json!({}))).await;
    let expected = "405 method_not_allowed: /api/v1/sessions/s does not take PUT: use a method that Allow names {}";
    assert_eq!(put.error(), expected);
    assert_eq!(put.header("allow"), Some("GET,HEAD,DELETE"));

    let branch = format!("/api/v1/branches/br_{}", "0".repeat(200));
    let absent = api.get(&branch).await.error();
    assert!(absent.starts_with("404 branch_not_found: Branch not found: br_0000") && absent.len() < 250, "{absent}");
    let result = api.get("/api/v1/results/res_1").await.error();
    assert_eq!(result, r#"404 result_not_found: Result not found: res_1 {"ref_id":"res_1"}"#);
    let fold = api.fold("br_1", "x").await.error();
    assert_eq!(fold, r#"404 branch_not_found: Branch not found: br_1 {"branch_id":"br_1"}"#);
}

#[tokio::test]
async fn what_the_session_does_not_allow_is_409() {
    let api = Api::new();
    let branch = api.open("look").await;
    api.fold(&branch, "done").await;
    let again = api.fold(&branch, "again").await.json();
    assert_eq!(again["error"]["code"], "branch_not_active");
    assert_eq!(again["error"]["data"], json!({ "branch_id": branch, "current_status": "completed", "result": "done" }));
    let under = posted(&api, json!({ "description": "x", "parent_branch_id": branch })).await;
    assert!(under.starts_with("409 parent_not_active: "), "{under}");
}

#[tokio::test]
async fn a_limit_is_429_and_says_when_to_try_again_if_that_is_known() {
    let api = Api::with(|setup| {
        setup.engine.limits.openings_per_minute_max = 2;
        setup.engine.limits.open_per_instance_max = 2;
    });
    api.open("one").await;
    api.pass_ms(1_500);
    api.open("two").await;
    let fast = api.post(BRANCHES, json!({ "description": "three" })).await;
    let expected = "429 rate_limit_exceeded: More than 2 branches a minute in this session: try again in 59 s \
                    {\"max_branches_per_minute\":2,\"retry_after_ms\":58500}";
    assert_eq!(fast.error(), expected);
    assert_eq!(fast.header("retry-after"), Some("59"));
    let full = api.post("/api/v1/sessions/t/branches", json!({ "description": "x" })).await;
    assert!(full.error().starts_with("429 instance_limit_exceeded: "), "{}", full.text);
    assert_eq!(full.header("retry-after"), None);
    let deep = Api::with(|setup| setup.engine.limits.depth_max = 1);
    deep.open("one").await;
    assert!(posted(&deep, json!({ "description": "two" })).await.starts_with("400 max_depth_exceeded: "));
}
