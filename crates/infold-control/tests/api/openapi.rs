//! The OpenAPI description names every route, and nothing else.

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::Value;

use crate::client::{Api, bare, local};
use crate::contract::resolve;

/// The description, fetched from a router of its own.
pub fn document() -> Value {
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    let fetch = async {
        let api = Api::new();
        let mut request = bare("GET", "/api/v1/openapi.json");
        request.extensions_mut().insert(infold_core::Principal::local());
        let response = api.router.clone().oneshot(request).await.expect("an answer");
        response.into_body().collect().await.expect("a body").to_bytes()
    };
    let bytes = std::thread::spawn(|| {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(fetch)
    });
    serde_json::from_slice(&bytes.join().expect("fetched")).expect("JSON")
}

/// `GET /path` for every method of every path.
fn described(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().expect("paths");
    let methods = |methods: &Value| methods.as_object().expect("methods").keys().cloned().collect::<Vec<_>>();
    paths
        .iter()
        .flat_map(|(path, of_path)| {
            methods(of_path).into_iter().map(move |method| format!("{} {path}", method.to_ascii_uppercase()))
        })
        .collect()
}

#[test]
fn the_description_names_every_route_and_no_other() {
    let routes: BTreeSet<String> = infold_control::routes()
        .into_iter()
        .flat_map(|(path, methods)| methods.into_iter().map(move |method| format!("{method} {path}")))
        .collect();
    assert_eq!(described(&document()), routes);
    let expected = "DELETE /api/v1/memories/{memory}
DELETE /api/v1/sessions/{session}
GET /api/v1/archive
GET /api/v1/archive/{branch}
GET /api/v1/branches/{branch}
GET /api/v1/branches/{branch}/memories
GET /api/v1/events
GET /api/v1/forks/{session}
GET /api/v1/memories
GET /api/v1/memories/changes
GET /api/v1/memories/export
GET /api/v1/memories/projects
GET /api/v1/memories/{memory}
GET /api/v1/openapi.json
GET /api/v1/requests
GET /api/v1/requests/{request}
GET /api/v1/results/{ref_id}
GET /api/v1/servers
GET /api/v1/servers/{server}
GET /api/v1/sessions
GET /api/v1/sessions/{session}
GET /api/v1/sessions/{session}/branches
GET /api/v1/sessions/{session}/branches/active
GET /api/v1/sessions/{session}/snapshot
GET /api/v1/tools
GET /healthz
GET /metrics
GET /readyz
PATCH /api/v1/memories/{memory}
POST /api/v1/branches
POST /api/v1/branches/{branch}/return
POST /api/v1/forks
POST /api/v1/memories
POST /api/v1/memories/forget
POST /api/v1/memories/import
POST /api/v1/memories/undo
POST /api/v1/memories/{memory}/feedback
POST /api/v1/memories/{memory}/review
POST /api/v1/scrub
POST /api/v1/sessions/{session}/branches
POST /api/v1/sessions/{session}/results
POST /api/v1/sessions/{session}/return
POST /api/v1/sessions/{session}/rollback
POST /api/v1/sessions/{session}/snapshot
PUT /api/v1/memories/silence";
    assert_eq!(routes.into_iter().collect::<Vec<_>>().join("\n"), expected);
}

#[tokio::test]
async fn the_router_answers_what_is_described_and_no_other_method() {
    let api = Api::new();
    for (path, methods) in infold_control::routes() {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            // The events never end; asking for them without a name is enough to see that they are there.
            let who = if path == "/api/v1/events" { None } else { local() };
            let answer = api.send(who, bare(method, &path.replace(['{', '}'], ""))).await;
            let is_taken = answer.status != StatusCode::METHOD_NOT_ALLOWED;
            assert_eq!(is_taken, methods.contains(&method), "{method} {path}: {}", answer.text);
            assert!(!answer.text.contains("path_not_found"), "{method} {path}: {}", answer.text);
        }
    }
}

#[test]
fn every_operation_is_named_once_and_says_what_it_does() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    let mut ids = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{id} is there twice");
            assert!(operation["summary"].as_str().unwrap().ends_with('.'), "{path}");
            for parameter in operation["parameters"].as_array().unwrap() {
                assert!(parameter["description"].as_str().is_some_and(|text| !text.is_empty()), "{path}: {parameter}");
                assert!(parameter["schema"]["type"].is_string(), "{path}: {parameter}");
            }
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(document: &Value, value: &Value) {
        match value {
            Value::Object(fields) => {
                resolve(document, value);
                fields.values().for_each(|field| walk(document, field));
            }
            Value::Array(entries) => entries.iter().for_each(|entry| walk(document, entry)),
            _ => {}
        }
    }
    let document = document();
    walk(&document, &document);
}

#[test]
fn requests_take_no_field_that_is_not_described() {
    let document = document();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let Some(body) = methods["post"].get("requestBody") else { continue };
        let schema = resolve(&document, &body["content"]["application/json"]["schema"]);
        assert_eq!(schema["additionalProperties"], false, "{path}");
        assert!(schema["properties"].as_object().is_some_and(|properties| !properties.is_empty()), "{path}");
    }
}
