//! The map's bound, and what is forgotten first.

use super::BoundedMap;

#[test]
fn what_was_used_lately_stays_and_the_bound_holds() {
    let mut map = BoundedMap::new(8);
    map.insert(0, "used");
    for key in 1..1_000 {
        map.insert(key, "passing");
        assert_eq!(map.get(&0), Some(&"used"), "after {key}");
        assert!(map.young.len() + map.old.len() <= 8);
    }
    assert_eq!(map.get(&1), None);
    assert_eq!(map.get(&999), Some(&"passing"));
}

#[test]
fn a_value_is_replaced_and_not_doubled() {
    let mut map = BoundedMap::new(4);
    for key in [1, 2, 3, 1, 1] {
        map.insert(key, key * 10);
    }
    map.insert(1, 11);
    assert_eq!(map.get(&1), Some(&11));
    assert_eq!(map.young.len() + map.old.len(), 3);
}
