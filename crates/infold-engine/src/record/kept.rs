//! A map that forgets what was not used for longest, roughly, and never holds more than its bound.

use std::collections::HashMap;
use std::hash::Hash;

/// Two generations: what is used moves to the young one; when that is full, the old one goes.
pub(crate) struct BoundedMap<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    generation_max: usize,
}

impl<K: Hash + Eq, V> BoundedMap<K, V> {
    /// A map of at most `entries_max` entries.
    pub(crate) fn new(entries_max: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), generation_max: (entries_max / 2).max(1) }
    }

    /// What is kept under a key. It counts as used.
    pub(crate) fn get(&mut self, key: &K) -> Option<&V> {
        if !self.young.contains_key(key) {
            let (key, value) = self.old.remove_entry(key)?;
            self.insert(key, value);
        }
        self.young.get(key)
    }

    /// Keeps a value, and forgets another if there is no room.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.generation_max && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.old.remove(&key);
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests;
