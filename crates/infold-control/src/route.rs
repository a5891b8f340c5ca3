//! One route: what answers it, who may ask, and what goes in and out. The router is made from this, and
//! so is the OpenAPI description.

use axum::handler::Handler;
use axum::routing::{MethodRouter, delete, get, post};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::control::Control;

/// A method that a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    Get,
    Post,
    Delete,
}

impl Verb {
    /// The method as it stands in a request.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// Who may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Whoever the door has put a name to.
    Principal,
    /// Anybody: whoever watches over infold need not be its user.
    Anyone,
}

/// How long a body may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyBound {
    /// As long as any.
    Common,
    /// As long as a transcript.
    Transcript,
}

/// Makes the schema of a type.
pub(crate) type BodyShape = fn(&mut SchemaGenerator) -> Schema;

/// What a route answers if all goes well.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// A JSON object.
    Json(u16, BodyShape),
    /// A stream of events, whose data is a JSON object.
    Events(BodyShape),
    /// Text of this type.
    Text(&'static str),
    /// A JSON object that describes itself.
    Description,
}

/// A header that a route looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
}

/// One route.
pub(crate) struct Route {
    pub(crate) verb: Verb,
    pub(crate) path: &'static str,
    /// Its name, for programs that are made from the description.
    pub(crate) id: &'static str,
    /// What it does, in a sentence.
    pub(crate) summary: &'static str,
    pub(crate) access: Access,
    pub(crate) handler: MethodRouter<Control>,
    pub(crate) query: Option<BodyShape>,
    pub(crate) body: Option<BodyShape>,
    pub(crate) bound: BodyBound,
    pub(crate) headers: Vec<Header>,
    pub(crate) answer: Answer,
    /// Statuses of refusals beside those that every route has.
    pub(crate) refusals: &'static [u16],
}

impl Route {
    pub(crate) fn get<H: Handler<T, Control>, T: 'static>(path: &'static str, id: &'static str, handler: H) -> Self {
        Self::new(Verb::Get, path, id, get(handler))
    }

    pub(crate) fn post<H: Handler<T, Control>, T: 'static>(path: &'static str, id: &'static str, handler: H) -> Self {
        Self::new(Verb::Post, path, id, post(handler))
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

    /// Says what it does.
    pub(crate) fn does(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    /// Anybody may ask.
    pub(crate) fn open_to_anyone(self) -> Self {
        Self { access: Access::Anyone, ..self }
    }

    /// Takes these parameters in the query.
    pub(crate) fn query<T: JsonSchema>(self) -> Self {
        Self { query: Some(T::json_schema), ..self }
    }

    /// Takes this object in the body.
    pub(crate) fn body<T: JsonSchema>(self) -> Self {
        Self { body: Some(SchemaGenerator::subschema_for::<T>), ..self }
    }

    /// Takes a body that is as long as transcripts are.
    pub(crate) fn with_transcript(self) -> Self {
        Self { bound: BodyBound::Transcript, ..self }
    }

    /// Looks at this header.
    pub(crate) fn header(mut self, name: &'static str, description: &'static str) -> Self {
        self.headers.push(Header { name, description });
        self
    }

    /// Answers with this status and object.
    pub(crate) fn answers<T: JsonSchema>(self, status: u16) -> Self {
        Self { answer: Answer::Json(status, SchemaGenerator::subschema_for::<T>), ..self }
    }

    /// Answers with a stream of these.
    pub(crate) fn streams<T: JsonSchema>(self) -> Self {
        Self { answer: Answer::Events(SchemaGenerator::subschema_for::<T>), ..self }
    }

    /// Answers with text of this type.
    pub(crate) fn answers_text(self, content_type: &'static str) -> Self {
        Self { answer: Answer::Text(content_type), ..self }
    }

    /// Can refuse with these statuses.
    pub(crate) fn refuses(self, refusals: &'static [u16]) -> Self {
        Self { refusals, ..self }
    }

    /// The names in its path, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}
