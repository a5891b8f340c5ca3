//! Takes a request apart for the recorder: the system prompt, the tools and the conversation, counted.

use infold_core::view::ViewPiece;
use infold_wire::request::Request;

use crate::{Engine, FrontKind, PromptFront, PromptInput, PromptParts};

impl Engine {
    /// Counts what a request is made of, and what of it is sent.
    pub(super) fn parts_of(&self, request: &Request<'_>, pieces: Option<&[ViewPiece]>) -> PromptParts {
        let tools = request.shown_tools();
        let mut front: Vec<PromptFront<'_>> = tools
            .iter()
            .map(|(server, text)| PromptFront { kind: FrontKind::Tool { server: server.as_deref() }, text })
            .collect();
        front.extend(request.system().map(|text| PromptFront { kind: FrontKind::System, text }));
        let words = |at: usize| request.words(at);
        self.parts(&PromptInput { front: &front, blocks: request.blocks(), pieces, words: &words })
    }
}
