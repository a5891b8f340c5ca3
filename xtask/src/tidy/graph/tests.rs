//! Arrows that point outward are found.

use serde_json::json;

use super::problems;

#[test]
fn arrows_point_inward() {
    let metadata = json!({"packages": [
        {"name": "infold-core", "dependencies": [{"name": "tokio"}, {"name": "serde"}]},
        {"name": "infold-store", "dependencies": [{"name": "infold-engine"}, {"name": "rusqlite"}]},
        {"name": "infold-mcp", "dependencies": [{"name": "infold-testkit", "kind": "dev"}]},
        {"name": "infold-control", "dependencies": [{"name": "infold-testkit"}, {"name": "rmcp"}]},
        {"name": "infold-new", "dependencies": []},
    ]});

    assert_eq!(
        problems(&metadata),
        [
            "infold-core must not use tokio: the core has no I/O, clock or randomness",
            "infold-store must not use infold-engine: arrows point towards the core",
            "infold-control must not use infold-testkit: arrows point towards the core",
            "infold-control must not use rmcp: only infold-mcp may",
            "infold-new: say in xtask/src/tidy/graph.rs which crates it may use",
        ]
    );
}
