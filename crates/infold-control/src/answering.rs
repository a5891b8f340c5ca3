//! Makes the router from the table of routes: the check for a principal, the answers for paths and
//! methods that are not in the table, and the headers that every answer carries.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::{Next, from_fn, map_response};
use axum::response::Response;
use axum::routing::MethodRouter;
use http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, StatusCode, Uri};
use infold_core::Principal;
use infold_engine::Engine;

use crate::control::{Control, ControlSettings};
use crate::error::{ApiError, shown};
use crate::openapi;
use crate::route::{Access, BodyBound, Route};

/// Turns the table of routes into a router whose handlers share one [`Control`].
pub(crate) fn router(table: Vec<Route>, engine: Engine, settings: ControlSettings) -> Router {
    let description = Bytes::from(openapi::document(&table).to_string());
    let body_limit = DefaultBodyLimit::max(settings.body_bytes_max);
    let transcript_limit = DefaultBodyLimit::max(settings.transcript_bytes_max);
    let control = Control::new(engine, settings, description);

    let mut paths: BTreeMap<&'static str, MethodRouter<Control>> = BTreeMap::new();
    for route in table {
        let handler = match route.access {
            Access::Principal => route.handler.route_layer(from_fn(demand_principal)),
            Access::Anyone => route.handler,
        };
        // Of several body limits, axum applies the one closest to the handler.
        let handler = match route.bound {
            BodyBound::Common => handler,
            BodyBound::Transcript => handler.layer(transcript_limit),
        };
        let at_path = paths.remove(route.path).unwrap_or_default();
        paths.insert(route.path, at_path.merge(handler));
    }
    let mut router = Router::new();
    for (path, methods) in paths {
        // axum adds the `Allow` header with the methods of the path.
        router = router.route(path, methods.fallback(method_not_allowed));
    }
    router.fallback(path_not_found).layer(body_limit).layer(map_response(with_common_headers)).with_state(control)
}

/// Refuses a request that the door has not given a principal.
async fn demand_principal(request: Request, next: Next) -> Result<Response, ApiError> {
    if request.extensions().get::<Principal>().is_none() {
        return Err(ApiError::unauthenticated());
    }
    Ok(next.run(request).await)
}

async fn method_not_allowed(method: Method, uri: Uri) -> ApiError {
    let message =
        format!("{} does not take {}: use a method that Allow names", shown(uri.path()), shown(method.as_str()));
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
}

async fn path_not_found(uri: Uri) -> ApiError {
    let message = format!("There is nothing at {}: GET /api/v1/openapi.json says what there is", shown(uri.path()));
    ApiError::new(StatusCode::NOT_FOUND, "path_not_found", message)
}

/// Adds the headers of every answer. Answers are private to the caller: no cache may store them, and no browser may
/// guess their type.
async fn with_common_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
