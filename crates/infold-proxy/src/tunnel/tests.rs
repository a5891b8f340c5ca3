//! Which upstreams are reached through a tunnel.

use super::*;

#[test]
fn upstreams_are_tunnelled_to_unless_they_are_excepted_plain_or_on_this_machine() {
    let tunnels = Tunnels::through("http://gate.example:3128", "internal.example, 10.0.0.0/8").unwrap();
    let proxy = |address: &str| Some(tunnels.to(&address.parse().unwrap())?.uri().to_string());
    assert_eq!(proxy("https://api.anthropic.com/v1/messages").as_deref(), Some("http://gate.example:3128/"));
    for near in ["https://models.internal.example", "https://10.1.2.3", "https://localhost:8443", "https://127.0.0.1"] {
        assert_eq!(proxy(near), None, "{near}");
    }
    assert_eq!(proxy("http://api.example"), None, "it is not encrypted");
    assert!(Tunnels::none().to(&"https://api.anthropic.com".parse().unwrap()).is_none());
}

#[test]
fn a_proxy_of_another_kind_is_named_as_such() {
    for other in ["socks5://gate.example:1080", "https://gate.example", "http://", "nonsense of a proxy"] {
        assert_eq!(Tunnels::through(other, "").err(), Some(NoTunnel), "{other}");
    }
    // Many people write the address without a scheme.
    assert!(Tunnels::through("gate.example:3128", "").is_ok());
}

#[test]
fn a_password_is_not_shown() {
    let tunnels = Tunnels::through("http://somebody:hidden@gate.example:3128", "").unwrap();
    assert!(!format!("{tunnels:?}").contains("hidden"));
}
