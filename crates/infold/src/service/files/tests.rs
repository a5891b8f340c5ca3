//! Characters that are special to systemd or launchd are escaped.

use super::*;

fn daemon() -> ServedDaemon {
    let arguments = ["serve", "--set", "prices.models=[[\"a&b %\", 1]]", "$HOME"].map(str::to_owned).into();
    ServedDaemon { program: "/opt/in fold".into(), address: ([127, 0, 0, 1], 9090).into(), arguments }
}

#[test]
fn a_unit_starts_what_was_meant() {
    let unit = service(&daemon());
    let line = "ExecStart=\"/opt/in fold\" \"serve\" \"--set\" \"prices.models=[[\\\"a&b %%\\\", 1]]\" \"$$HOME\"\n";
    assert!(unit.contains(line), "{unit}");
    assert!(is_ours(&unit) && is_ours(&socket(&daemon())) && !is_ours("[Unit]\nDescription=mine\n"));
}

#[test]
fn a_property_list_starts_what_was_meant() {
    let list = launch_agent("dev.infold.daemon", &daemon());
    assert!(list.contains("<string>prices.models=[[\"a&amp;b %\", 1]]</string>"), "{list}");
    assert!(is_ours(&list));
}
