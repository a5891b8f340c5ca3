//! Answers: a stream reads the same wherever it is cut.

use infold_wire::answer::{Answer, AnswerReader, Delivery};
use infold_wire::request::Api;

use crate::{pieces, split_off_cuts};

const APIS: [Api; 3] = [Api::Messages, Api::Responses, Api::Chat];

/// The first byte is the API and the delivery, then come cuts, the rest is the answer.
pub(crate) fn check(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else { return };
    let api = APIS[usize::from(*first) % APIS.len()];
    let delivery = if first & 0x80 == 0 { Delivery::Streamed } else { Delivery::Whole };
    let (cuts, answer) = split_off_cuts(rest);
    let whole = read(api, delivery, &[answer]);
    assert!(read(api, delivery, &pieces(answer, &cuts)) == whole, "an answer reads differently where it is cut");
    let bytes: Vec<&[u8]> = answer.chunks(1).collect();
    assert!(read(api, delivery, &bytes) == whole, "an answer reads differently byte by byte");
}

fn read(api: Api, delivery: Delivery, pieces: &[&[u8]]) -> Answer {
    let mut reader = AnswerReader::new(api, delivery);
    for piece in pieces {
        reader.push(piece);
        let _ = (reader.is_over(), reader.is_final(), reader.words(), reader.calls().len());
    }
    reader.finish()
}
