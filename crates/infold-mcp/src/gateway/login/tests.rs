//! What is pure about logins, and what is kept of them.
