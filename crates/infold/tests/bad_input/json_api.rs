//! Every field, parameter and name of every route of the JSON API, from its OpenAPI description.

use anyhow::{Context, Result};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::cases::{Bad, wrong_types};
use super::scene::{Things, World};
use crate::support::ApiAnswer;

/// A method of a route, from its description.
struct Operation {
    method: Method,
    path: String,
    /// The schema of its body, if it takes one.
    body: Option<Value>,
    /// Names and schemas of its query's parameters.
    query: Vec<(String, Value)>,
}

/// All operations of the description.
fn operations(description: &Value) -> Result<Vec<Operation>> {
    let mut operations = Vec::new();
    for (path, methods) in description["paths"].as_object().context("paths")? {
        for (method, operation) in methods.as_object().context("methods")? {
            let body = &operation["requestBody"]["content"]["application/json"]["schema"];
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let in_query = parameters.into_iter().filter(|parameter| parameter["in"] == "query");
            operations.push(Operation {
                method: method.to_uppercase().parse()?,
                path: path.clone(),
                body: body.is_object().then(|| resolved(description, body)),
                query: in_query
                    .map(|it| (it["name"].as_str().unwrap_or_default().to_owned(), it["schema"].clone()))
                    .collect(),
            });
        }
    }
    Ok(operations)
}

/// A schema, or the one that it refers to.
fn resolved(description: &Value, schema: &Value) -> Value {
    let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| description.pointer(pointer)).unwrap_or(schema).clone()
}

fn filled(path: &str, things: &Things) -> String {
    // No request was made, so any name of one will do.
    let path = path.replace("{request}", &things.ref_id);
    let path = path.replace("{session}", &things.session).replace("{branch}", &things.branch);
    path.replace("{ref_id}", &things.ref_id).replace("{memory}", &things.memory)
}

fn enough(schema: &Value, things: &Things) -> Result<Map<String, Value>> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    required.iter().filter_map(Value::as_str).map(|name| Ok((name.to_owned(), things.good(name)?))).collect()
}

async fn send(world: &World, operation: &Operation, path: &str, body: Option<Value>) -> Result<ApiAnswer> {
    let request = world.program.api.request(operation.method.clone(), path);
    ApiAnswer::read(match body {
        Some(body) => request.json(&body),
        None => request,
    })
    .await
}

#[tokio::test]
async fn every_bad_field_of_every_route_is_a_clear_400() -> Result<()> {
    let world = World::new().await?;
    let things = world.things("/projects/fields").await?;
    let description = world.program.api.get("/api/v1/openapi.json").await?.with_status(200)?;
    let before = world.stored()?;
    let mut tried = 0;
    for operation in operations(&description)? {
        let Some(schema) = &operation.body else { continue };
        let enough = enough(schema, &things)?;
        let mut cases: Vec<(String, Map<String, Value>)> = Vec::new();
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            let with = |value: Value| {
                let mut body = enough.clone();
                body.insert(field.clone(), value);
                body
            };
            cases.extend(wrong_types(schema).into_iter().map(|Bad { value, .. }| (field.clone(), with(value))));
            if enough.contains_key(field) {
                let mut without = enough.clone();
                without.remove(field);
                cases.push((field.clone(), without));
                cases.push((field.clone(), with(Value::Null)));
            }
        }
        let mut unknown = enough.clone();
        unknown.insert("extra".to_owned(), json!(1));
        cases.push(("extra".to_owned(), unknown));

        let path = filled(&operation.path, &things);
        for (field, body) in cases {
            tried += 1;
            let answer = send(&world, &operation, &path, Some(Value::Object(body.clone()))).await?;
            let refused = answer.refused().with_context(|| format!("{path} {body:?}"))?;
            assert_eq!(refused.verdict(), ("invalid_input", 400), "{path} {body:?}: {}", answer.text);
            assert_eq!(refused.unclear(&field), None, "{path} {body:?}");
        }
    }
    assert!(tried > 60, "only {tried} cases were made");
    assert_eq!(world.stored()?, before, "nothing was stored");
    Ok(())
}

#[tokio::test]
async fn every_bad_parameter_of_every_route_is_a_clear_400() -> Result<()> {
    let world = World::new().await?;
    let things = world.things("/projects/parameters").await?;
    let description = world.program.api.get("/api/v1/openapi.json").await?.with_status(200)?;
    let before = world.stored()?;
    for operation in operations(&description)? {
        let path = filled(&operation.path, &things);
        let numbers = operation.query.iter().filter(|(_, schema)| schema["type"].to_string().contains("integer"));
        let mut queries: Vec<(&str, String)> = numbers
            .flat_map(|(name, _)| {
                ["-1", "1.5", "seven", "", "99999999999999999999999"]
                    .map(|value| (name.as_str(), format!("{name}={value}")))
            })
            .collect();
        if !operation.query.is_empty() {
            queries.push(("extra", "extra=1".to_owned()));
        }
        for (name, query) in queries {
            let answer = send(&world, &operation, &format!("{path}?{query}"), None).await?;
            let refused = answer.refused().with_context(|| format!("{path}?{query}"))?;
            assert_eq!((refused.status, refused.unclear(name)), (400, None), "{path}?{query}: {}", answer.text);
        }
    }
    assert_eq!(world.stored()?, before, "nothing was stored");
    Ok(())
}

#[tokio::test]
async fn every_name_that_is_not_the_callers_is_a_clear_400_or_404() -> Result<()> {
    let world = World::new().await?;
    let things = world.things("/projects/names").await?;
    let theirs = &world.theirs;
    let description = world.program.api.get("/api/v1/openapi.json").await?.with_status(200)?;
    let before = world.stored()?;
    for operation in operations(&description)?.into_iter().filter(|operation| operation.path.contains('{')) {
        // A session that is not there is made by these, so a name that is not the caller's is free.
        let makes = ["openBranch", "recordResult"];
        let id = &description["paths"][&operation.path][operation.method.as_str().to_lowercase()]["operationId"];
        let is_free = id.as_str().is_some_and(|id| makes.contains(&id));
        let body = operation.body.as_ref().map(|schema| enough(schema, &things)).transpose()?.map(Value::Object);
        let made_up = Things {
            session: "sess_01234567-89ab-4def-8123-456789abcdef".to_owned(),
            branch: "br_01234567-89ab-8def-8123-456789abcdef".to_owned(),
            ref_id: "res_01234567-89ab-4def-8123-456789abcdef".to_owned(),
            memory: "mem_0123456789".to_owned(),
            ..theirs.clone()
        };
        let long = "x".repeat(5_000);
        let mut paths: Vec<String> =
            if is_free { Vec::new() } else { vec![filled(&operation.path, theirs), filled(&operation.path, &made_up)] };
        for odd in [long.as_str(), "%00", "..%2f..%2fetc%2fpasswd", "a%20b", "%ff%fe", "%E2%80%AE", "a%0Ab"] {
            let odd = Things {
                session: odd.into(),
                branch: odd.into(),
                ref_id: odd.into(),
                memory: odd.into(),
                ..things.clone()
            };
            paths.push(filled(&operation.path, &odd));
        }
        for path in paths {
            let answer = send(&world, &operation, &path, body.clone()).await?;
            let refused = answer.refused().with_context(|| format!("{} {path}", operation.method))?;
            assert!(matches!(refused.status, 400 | 404), "{} {path}: {}", operation.method, answer.text);
            assert_eq!(refused.unclear("not found|session_id|path"), None, "{path}");
        }
    }
    assert_eq!(world.stored()?, before, "nothing was stored");
    Ok(())
}
