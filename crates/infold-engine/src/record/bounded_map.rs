//! A map that never holds more than its bound, and forgets roughly what was not used for longest.

use std::collections::HashMap;
use std::hash::Hash;

/// Two generations: an entry that is used moves to the young one. When that is full, the old one is dropped.
pub(crate) struct BoundedMap<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    generation_max: usize,
}

impl<K: Hash + Eq, V> BoundedMap<K, V> {
    /// Makes a map of at most `entries_max` entries.
    pub(crate) fn new(entries_max: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), generation_max: (entries_max / 2).max(1) }
    }

    /// Looks up a value, which then counts as used.
    pub(crate) fn get(&mut self, key: &K) -> Option<&V> {
        if !self.old.is_empty() && !self.young.contains_key(key) {
            let (key, value) = self.old.remove_entry(key)?;
            self.insert(key, value);
        }
        self.young.get(key)
    }

    /// Adds a value, and forgets others if there is no room.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.generation_max && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        if !self.old.is_empty() {
            self.old.remove(&key);
        }
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests;
