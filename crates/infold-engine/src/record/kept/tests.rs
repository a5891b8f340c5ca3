//! The bound, and what is forgotten first.

use super::BoundedMap;

#[test]
fn what_was_used_lately_stays_and_the_bound_holds() {
    let mut kept = BoundedMap::new(8);
    kept.insert(0, "used");
    for key in 1..1_000 {
        kept.insert(key, "passing");
        assert_eq!(kept.get(&0), Some(&"used"), "after {key}");
        assert!(kept.young.len() + kept.old.len() <= 8);
    }
    assert_eq!(kept.get(&1), None);
    assert_eq!(kept.get(&999), Some(&"passing"));
}

#[test]
fn a_value_is_replaced_and_not_doubled() {
    let mut kept = BoundedMap::new(4);
    for key in [1, 2, 3, 1, 1] {
        kept.insert(key, key * 10);
    }
    kept.insert(1, 11);
    assert_eq!(kept.get(&1), Some(&11));
    assert_eq!(kept.young.len() + kept.old.len(), 3);
}
