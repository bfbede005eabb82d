//! Things that callers make and give back: samples and event sets, known by a number that looks like an address.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers begin here, so that none is NULL.
const FIRST: usize = 0x1000;

/// All things of one kind.
pub(crate) struct Registry<T> {
    known: Mutex<Known<T>>,
}

struct Known<T> {
    made: usize,
    things: BTreeMap<usize, Arc<T>>,
}

impl<T> Registry<T> {
    /// An empty registry.
    pub(crate) const fn new() -> Self {
        Self { known: Mutex::new(Known { made: 0, things: BTreeMap::new() }) }
    }

    /// Keeps a thing and returns its number.
    pub(crate) fn keep(&self, thing: T) -> usize {
        let mut known = self.lock();
        known.made += 1;
        let number = FIRST + known.made * 16;
        known.things.insert(number, Arc::new(thing));
        number
    }

    /// The thing with a number.
    pub(crate) fn get(&self, number: usize) -> Option<Arc<T>> {
        self.lock().things.get(&number).cloned()
    }

    /// Forgets a thing; whether there was one.
    pub(crate) fn forget(&self, number: usize) -> bool {
        self.lock().things.remove(&number).is_some()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known<T>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_never_used_again() {
        let registry = Registry::new();
        let one = registry.keep("one");
        assert!(registry.forget(one) && !registry.forget(one));
        let two = registry.keep("two");
        assert_ne!(one, two);
        assert!(registry.get(one).is_none());
        assert_eq!(registry.get(two).as_deref(), Some(&"two"));
    }
}
