//! One route of the table: its handler, who may call it, and what goes in and out. Both the router and the
//! OpenAPI description are made from it.

use axum::handler::Handler;
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::control::Control;

/// The HTTP method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Verb {
    /// The method as it is written in a request.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Callers to whom the door has given a principal.
    Principal,
    /// Anybody, for health checks: a monitor need not be infold's user.
    Anyone,
}

/// Which of the two bounds on a body applies to a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyBound {
    /// `ControlSettings::body_bytes_max`.
    Common,
    /// `ControlSettings::transcript_bytes_max`.
    Transcript,
}

/// A function that makes the JSON schema of a type.
pub(crate) type BodyShape = fn(&mut SchemaGenerator) -> Schema;

/// What a route answers on success.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// A JSON object with this status and schema.
    Json(u16, BodyShape),
    /// A stream of events, whose data is a JSON object.
    Events(BodyShape),
    /// Plain text with this media type.
    Text(&'static str),
    /// The OpenAPI description, which has no schema of its own.
    Description,
}

/// A request header that a route reads, for the description.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
}

/// One entry of the table of routes.
pub(crate) struct Route {
    pub(crate) verb: Verb,
    pub(crate) path: &'static str,
    /// The `operationId`, from which generated clients take their function names.
    pub(crate) id: &'static str,
    /// What the route does, in a sentence, for the description.
    pub(crate) summary: &'static str,
    pub(crate) access: Access,
    pub(crate) handler: MethodRouter<Control>,
    pub(crate) query: Option<BodyShape>,
    pub(crate) body: Option<BodyShape>,
    pub(crate) bound: BodyBound,
    pub(crate) headers: Vec<Header>,
    pub(crate) answer: Answer,
    /// Statuses of this route's refusals, without those that every route can have.
    pub(crate) refusals: &'static [u16],
}

impl Route {
    pub(crate) fn get<H: Handler<T, Control>, T: 'static>(path: &'static str, id: &'static str, handler: H) -> Self {
        Self::new(Verb::Get, path, id, get(handler))
    }

    pub(crate) fn post<H: Handler<T, Control>, T: 'static>(path: &'static str, id: &'static str, handler: H) -> Self {
        Self::new(Verb::Post, path, id, post(handler))
    }

    pub(crate) fn put<H: Handler<T, Control>, T: 'static>(path: &'static str, id: &'static str, handler: H) -> Self {
        Self::new(Verb::Put, path, id, put(handler))
    }

    pub(crate) fn patch<H: Handler<T, Control>, T: 'static>(path: &'static str, id: &'static str, handler: H) -> Self {
        Self::new(Verb::Patch, path, id, patch(handler))
    }

    pub(crate) fn delete<H: Handler<T, Control>, T: 'static>(path: &'static str, id: &'static str, handler: H) -> Self {
        Self::new(Verb::Delete, path, id, delete(handler))
    }

    fn new(verb: Verb, path: &'static str, id: &'static str, handler: MethodRouter<Control>) -> Self {
        Self {
            verb,
            path,
            id,
            summary: "",
            access: Access::Principal,
            handler,
            query: None,
            body: None,
            bound: BodyBound::Common,
            headers: Vec::new(),
            answer: Answer::Description,
            refusals: &[],
        }
    }

    /// Sets the sentence that describes the route.
    pub(crate) fn does(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    /// Lets callers without a principal in.
    pub(crate) fn open_to_anyone(self) -> Self {
        Self { access: Access::Anyone, ..self }
    }

    /// Declares the query parameters as the fields of `T`.
    pub(crate) fn query<T: JsonSchema>(self) -> Self {
        Self { query: Some(T::json_schema), ..self }
    }

    /// Declares the JSON body.
    pub(crate) fn body<T: JsonSchema>(self) -> Self {
        Self { body: Some(SchemaGenerator::subschema_for::<T>), ..self }
    }

    /// Allows the body to be as long as a transcript.
    pub(crate) fn with_transcript(self) -> Self {
        Self { bound: BodyBound::Transcript, ..self }
    }

    /// Declares a request header that the route reads.
    pub(crate) fn header(mut self, name: &'static str, description: &'static str) -> Self {
        self.headers.push(Header { name, description });
        self
    }

    /// Declares the status and JSON object of a success.
    pub(crate) fn answers<T: JsonSchema>(self, status: u16) -> Self {
        Self { answer: Answer::Json(status, SchemaGenerator::subschema_for::<T>), ..self }
    }

    /// Declares that a success is a stream of events of type `T`.
    pub(crate) fn streams<T: JsonSchema>(self) -> Self {
        Self { answer: Answer::Events(SchemaGenerator::subschema_for::<T>), ..self }
    }

    /// Declares that a success is plain text with this media type.
    pub(crate) fn answers_text(self, content_type: &'static str) -> Self {
        Self { answer: Answer::Text(content_type), ..self }
    }

    /// Declares the statuses of the route's own refusals.
    pub(crate) fn refuses(self, refusals: &'static [u16]) -> Self {
        Self { refusals, ..self }
    }

    /// The placeholders in the route's path, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}
