//! Tests with sessions in the plain form.

use crate::form::Format;
use crate::testing::{as_lines, transcript};

#[test]
fn calls_compactions_and_subagents_find_their_events() {
    let text = concat!(
        r#"{"session":"s","agent":"claude-code","events":["#,
        r#"{"k":"user","t":"go","meta":""},{"k":"user","t":"note","meta":"isMeta"},"#,
        r#"{"k":"think","t":"hm","sig":4,"call":0},{"k":"call","tool":"Bash","id":"c1","t":"{}","call":0},"#,
        r#"{"k":"result","tool":"Bash","id":"c1","t":"out","err":true},{"k":"asst","t":"ok","call":1},"#,
        r#"{"k":"summary","t":"what was","meta":""}],"#,
        r#""calls":[{"ev":2,"prompt":100,"cr":60,"cw":30,"out":5,"model":"m"},{"ev":5,"prompt":9,"out":1,"model":"m"},{"ev":7,"prompt":8,"out":0,"model":"m"}],"#,
        r#""compactions":[{"ev":5,"kind":"micro","ids":["c1"]},{"ev":6,"kind":"compact"}],"#,
        r#""subagents":[{"id":"c1","prompt":"p","msgs":[["user","","look"],["call","Read","{}"],["result","","seen"]]}]}"#,
        "\n"
    );
    assert_eq!(
        as_lines(&transcript(text, Format::Normalized)),
        r#"1.0 m0 person "go"
1.1 m1 client "note"
1.2 m2 thought "hm" sealed 4
1.3 m2 call c1 Bash {}
1.4 m3 result c1 Bash failed "out"
1.5 m4 clearing ["c1"]
1.5 m5 model "ok"
1.6 m6 compaction Some("what was") kept []
request at 2: m 10+60+30 -> 5
request at 6: m 9+0+0 -> 1
request at 8: m 8+0+0 -> 0
subtask c1
  1.0 m0 person "look"
  1.1 m1 call c1.1 Read {}
  1.2 m2 result c1.1 Read "seen""#
    );
}

#[test]
fn calls_that_a_subagent_made_at_once_each_have_their_own_result() {
    let text = concat!(
        r#"{"session":"s","agent":"claude-code","events":[{"k":"user","t":"go","meta":""}],"calls":[],"compactions":[],"#,
        r#""subagents":[{"id":"c1","prompt":"p","msgs":[["call","Glob","a"],["call","Grep","b"],["result","","A"],"#,
        r#"["call","Read","c"],["result","","B"],["result","","C"]]}]}"#,
        "\n"
    );
    assert_eq!(
        as_lines(&transcript(text, Format::Normalized)),
        r#"1.0 m0 person "go"
subtask c1
  1.0 m0 call c1.0 Glob a
  1.1 m1 call c1.1 Grep b
  1.2 m2 result c1.0 Glob "A"
  1.3 m3 call c1.3 Read c
  1.4 m4 result c1.1 Grep "B"
  1.5 m5 result c1.3 Read "C""#
    );
}
