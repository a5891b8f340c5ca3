//! What requests cost, given what the provider has of earlier ones.

use super::*;

fn request(reader: &mut Reader, texts: &[&str]) -> Received {
    let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
    reader.read(json!({"messages": messages}).to_string().as_bytes()).unwrap()
}

#[test]
fn a_thread_that_goes_on_after_another_is_read_from_the_cache_if_it_is_still_there() {
    let mut reader = Reader::new(PlayedApi::Messages);
    let requests: [&[&str]; 3] = [&["the"], &["the the"], &["the", "the"]];
    let requests = requests.map(|texts| request(&mut reader, texts));
    let sum = |cache: Cache| {
        let mut bill = Bill::new(Counter::new(Family::Gpt), 1_000, cache);
        requests.iter().for_each(|request| bill.take(request, 0));
        assert_eq!(bill.peak_tokens, 1_002);
        bill.sum
    };
    let first = WRITE * 1_001.0 + READ * 1_000.0 + WRITE * 2.0;
    assert!((sum(Cache::All) - first - READ * 1_001.0 - WRITE).abs() < 1e-6);
    assert!((sum(Cache::Last) - first - READ * 1_000.0 - WRITE * 2.0).abs() < 1e-6);
}

#[test]
fn an_answer_lasts_until_all_its_calls_have_their_results() {
    let item = |kind| Item { place: Default::default(), message: 0, kind };
    let call = |id: &str| item(Kind::Call { id: id.to_owned(), tool: String::new(), input: String::new() });
    let result = |id: &str| {
        let (tool, text) = (String::new(), String::new());
        item(Kind::Result { id: id.to_owned(), tool, text, outcome: CallOutcome::Unsaid, held: HeldContent::Whole })
    };
    let items =
        [call("1"), call("2"), result("1"), call("3"), result("2"), result("3"), call("4"), result("4"), call("5")];
    let lengths: Vec<usize> = answers(&items).into_iter().map(<[Item]>::len).collect();
    assert_eq!(lengths, [6, 2, 1]);
}
