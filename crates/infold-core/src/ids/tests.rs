//! Ids are recognised only by the key that made them.

use super::*;

fn key(byte: u8) -> IdKey {
    IdKey::derive(&[byte; 32])
}

#[test]
fn a_branch_id_is_verified_by_its_own_key_only() {
    let id = BranchId::mint([7, 1, 2, 3, 4, 5, 6, 255], &key(1));
    assert_eq!(BranchId::verify(id.as_str(), &key(1)), Some(id.clone()));
    assert_eq!(BranchId::verify(id.as_str(), &key(2)), None);
}

#[test]
fn a_branch_id_with_any_character_changed_is_not_ours() {
    let id = BranchId::mint([9; 8], &key(1));
    for at in 3..id.as_str().len() {
        let mut forged = id.as_str().as_bytes().to_vec();
        forged[at] = if forged[at] == b'a' { b'b' } else { b'a' };
        let forged = String::from_utf8(forged).unwrap();
        assert_eq!(BranchId::verify(&forged, &key(1)), None, "{forged}");
    }
}

#[test]
fn text_that_is_no_id_is_refused_without_a_panic() {
    for text in ["", "br_", "br_é", "main", "br_00000000-0000-0000-0000-00000000000", "res_x"] {
        assert_eq!(BranchId::verify(text, &key(1)), None);
        assert_eq!(BlobId::parse(text), None);
    }
}

#[test]
fn session_names_are_held_to_their_alphabet_and_length() {
    assert!(SessionId::parse("a.b_c:d-9").is_ok());
    assert!(SessionId::parse(&"x".repeat(128)).is_ok());
    for bad in ["", "a b", "a/b", "é", "a\n", &"x".repeat(129)] {
        assert_eq!(SessionId::parse(bad), Err(BadSessionId));
    }
}
