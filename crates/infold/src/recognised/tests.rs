//! How ids and folders are shortened.

use infold_core::record::SessionOverview;

use super::*;
use crate::draw::{Charset, Paint};

fn known(ids: &[&str]) -> Vec<ListedSession> {
    let known = |id: &&str| ListedSession {
        id: SessionId::parse(id).unwrap(),
        live: None,
        totals: None,
        overview: SessionOverview::default(),
    };
    ids.iter().map(known).collect()
}

#[test]
fn an_id_is_as_short_as_tells_it_from_all_others() {
    let short = |ids: &[&str]| short_ids(&known(ids)).into_values().collect::<Vec<_>>();
    assert_eq!(short(&["5b2438e4-96a7-43f7-b051-10a055bb0fbe", "my-session"]), ["5b2438e4", "my-session"]);
    assert_eq!(
        short(&["5b2438e4-96a7-43f7-b051-10a055bb0fbe", "5b2438e4-96b8-43f7-b051-10a055bb0fbe"]),
        ["5b2438e4-96a", "5b2438e4-96b"]
    );
    assert_eq!(short(&["sess_5b2438e4-96a7-43f7-b051-10a055bb0fbe"]), ["sess_5b2438e4"]);
}

#[test]
fn a_subagents_session_does_not_lengthen_its_parents() {
    let ids = ["5b2438e4-96a7-43f7-b051-10a055bb0fbe", "5b2438e4-96a7-43f7-b051-10a055bb0fbe:reader"];
    let short = short_ids(&known(&ids));
    assert_eq!(short[&SessionId::parse(ids[0]).unwrap()], "5b2438e4");
    assert_eq!(short[&SessionId::parse(ids[1]).unwrap()], "5b2438e4-96a7-43f7-b051-10a055bb0fbe:");
}

#[test]
fn a_long_folder_is_shown_by_its_end() {
    let style = Style { paint: Paint::Plain, charset: Charset::Utf8, width: 80 };
    let short = |folder: &str| short_folder(folder, Some("/home/dev"), &style);
    assert_eq!(short("/home/dev/project"), "~/project");
    assert_eq!(short("/home/dev"), "~");
    assert_eq!(short("/home/developer"), "/home/developer");
    assert_eq!(short("/srv/build/agents/work/checkout/one"), "…/work/checkout/one");
    assert_eq!(short("/srv/a-name-that-is-longer-than-the-column"), "…/a-name-that-is-longer-than-the-column");
}
