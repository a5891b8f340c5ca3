//! What a client would send, and what is made of what a provider got.

use infold_core::transcript::{CallOutcome, HeldContent, Item, Kind, Voice};
use infold_replay::SentItem;

use super::client::{Conversation, PlayedApi};
use super::received::Reader;

fn item(kind: Kind) -> Item {
    Item { place: Default::default(), message: 0, kind }
}

fn session() -> [Item; 6] {
    let call =
        |id: &str| Kind::Call { id: id.to_owned(), tool: "Read".to_owned(), input: "{\"path\":\"a.rs\"}".to_owned() };
    let result = |id: &str, text: &str| Kind::Result {
        id: id.to_owned(),
        tool: String::new(),
        text: text.to_owned(),
        outcome: CallOutcome::Unsaid,
        held: HeldContent::Whole,
    };
    [
        item(Kind::User { text: "mend a.rs".to_owned(), voice: Voice::Person }),
        item(Kind::Reasoning { text: "I look".to_owned(), sealed_bytes: 9 }),
        item(call("1")),
        item(result("1", "[Tool result stored — 9 bytes from \"Read\".\n…]\nref_id=\"res_7\" to read")),
        item(call("2")),
        item(Kind::User { text: "and b.rs".to_owned(), voice: Voice::Person }),
    ]
}

fn bodies(api: PlayedApi) -> [Vec<u8>; 2] {
    let items = session();
    let mut conversation = Conversation::new(api, "one", "a-model");
    conversation.add(&[&items[0]]);
    let first = conversation.body();
    conversation.add(&items[1..].iter().collect::<Vec<_>>());
    [first, conversation.body()]
}

#[test]
fn what_a_client_sends_is_read_back_in_order_with_a_result_for_every_call() {
    for api in [PlayedApi::Messages, PlayedApi::Responses] {
        let mut reader = Reader::new(api);
        let received = bodies(api).map(|body| reader.read(&body).unwrap());
        let items: Vec<SentItem<'_>> = received[1].entries.iter().flat_map(|entry| entry.items()).collect();
        let call = SentItem::Call { tool: "Read", arguments: "{\"path\":\"a.rs\"}" };
        assert_eq!(items[..4], [SentItem::Words("mend a.rs"), SentItem::Words("I look"), call, call], "{api:?}");
        assert_eq!(items[5..], [SentItem::Words("[no result]"), SentItem::Words("and b.rs")]);
        let references = received[1].entries.iter().flat_map(|entry| &entry.references);
        let references: Vec<(&str, &str)> = references.map(|one| (one.call.as_str(), one.handle.as_str())).collect();
        assert_eq!(references, [("1", "res_7")]);
    }
}

#[test]
fn reasoning_is_invalid_behind_anything_else_than_it_was_made_on() {
    for api in [PlayedApi::Messages, PlayedApi::Responses] {
        let [first, second] = bodies(api);
        let invalid = |bodies: [&[u8]; 2]| {
            let mut reader = Reader::new(api);
            bodies.map(|body| reader.read(body).unwrap().invalid_reasoning)
        };
        assert_eq!(invalid([&first, &second]), [0, 0]);
        let changed = String::from_utf8(second).unwrap().replace("mend a.rs", "mend c.rs");
        assert_eq!(invalid([&first, changed.as_bytes()]), [0, 1], "{api:?}");
    }
}
