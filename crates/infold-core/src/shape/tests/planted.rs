//! Facts planted in long outputs, each of a kind that an agent goes on to need: how many can still be seen when the
//! output is offloaded.

use super::*;

/// An output, and the facts that are planted in it.
struct Planted {
    text: String,
    facts: [&'static str; 4],
}

fn repeat(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|at| line(at) + "\n").collect()
}

fn build() -> Planted {
    let mut text = String::from("Process exited with code 101\nOutput:\n");
    text += &repeat(220, |at| format!("   Compiling library-{at} v0.{}.{}", at % 9, at % 5));
    text += "error[E0308]: mismatched types\n  --> crates/engine/src/replay.rs:412:9\n    |\n412 |     bytes\n    |     ^^^^^\n";
    text += &repeat(60, |at| format!("   Compiling later-{at} v1.0.{at}"));
    text += "error: could not compile `engine` (lib) due to 1 previous error\n";
    Planted { text, facts: ["error[E0308]", "replay.rs:412:9", "could not compile `engine`", "code 101"] }
}

fn python_tests() -> Planted {
    let mut text = String::from("=== test session starts ===\nplatform linux -- Python 3.12.4, pytest-8.2.1\n");
    text += &repeat(260, |at| format!("tests/test_part_{}.py::test_case_{at} PASSED [{}%]", at % 12, at / 3));
    text += "tests/test_billing.py::test_rounding FAILED [ 99%]\n=== FAILURES ===\n>       assert total == 2000\n";
    text += "E       AssertionError: assert 1999 == 2000\n\ntests/test_billing.py:88: AssertionError\n";
    text += "=== 1 failed, 260 passed in 42.17s ===\n";
    Planted { text, facts: ["3.12.4", "test_rounding FAILED", "assert 1999 == 2000", "1 failed, 260 passed in 42.17s"] }
}

fn go_tests() -> Planted {
    let mut text = repeat(150, |at| format!("=== RUN   TestQueue{at}\n--- PASS: TestQueue{at} (0.0{}s)", at % 9));
    text += "=== RUN   TestRetryBackoff\n--- FAIL: TestRetryBackoff (0.52s)\n    backoff_test.go:88: want 3 attempts, got 5\n";
    text += &repeat(150, |at| format!("=== RUN   TestStore{at}\n--- PASS: TestStore{at} (0.1{}s)", at % 9));
    text += "FAIL\nFAIL\texample.org/queue/internal/retry\t0.731s\nexit status 1\n";
    Planted {
        text,
        facts: ["FAIL: TestRetryBackoff", "want 3 attempts, got 5", "internal/retry\t0.731s", "exit status 1"],
    }
}

fn install() -> Planted {
    let mut text = repeat(180, |at| {
        format!("npm http fetch GET 200 https://packages.example.org/part-{at} {}ms (cache hit)", at * 3)
    });
    text += "npm warn deprecated left-pad@1.3.0: use String.prototype.padStart()\nnpm ERR! code ERESOLVE\n";
    text += &repeat(60, |at| {
        format!("npm http fetch GET 200 https://packages.example.org/more-{at} {}ms (cache hit)", at * 3)
    });
    text += "\nadded 1312 packages, and audited 1313 packages in 38s\n\n7 vulnerabilities (2 moderate, 5 high)\n";
    Planted { text, facts: ["left-pad@1.3.0", "ERESOLVE", "added 1312 packages", "7 vulnerabilities"] }
}

fn server_log() -> Planted {
    let line = |at: usize| {
        format!(
            "2026-03-01T10:{:02}:{:02}Z INFO request path=/api/items status=200 ms={}",
            at / 60 % 60,
            at % 60,
            at % 40
        )
    };
    let mut text = repeat(40, line) + "listening on 0.0.0.0:48231 with 16 workers\n";
    text += &repeat(150, line);
    text += "2026-03-01T10:03:11Z ERROR pool exhausted after 30000 ms, 64 waiting\nthread 'worker-7' panicked at src/pool.rs:219:14:\nno connection\n";
    text += &repeat(150, line);
    text += "shutdown complete: 18422 requests served\n";
    Planted {
        text,
        facts: ["0.0.0.0:48231", "pool exhausted after 30000 ms", "src/pool.rs:219:14", "18422 requests served"],
    }
}

fn image() -> Planted {
    let mut text = repeat(160, |at| format!("#12 extracting layer {} of 20, {}.{} MB done", at % 20, at, at % 10));
    text += "#18 ERROR: process \"/bin/sh -c make dist\" did not complete successfully: exit code: 2\n------\nDockerfile:27\n";
    text += "--------------------\n  27 | >>> RUN make dist\n";
    text += "ERROR: failed to solve: process \"/bin/sh -c make dist\" did not complete successfully: exit code: 2\n";
    Planted { text, facts: ["make dist", "exit code: 2", "Dockerfile:27", "failed to solve"] }
}

fn changes() -> Planted {
    let mut text = repeat(70, |at| format!(" crates/part_{at}/src/lib.rs | {} +++---", at * 3));
    text += " crates/store/src/write_ahead.rs | 1187 +++++-----\n";
    text += &repeat(70, |at| format!(" docs/page_{at}.md | {} ++", at));
    text +=
        " create mode 100644 migrations/0042_ledger.sql\n 142 files changed, 4182 insertions(+), 977 deletions(-)\n";
    Planted { text, facts: ["write_ahead", "0042_ledger.sql", "142 files changed", "4182 insertions(+)"] }
}

fn answer() -> Planted {
    let items: Vec<String> =
        (0..240).map(|at| format!("{{\"id\":{at},\"state\":\"done\",\"owner\":\"team\"}}")).collect();
    let text = format!(
        "{{\"request_id\":\"req_5f20c1\",\"items\":[{}],\"failed_item\":\"inv_99812\",\"total\":48213,\"next_cursor\":\"c_8f3a2b91\"}}",
        items.join(",")
    );
    Planted { text, facts: ["req_5f20c1", "inv_99812", "48213", "c_8f3a2b91"] }
}

fn processes() -> Planted {
    let mut text = String::from("NAME                      READY  STATUS            RESTARTS  AGE\n");
    text += &repeat(60, |at| format!("web-7c9f-{at:<16} 1/1    Running           0         3d"));
    text += "payments-worker-5d4f      0/1    CrashLoopBackOff  217       9h\n";
    text += &repeat(60, |at| format!("web-8d1a-{at:<16} 1/1    Running           0         3d"));
    text += "ledger-migrate-x2         0/1    ImagePullBackOff  0         12m\n";
    Planted { text, facts: ["payments-worker-5d4f", "CrashLoopBackOff", "217", "ImagePullBackOff"] }
}

fn source() -> Planted {
    let text = numbered((0..320).map(|at| match at {
        2 => "use crate::ledger::posting::PostingRules;".to_owned(),
        140 => "const MAX_BATCH_ITEMS: usize = 86400;".to_owned(),
        141 => "pub fn reconcile_ledger(entries: &[Entry]) -> Total {".to_owned(),
        at => format!("    let value = next(value, {});", at % 7),
    }));
    Planted { text, facts: ["PostingRules", "MAX_BATCH_ITEMS", "86400", "reconcile_ledger"] }
}

#[test]
fn most_of_forty_planted_facts_survive_where_a_preview_hides_them() {
    let outputs = [
        build(),
        python_tests(),
        go_tests(),
        install(),
        server_log(),
        image(),
        changes(),
        answer(),
        processes(),
        source(),
    ];
    let (mut in_preview, mut survive) = (0, 0);
    let mut lost: Vec<&str> = Vec::new();
    for Planted { text, facts } in &outputs {
        assert!(text.len() > 4_096 && facts.iter().all(|fact| text.contains(fact)), "{facts:?}");
        let preview = reference_text("tool", text, "res_1", "");
        let whole = reference_text("tool", text, "res_1", &shaped(text, &Mentions::default()));
        in_preview += facts.iter().filter(|fact| preview.contains(**fact)).count();
        survive += facts.iter().filter(|fact| whole.contains(**fact)).count();
        lost.extend(facts.iter().filter(|fact| !whole.contains(**fact)));
    }
    assert_eq!((in_preview, survive), (4, 40), "lost: {lost:?}");
}
