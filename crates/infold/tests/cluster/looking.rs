//! What people see of a cluster: the doctor's check and the metrics of each machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use infold_testkit::nats::NATS_USER;
use serde_json::Value;

use super::machines::{Machines, infold_command};
use crate::support::PATIENCE;

/// What the doctor says of the cluster, with the settings of the first machine and these.
fn doctors_word(machines: &Machines, settings: &[&str]) -> Value {
    let (data, password) = (machines.data(0), machines.folder.join("password"));
    let servers = format!("store.nats.servers={:?}", machines.cluster.client_urls());
    let password = format!("store.nats.password_file={}", password.display());
    let user = format!("store.nats.user={NATS_USER}");
    let mut arguments = vec!["doctor", "--json", "--data", data.to_str().unwrap()];
    let usual =
        ["store.backend=nats", &servers, &password, &user, "store.nats.sync=trust", "store.nats.timeout_ms=2000"];
    for setting in usual.iter().chain(settings) {
        arguments.extend(["--set", setting]);
    }
    let said: Value = serde_json::from_slice(&infold_command(&arguments).stdout).unwrap();
    let checks = said["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == "cluster").unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_and_the_metrics_say_how_a_cluster_is() {
    let Some(mut machines) = Machines::start(1, |setup| setup).await else { return };
    let found = doctors_word(&machines, &[]);
    let detail = found["detail"].as_str().unwrap();
    assert_eq!(found["status"], "ok", "{found}");
    assert!(detail.contains("INFOLD on 3 servers, led by n") && detail.contains("trust"), "{detail}");
    assert!(detail.contains("not checked"), "{detail}");
    let said = machines.daemons[0].stderr();
    assert!(said.contains("INFOLD on 3 servers, led by n") && said.contains("was not checked"), "{said}");

    let monitors = format!("store.nats.monitors={:?}", machines.cluster.monitor_urls());
    let found = doctors_word(&machines, &["store.nats.sync=require", &monitors]);
    assert!(found["detail"].as_str().unwrap().contains("every write is synced, as 3 of 3 servers say"), "{found}");
    // One server that is named three times speaks for itself alone.
    let one = machines.cluster.monitor_urls()[0].clone();
    let found = doctors_word(&machines, &["store.nats.sync=require", &format!("store.nats.monitors={:?}", [&one; 3])]);
    assert!(found["detail"].as_str().unwrap().contains("1 of 3 servers are behind store.nats.monitors"), "{found}");

    let url = format!("{}/metrics", machines.daemons[0].base_url());
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let begun = Instant::now();
    loop {
        let metrics = http.get(&url).send().await.unwrap().text().await.unwrap();
        let value = |name: &str| {
            let line = metrics.lines().find(|line| line.starts_with(name) && !line.starts_with('#'))?;
            line.rsplit(' ').next()?.parse::<f64>().ok()
        };
        let seen = ["lag", "duty", "reached"].map(|name| value(&format!("infold_cluster_{name}")));
        if seen == [Some(0.0), Some(1.0), Some(1.0)] && value("infold_cluster_reconnects") >= Some(1.0) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{metrics}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    let password = machines.folder.join("password");
    fs::set_permissions(&password, fs::Permissions::from_mode(0o644)).unwrap();
    let found = doctors_word(&machines, &[]);
    assert_eq!(found["status"], "failed", "{found}");
    assert!(found["hint"].as_str().unwrap().starts_with("chmod 600 "), "{found}");
    fs::set_permissions(&password, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(doctors_word(&machines, &[])["status"], "ok");

    for node in 0..3 {
        machines.cluster.kill(node).unwrap();
    }
    let found = doctors_word(&machines, &[]);
    assert_eq!(found["status"], "failed", "{found}");
    assert!(found["hint"].as_str().unwrap().contains("store.backend"), "{found}");
}
