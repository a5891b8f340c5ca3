//! Arrows that point outward are found.

use serde_json::json;

use super::{SourceFile, problems, unused_dependencies};

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

#[test]
fn a_dependency_that_nobody_names_is_found() {
    let metadata = json!({"packages": [
        {"name": "infold-core", "dependencies": [{"name": "time"}, {"name": "serde-json"}, {"name": "regex"}]},
    ]});
    let source = "use std::time::Duration;\nuse regex;\nfn a() { serde_json::to_string(&1); }\n";
    let manifest =
        "[workspace.dependencies]\ntime = \"1\"\nserde-json = \"1\"\nregex = \"1\"\nuuid = \"1\"\n\n[profile.dev]\n";
    let files = [
        SourceFile::new("crates/infold-core/src/lib.rs".to_owned(), source.to_owned()),
        SourceFile::new("Cargo.toml".to_owned(), manifest.to_owned()),
    ];

    assert_eq!(
        unused_dependencies(&metadata, &files),
        ["infold-core lists time and does not use it", "Cargo.toml: no crate uses uuid"]
    );
}
