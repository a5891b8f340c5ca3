//! Changes to JSON texts, with every other byte as it was.

use super::*;

#[test]
fn a_value_is_changed_and_the_rest_keeps_its_bytes() {
    let text = r#"{ "a" :1.0e3,  "b":{"c":[1, "é\u00e9" ,3]},"a2":null }"#;
    let mut splice = Splice::new(text);
    let elements = splice.elements(&["b", "c"]).unwrap();
    splice.set_in(elements[1], &[], "\"x\"");
    splice.set(&["a2"], "7");
    splice.set(&["nowhere"], "7");
    assert_eq!(splice.finish(), r#"{ "a" :1.0e3,  "b":{"c":[1, "x" ,3]},"a2":7 }"#);
}

#[test]
fn of_a_key_that_comes_twice_the_last_counts() {
    let mut splice = Splice::new(r#"{"a":1,"a":2}"#);
    splice.set(&["a"], "3");
    assert_eq!(splice.finish(), r#"{"a":1,"a":3}"#);
}

#[test]
fn elements_go_with_a_comma() {
    let text = r#"{"a":[ 1, [2] , {"x":3}, "4" ]}"#;
    for kept in 0..16_u32 {
        let mut splice = Splice::new(text);
        splice.retain(&["a"], |at| kept & (1 << at) != 0);
        let value: serde_json::Value = serde_json::from_str(&splice.finish()).unwrap();
        let all = [serde_json::json!(1), serde_json::json!([2]), serde_json::json!({"x": 3}), serde_json::json!("4")];
        let wanted: Vec<_> = (0..4).filter(|at| kept & (1 << at) != 0).map(|at| all[at].clone()).collect();
        assert_eq!(value["a"], serde_json::Value::Array(wanted));
    }
}

#[test]
fn what_is_kept_can_be_changed_beside_what_goes() {
    let mut splice = Splice::new(r#"[{"t":"thinking"},{"t":"text","x":1}]"#);
    splice.retain(&[], |at| at == 1);
    let elements = splice.elements(&[]).unwrap();
    splice.set_in(elements[1], &["x"], "2");
    assert_eq!(splice.finish(), r#"[{"t":"text","x":2}]"#);
}
