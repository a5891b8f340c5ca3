//! The addresses that traces and metrics are sent to.

use super::*;

#[test]
fn each_signal_has_its_path_below_the_endpoint() {
    assert_eq!(signal_address("http://127.0.0.1:4318", "traces"), "http://127.0.0.1:4318/v1/traces");
    assert_eq!(signal_address("https://c.example/otlp/?key=1", "metrics"), "https://c.example/otlp/v1/metrics?key=1");
}
