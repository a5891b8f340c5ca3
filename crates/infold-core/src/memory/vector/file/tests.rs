//! Models in files: read whole or refused, and used as their files say.

use serde_json::json;

use super::*;

/// A table in the form of safetensors.
fn table(rows: &[[f32; 2]], dtype: &str) -> Vec<u8> {
    let numbers = rows.as_flattened().iter();
    let data: Vec<u8> = match dtype {
        "F32" => numbers.flat_map(|number| number.to_le_bytes()).collect(),
        "BF16" => numbers.flat_map(|number| ((number.to_bits() >> 16) as u16).to_le_bytes()).collect(),
        // One, minus one, a half and nothing are all that is needed.
        _ => numbers
            .flat_map(|number| match number {
                1.0 => 0x3c00_u16.to_le_bytes(),
                -1.0 => 0xbc00_u16.to_le_bytes(),
                0.5 => 0x3800_u16.to_le_bytes(),
                _ => 0_u16.to_le_bytes(),
            })
            .collect(),
    };
    let head = json!({"embeddings": {"dtype": dtype, "shape": [rows.len(), 2], "data_offsets": [0, data.len()]}});
    let head = head.to_string();
    [&(head.len() as u64).to_le_bytes()[..], head.as_bytes(), &data].concat()
}

const ROWS: [[f32; 2]; 4] = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]];

fn word_pieces() -> Value {
    json!({
        "normalizer": {"type": "BertNormalizer", "lowercase": true},
        "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "snap": 1, "##shot": 2, "test": 3}},
    })
}

fn bytes_of(model: &FileModel, text: &str) -> Option<Vec<i8>> {
    model.vector(text).map(|vector| vector.bytes().into_iter().map(|byte| byte as i8).collect())
}

#[test]
fn a_text_is_the_sum_of_its_pieces_in_every_form_of_numbers_and_tokens() {
    let merging = json!({"model": {
        "type": "BPE", "vocab": {"▁": 0, "▁a": 1, "b": 2, "▁ab": 3}, "merges": ["▁ a", ["▁a", "b"]],
    }});
    let likely =
        json!({"model": {"type": "Unigram", "vocab": [["<unk>", 0.0], ["▁snap", -1.0], ["shot", -2.0], ["▁", -9.0]]}});
    for dtype in ["F32", "F16", "BF16"] {
        let model =
            |tokenizer: &Value| FileModel::read("mine", table(&ROWS, dtype), tokenizer.to_string().as_bytes()).unwrap();
        let pieces = model(&word_pieces());
        assert_eq!(bytes_of(&pieces, "Snapshot"), Some(vec![127, 127]), "{dtype}");
        assert_eq!(bytes_of(&pieces, "snap, SNAP test!"), Some(vec![127, 64]), "{dtype}");
        assert_eq!(bytes_of(&pieces, "snapx 。"), None, "no token of it is known");
        assert_eq!(bytes_of(&model(&merging), "ab"), Some(vec![-127, 64]), "{dtype}");
        assert_eq!(bytes_of(&model(&merging), "a cb"), Some(vec![127, 127]), "{dtype}");
        assert_eq!(bytes_of(&model(&likely), "snapshot"), Some(vec![127, 127]), "{dtype}");
    }
}

#[test]
fn its_name_changes_with_its_files_and_is_not_that_of_another() {
    let tokenizer = word_pieces().to_string();
    let one = FileModel::read("mine", table(&ROWS, "F32"), tokenizer.as_bytes()).unwrap();
    let other = FileModel::read("mine", table(&ROWS, "F16"), tokenizer.as_bytes()).unwrap();
    assert!(one.name().starts_with("mine-") && one.name() != other.name());
    assert_eq!(one.vector("test").unwrap().cosine(&other.vector("test").unwrap()), None);
}

#[test]
fn broken_files_are_refused_in_words() {
    let tokenizer = word_pieces().to_string();
    let refused = |table: Vec<u8>, tokenizer: &str| {
        FileModel::read("mine", table, tokenizer.as_bytes())
            .map(|model| model.name().to_owned())
            .unwrap_err()
            .to_string()
    };
    let whole = table(&ROWS, "F32");
    for cut in [0, 7, 20, whole.len() - 1] {
        assert!(refused(whole[..cut].to_vec(), &tokenizer).starts_with("model.safetensors "), "{cut}");
    }
    assert!(refused(b"not a table at all, but a long text".to_vec(), &tokenizer).contains("begin like"));
    assert!(refused(table(&ROWS[..2], "F32"), &tokenizer).contains("fewer rows"));
    assert!(refused(table(&ROWS, "I64"), &tokenizer).contains("F32, F16"));
    for broken in [
        "",
        "{}",
        "[1]",
        r#"{"model": {"type": "WordLevel", "vocab": {}}}"#,
        r#"{"model": {"type": "WordPiece", "vocab": {}}}"#,
    ] {
        assert!(refused(whole.clone(), broken).starts_with("tokenizer.json "), "{broken}");
    }
    let huge = r#"{"model": {"type": "WordPiece", "vocab": {"a": 18446744073709551615}}}"#;
    assert!(refused(whole, huge).starts_with("tokenizer.json "));
}
