//! What is taken out of a text, and what stays.

use super::Names;

const ONE: &str = "0a1b2c3d-0000-4000-8000-00000000000a";
const OTHER: &str = "0a1b2c3d-0000-4000-8000-00000000000b";

fn normal(names: &mut Names, text: &str) -> String {
    String::from_utf8(names.normal(text.as_bytes())).unwrap()
}

#[test]
fn ids_become_numbers_in_the_order_of_their_first_appearance() {
    let mut names = Names::default();
    let text = format!("br_{ONE} then res_{OTHER}, and again br_{ONE}");
    assert_eq!(normal(&mut names, &text), "br_<id 1> then res_<id 2>, and again br_<id 1>");
    assert_eq!(normal(&mut names, OTHER), "<id 2>", "it is known in the next text");
}

#[test]
fn what_was_given_stays() {
    let mut names = Names::default();
    names.leave(format!("{ONE} at 2026-01-02T03:04:05.678Z").as_bytes());
    let text = format!("{ONE} {OTHER} 2026-01-02T03:04:05.678Z 2026-01-02T03:04:06Z");
    assert_eq!(normal(&mut names, &text), format!("{ONE} <id 1> 2026-01-02T03:04:05.678Z <time>"));
}

#[test]
fn digests_addresses_and_folders_are_taken_out_and_words_that_are_like_them_are_not() {
    let mut names = Names::in_folders(&["/tmp/x", "/tmp/x/data"]);
    let digest = "0123456789abcdef01234567";
    let text = format!("toolu_{digest} {digest}8 x{digest} http://127.0.0.1:4711/mcp /tmp/x/data/a /tmp/x/b");
    let wanted = format!("toolu_<digest 1> {digest}8 x{digest} http://<address>/mcp <folder>/a <folder>/b");
    assert_eq!(normal(&mut names, &text), wanted);
}

#[test]
fn a_name_may_begin_behind_an_escape() {
    let text = format!("as told\\nbr_{ONE}");
    assert_eq!(normal(&mut Names::default(), &text), "as told\\nbr_<id 1>");
}

#[test]
fn figures_stay() {
    let text = "1,234 tokens, 12.5 %, 2026-01-02, 127.0.0.1, res_1, abc-def, 3f";
    assert_eq!(normal(&mut Names::default(), text), text);
}
