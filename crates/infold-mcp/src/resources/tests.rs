//! What addresses ask for, and which ask for nothing.

use infold_engine::NotesWanted;
use rmcp::model::ErrorCode;

use super::Address;

#[test]
fn an_address_names_the_surest_memories_those_about_something_or_one() {
    let parsed = |uri| Address::parse(uri).unwrap();
    assert_eq!(parsed("infold://memories"), Address { wanted: NotesWanted::Surest, project: None });
    assert_eq!(parsed("infold://memories/"), parsed("infold://memories"));
    let about = NotesWanted::About("snapshot tests of a&b".to_owned());
    let project = Some("/home/me/a project".to_owned());
    assert_eq!(
        parsed("infold://memories?query=snapshot%20tests+of%20a%26b&project=%2Fhome%2Fme%2Fa%20project"),
        Address { wanted: about, project }
    );
    let named = NotesWanted::Named("mem_0123456789".to_owned());
    assert_eq!(parsed("infold://memories/mem_0123456789"), Address { wanted: named, project: None });
}

#[test]
fn an_address_of_nothing_is_not_found_and_one_with_a_mistake_says_which() {
    for uri in ["", "infold://", "infold://memory", "infold:memories", "memories", "test://memories", "http://memories"]
    {
        assert_eq!(Address::parse(uri).unwrap_err().code, ErrorCode::RESOURCE_NOT_FOUND, "{uri}");
    }
    for (uri, problem) in [
        ("infold://memories?name=x", "name"),
        ("infold://memories?query=a&query=b", "query is there twice"),
        ("infold://memories/mem_0123456789?query=a", "not for one memory"),
    ] {
        let refused = Address::parse(uri).unwrap_err();
        assert_eq!(refused.code, ErrorCode::INVALID_PARAMS, "{uri}");
        assert!(refused.message.contains(problem), "{uri}: {}", refused.message);
    }
}
