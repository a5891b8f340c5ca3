//! The gateway on a real store.
