//! How lists are cut into pages.

use super::{LIMIT_MAX, Page};

#[test]
fn a_page_says_where_to_go_on_only_if_there_is_more() {
    let page = Page { offset: 4, limit: 2 };
    assert_eq!(page.fetch(), 3);
    assert_eq!(page.cut(vec![1, 2, 3]), (vec![1, 2], Some(6)));
    assert_eq!(page.cut(vec![1, 2]), (vec![1, 2], None));
    assert_eq!(page.cut(Vec::<u8>::new()), (vec![], None));
}

#[test]
fn a_limit_of_nothing_is_refused_and_a_large_one_is_capped() {
    assert!(Page::new(None, Some(0)).is_err());
    let page = Page::new(Some(3), Some(u32::MAX)).ok();
    assert_eq!(page, Some(Page { offset: 3, limit: LIMIT_MAX as usize }));
}
