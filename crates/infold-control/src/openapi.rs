//! Writes the OpenAPI 3.1 description from the same table as the router, so that the two cannot disagree.
//! Doc comments of the shapes become the descriptions of their fields.

use std::collections::BTreeSet;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::error::ErrorBody;
use crate::route::{Access, Answer, Header, Route};

const ABOUT: &str = "infold keeps an AI coding agent's context small, whole and visible. Programs of the \
    user who runs it are let in as they are; others send a token. Every error has one shape.";

/// Describes every route of a table, with all schemas that they use.
pub(crate) fn document(table: &[Route]) -> Value {
    let mut incoming = generator(SchemaSettings::draft2020_12().for_deserialize());
    let mut outgoing = generator(SchemaSettings::draft2020_12().for_serialize());
    let error = outgoing.subschema_for::<ErrorBody>();

    let mut paths = Map::new();
    for route in table {
        let operation = operation(route, &mut incoming, &mut outgoing);
        let at_path = paths.entry(route.path).or_insert_with(|| json!({}));
        at_path[route.verb.as_str().to_ascii_lowercase()] = operation;
    }

    let mut schemas = incoming.take_definitions(true);
    schemas.extend(outgoing.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": { "title": "infold", "version": env!("CARGO_PKG_VERSION"), "description": ABOUT },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": { "Error": {
                "description": "The request was refused, or failed.",
                "content": { "application/json": { "schema": error } },
            } },
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer" },
                "token": { "type": "apiKey", "in": "header", "name": "X-Infold-Token" },
            },
        },
    })
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    settings
        .with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        })
        .into_generator()
}

fn operation(route: &Route, incoming: &mut SchemaGenerator, outgoing: &mut SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = route.names().map(path_parameter).collect();
    if let Some(query) = route.query {
        parameters.extend(query_parameters(query(incoming).as_value()));
    }
    parameters.extend(route.headers.iter().map(header_parameter));

    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "parameters": parameters,
        "responses": responses(route, outgoing),
        "security": match route.access {
            // The empty object means "no credential": a program of the same user needs no token.
            Access::Principal => json!([{}, { "bearer": [] }, { "token": [] }]),
            Access::Anyone => json!([]),
        },
    });
    if let Some(body) = route.body {
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": body(incoming) } } });
    }
    operation
}

fn path_parameter(name: &str) -> Value {
    let description = match name {
        "session" => "The session's name: 1 to 128 characters, each one of A-Z a-z 0-9 . _ : -",
        "branch" => "The branch's id, br_ and a uuid.",
        "request" => "The request's id, a number.",
        "ref_id" => "The result's handle, res_ and a uuid.",
        "server" => "The server's name in the settings.",
        "memory" => "The memory's name, mem_ and ten letters and digits.",
        _ => "",
    };
    json!({ "name": name, "in": "path", "required": true, "description": description, "schema": { "type": "string" } })
}

/// The parameters of a query, from the schema of the object that they are read into.
fn query_parameters(schema: &Value) -> Vec<Value> {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|required| required.iter().any(|one| one == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, property)| {
            let mut property = property.clone();
            let description = property.as_object_mut().and_then(|property| property.shift_remove("description"));
            // An optional parameter is absent and never null: a query has no way to write null.
            if let Some(kind) = property["type"].as_array().and_then(|kinds| kinds.first()).cloned() {
                property["type"] = kind;
            }
            json!({
                "name": name,
                "in": "query",
                "required": is_required(name),
                "description": description,
                "schema": property,
            })
        })
        .collect()
}

fn header_parameter(header: &Header) -> Value {
    json!({
        "name": header.name,
        "in": "header",
        "required": false,
        "description": header.description,
        "schema": { "type": "string" },
    })
}

fn responses(route: &Route, outgoing: &mut SchemaGenerator) -> Value {
    let (status, content_type, schema) = match route.answer {
        Answer::Json(status, shape) => (status, "application/json", json!(shape(outgoing))),
        // OpenAPI has no schema for a stream, so this is the schema of each event's data.
        Answer::Events(shape) => (200, "text/event-stream", json!(shape(outgoing))),
        Answer::Text(content_type) => (200, content_type, json!({ "type": "string" })),
        Answer::Description => (200, "application/json", json!({ "type": "object" })),
    };
    let mut responses = Map::new();
    let content = json!({ content_type: { "schema": schema } });
    responses.insert(status.to_string(), json!({ "description": route.summary, "content": content }));
    for status in refusals(route).iter().map(u16::to_string).chain(["5XX".to_owned()]) {
        responses.insert(status, json!({ "$ref": "#/components/responses/Error" }));
    }
    Value::Object(responses)
}

/// All statuses with which a route can refuse: those of every route, and its own.
fn refusals(route: &Route) -> BTreeSet<u16> {
    // Wrong Host or Origin is refused at the door, whatever the route.
    let mut refusals = BTreeSet::from([403]);
    refusals.extend(route.refusals);
    if route.access == Access::Principal {
        refusals.insert(401);
    }
    if route.body.is_some() {
        refusals.extend([400, 413, 415]);
    }
    if !route.headers.is_empty() {
        refusals.insert(400);
    }
    refusals
}
