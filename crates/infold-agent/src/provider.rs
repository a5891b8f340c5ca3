//! Providers: turns a thread into a request of a provider's API, and the provider's answer into entries.
