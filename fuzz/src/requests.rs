//! Requests: what no edit names keeps its bytes.

use infold_core::view::ViewPiece;
use infold_wire::identify;
use infold_wire::request::{Api, Request};

const APIS: [Api; 3] = [Api::Messages, Api::Responses, Api::Chat];

/// The first byte is the API, the rest a body.
pub(crate) fn check(input: &[u8]) {
    let Some((api, body)) = input.split_first() else { return };
    let api = APIS[usize::from(*api) % APIS.len()];
    let Ok(request) = Request::read(api, body) else { return };
    let all: Vec<ViewPiece> = (0..request.blocks().len()).map(ViewPiece::Keep).collect();
    assert!(request.apply(&all) == body, "a request that nobody edited has changed");

    // What is looked at on the way must be there whatever the body is.
    for block in 0..request.blocks().len() {
        let _ = (request.words(block), request.arguments(block), request.printed(block), request.is_all_text(block));
        let _ = (request.content_of_text(block, "text"), request.asks_for_compaction(block));
    }
    let _ = (request.model(), request.stream(), request.digests(), request.kind_hint(), request.beginning());
    let _ = (request.system().count(), request.shown_tools(), request.tools_in_reach(), identify(api, &[], &request));

    let without = request.without_reasoning();
    let again = Request::read(api, &without).expect("a request is readable without its reasoning");
    assert!(again.blocks().len() <= request.blocks().len(), "leaving reasoning out adds nothing");
}
