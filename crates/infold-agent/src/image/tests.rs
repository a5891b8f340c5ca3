//! What is an image, and what is none.

use super::*;

/// The head of a PNG of this size, which is all that is looked at.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    file.extend(width.to_be_bytes());
    file.extend(height.to_be_bytes());
    file.extend([0; 32]);
    file
}

#[test]
fn what_an_image_is_follows_from_its_bytes_and_not_from_its_name() {
    let image = AttachedImage::of_file("photo.jpg", &png(1200, 800), 1_000).unwrap();
    assert_eq!((image.media_type.as_str(), image.width, image.height), ("image/png", 1200, 800));
    assert_eq!(image.label(3), "[image 3: photo.jpg, 1200×800, 1 KB]");
    let words = "see [image 12: photo.jpg, 1200×800, 1 KB] there";
    assert_eq!(image.label_in(words), Some("[image 12: photo.jpg, 1200×800, 1 KB]"));
    assert_eq!(image.file().unwrap(), png(1200, 800));
    let gif = [b"GIF89a".as_slice(), &[7, 0, 5, 0], &[0; 8]].concat();
    assert_eq!(AttachedImage::of_file("a", &gif, 1_000).unwrap().media_type, "image/gif");
    let webp = [b"RIFF\0\0\0\0WEBPVP8X".as_slice(), &[0; 8], &[9, 0, 0, 4, 0, 0]].concat();
    let webp = AttachedImage::of_file("a", &webp, 1_000).unwrap();
    assert_eq!((webp.media_type.as_str(), webp.width, webp.height), ("image/webp", 10, 5));
    let jpeg = [0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 0, 6, 0, 9, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1];
    let jpeg = AttachedImage::of_file("a", &jpeg, 1_000).unwrap();
    assert_eq!((jpeg.media_type.as_str(), jpeg.width, jpeg.height), ("image/jpeg", 9, 6));
}

#[test]
fn what_cannot_be_sent_says_why() {
    let refused = |name: &str, file: &[u8]| AttachedImage::of_file(name, file, 100).unwrap_err().to_string();
    assert_eq!(refused("a.png", b"hello"), "a.png is no image that can be sent: those are PNG, JPEG, GIF and WebP");
    assert_eq!(
        refused("b.png", &png(1, 1)[..12]),
        "b.png is no image that can be sent: those are PNG, JPEG, GIF and WebP"
    );
    let long = [png(1, 1), vec![0; 100]].concat();
    assert_eq!(refused("c.png", &long), "c.png has 156 bytes, and an image may have 100: make it smaller");
    let wide = "d.png has 8001×1 pixels, and a side may have 8000: make it smaller";
    assert_eq!(refused("d.png", &png(8001, 1)), wide);
    assert!(AttachedImage::of_base64("e", "no base64!", 100).is_err());
}

#[test]
fn an_entry_keeps_all_but_the_bytes_and_a_record_keeps_the_bytes() {
    let image = AttachedImage::of_file("a.png", &png(2, 2), 1_000).unwrap();
    let entry = said_with("Look.", vec![image.clone()]);
    let kept: ThreadEntry = serde_json::from_str(&serde_json::to_string(&entry).unwrap()).unwrap();
    assert_eq!(kept.images()[0].data, None);
    let record = crate::record::SessionRecord::of_image(&image).unwrap();
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<crate::record::SessionRecord>(&text).unwrap(), record);
    let known = KnownImages::from([(image.id, image.data.clone().unwrap())]);
    assert_eq!(with_data(vec![kept], &known), vec![entry]);
}

#[test]
fn words_of_before_images_are_still_read() {
    let old = r#"{"kind":"user","text":"hi","by":"person"}"#;
    let read: ThreadEntry = serde_json::from_str(old).unwrap();
    assert_eq!(read, ThreadEntry::user("hi", crate::SpokenBy::Person));
    assert_eq!(serde_json::to_string(&read).unwrap(), old);
}

#[test]
fn an_image_takes_a_token_of_claude_for_each_750_pixels_beside_the_words() {
    let image = AttachedImage::of_file("a.png", &png(1200, 800), 1_000).unwrap();
    let counter = Counter::new(infold_core::Family::Claude);
    let words = ThreadEntry::user(said_text(&image), crate::SpokenBy::Person).tokens(&counter);
    assert_eq!(said_with("Look.", vec![image]).tokens(&counter), words + 1_280);
}

fn said_text(image: &AttachedImage) -> String {
    format!("Look.\n\n{}", image.label(1))
}
