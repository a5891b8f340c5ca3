//! Images by their pixels, whoever wrote the block that they are in; nothing in base64 as text.

use super::super::{Counter, Family};

/// The beginnings of images, which is where their size is written.
const PNG_1000_X_750: &str = "iVBORw0KGgoAAAANSUhEUgAAA+gAAALuCAIAAAA=";
const PNG_4000_X_3000: &str = "iVBORw0KGgoAAAANSUhEUgAAD6AAAAu4CAIAAAA=";
const JPEG_640_X_480: &str = "/9j/4AAQSkZJRgABAQAAAQABAAD//8AAEQgB4AKAAw==";
const GIF_20_X_10: &str = "R0lGODlhFAAKAAAAAA==";
const WEBP_3000_X_2000: &str = "UklGRgAAAABXRUJQVlA4WAoAAAAAAAAAtwsAzwcA";
const WEBP_300_X_200: [&str; 2] =
    ["UklGRgAAAABXRUJQVlA4TAAAAAAvK8ExAAA=", "UklGRgAAAABXRUJQVlA4IAAAAAAAAACdASosAcgAAA=="];

fn counts(json: &str) -> [u64; 3] {
    [Family::Claude, Family::ClaudeNew, Family::Gpt].map(|family| Counter::new(family).count_other(json))
}

fn anthropic(data: &str) -> String {
    format!(r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#)
}

#[test]
fn an_image_takes_what_its_pixels_do() {
    assert_eq!(counts(&anthropic(PNG_1000_X_750)), [1_000, 1_000, 630]);
    assert_eq!(counts(&anthropic(JPEG_640_X_480)), [410, 410, 350]);
    assert_eq!(counts(&anthropic(GIF_20_X_10)), [1, 1, 210]);
    for webp in WEBP_300_X_200 {
        assert_eq!(counts(&anthropic(webp)), [80, 80, 210]);
    }
}

#[test]
fn large_images_are_scaled_down_and_capped() {
    assert_eq!(counts(&anthropic(PNG_4000_X_3000)), [1_600, 4_784, 630]);
    assert_eq!(counts(&anthropic(WEBP_3000_X_2000)), [1_600, 4_784, 910]);
}

#[test]
fn every_way_to_write_an_image_is_known() {
    let blocks = [
        format!(r#"{{"type":"input_image","image_url":"data:image/png;base64,{PNG_1000_X_750}"}}"#),
        format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{PNG_1000_X_750}"}}}}"#),
        format!(r#"{{"type":"file","mime":"image/png","url":"data:image/png;base64,{PNG_1000_X_750}"}}"#),
        format!(r#"{{"type":"image","data":"{PNG_1000_X_750}","mimeType":"image/png"}}"#),
        format!(r#"{{"type":"image_generation_call","result":"{PNG_1000_X_750}"}}"#),
    ];
    for block in blocks {
        assert_eq!(counts(&block)[0], 1_000, "{block}");
    }
}

#[test]
fn what_cannot_be_read_counts_by_a_flat_figure() {
    let by_address = r#"{"type":"image","source":{"type":"url","url":"http://127.0.0.1/a.png"}}"#;
    assert_eq!(counts(by_address), [1_600, 1_600, 630]);
    let cut = anthropic("iVBORw0KGgo=");
    assert_eq!(counts(&cut), [1_600, 1_600, 630]);
    let document =
        r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjcK"}}"#;
    assert_eq!(counts(document), [3_000; 3]);
}

#[test]
fn what_is_sealed_counts_by_its_length_and_text_as_text() {
    let sealed = format!(r#"{{"type":"compaction","encrypted_content":"{}"}}"#, "gAAA".repeat(1_000));
    assert_eq!(counts(&sealed)[0], (3_000 - 650) / 4);
    let text = r#"{"type":"tool_reference","tool_name":"read_result"}"#;
    let counter = Counter::new(Family::Gpt);
    assert_eq!(counter.count_other(text), counter.count(text));
    assert_eq!(counter.count_other("no JSON"), counter.count("no JSON"));
}

#[test]
fn a_picture_of_a_megabyte_is_no_book() {
    let json = anthropic(&format!("{PNG_1000_X_750}{}", "kJ8x".repeat(250_000)).replace('=', "A"));
    assert_eq!(counts(&json)[0], 1_000);
    assert_eq!(crate::readable_of_other(&json), "");
}
