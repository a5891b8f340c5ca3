//! Reading answers: what is taken for one of ours, and what is not.

use std::borrow::Cow;

use super::*;

fn key() -> IdKey {
    IdKey::derive(&[7; 32])
}

fn id() -> BranchId {
    BranchId::mint([1; 8], &key())
}

fn act(effect: ToolEffect, answer: &str) -> Option<Act> {
    let arguments = format!("{{\"branch_id\":\"{}\"}}", id());
    let call = CallBlock { id: "c".into(), tool: "x".into(), arguments: Some(Cow::Owned(arguments)) };
    read(effect, answer, &key()).or_else(|| read_remains(effect, &call, answer, &key()))
}

#[test]
fn an_opening_needs_a_real_id() {
    let real =
        format!(r#"{{"branch_id":"{}","budget_allocated":7,"isolation":"inherit","injected_context":"a note"}}"#, id());
    let Some(Act::Open(opened)) = act(ToolEffect::Open, &real) else { panic!("it opened") };
    assert_eq!((opened.budget_tokens, opened.isolation), (Some(7), Isolation::Inherit));
    assert_eq!(opened.injected_context.as_deref(), Some("a note"));

    let forged = real.replace(&id().as_str()[30..], "000000000");
    assert!(act(ToolEffect::Open, &forged).is_none());
    assert!(act(ToolEffect::Open, "br_ and nothing else").is_none());
    assert!(act(ToolEffect::Read, &real).is_none() && act(ToolEffect::Ask, &real).is_none());
}

#[test]
fn a_return_needs_a_word_that_it_folded() {
    let answer = |success: &str| format!(r#"{{"success":{success},"message":"m","branch_id":"{}"}}"#, id());
    assert!(matches!(
        act(ToolEffect::Return, &answer("true")),
        Some(Act::Return(ReturnAnswer { message: HandedOver::Whole(_), .. }))
    ));
    assert!(act(ToolEffect::Return, &answer("false")).is_none());
    let refused = format!(r#"{{"code":"x","status":409,"message":"m","data":{{"branch_id":"{}"}}}}"#, id());
    assert!(act(ToolEffect::Return, &refused).is_none());
    let behind_words = format!("Wall time: 0.0065 seconds\nOutput:\n{refused}");
    assert!(act(ToolEffect::Return, &behind_words).is_none());
    // The id in the arguments alone makes no fold: the store has to know of it.
    for cleared in ["cleared", "Output:\n{\"code\":\"x\",\"mess", "{\"code\":\"x\" [...] {\"branch_id\":\"b\"}}"] {
        let act = act(ToolEffect::Return, cleared);
        assert!(matches!(act, Some(Act::Return(ReturnAnswer { message: HandedOver::Gone, .. }))), "{cleared}");
    }
}

#[test]
fn text_that_only_looks_like_objects_costs_little() {
    let text = "{".repeat(1 << 16);
    assert!(act(ToolEffect::Open, &text).is_none());
}
