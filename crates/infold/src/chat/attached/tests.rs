//! Words and paths of images.

use super::*;

fn image(width: u8) -> AttachedImage {
    let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0, 0, 0, width, 0, 0, 0, 8], &[0; 9]].concat();
    AttachedImage::of_file("a.png", &png, 1_000).unwrap()
}

#[test]
fn an_image_is_sent_if_its_word_is_there_and_kept_as_its_path() {
    let data = tempfile::tempdir().unwrap();
    let mut attached = AttachedImages::new(data.path());
    let first = attached.add(image(1), "/tmp/a b.png".into());
    let second = attached.add(image(2), "/tmp/a.png".into());
    assert_eq!(attached.add(image(1), "/tmp/a b.png".into()), first);
    let text = format!("{second} and {first}");
    let widths: Vec<u32> = attached.named_in(&text).iter().map(|image| image.width).collect();
    assert_eq!(widths, [2, 1]);
    assert_eq!(attached.as_typed(&text), "@/tmp/a.png and @\"/tmp/a b.png\"");
    assert_eq!(attached.named_in("nothing of it"), []);
}

#[test]
fn images_without_a_file_get_one_and_old_ones_go() {
    let data = tempfile::tempdir().unwrap();
    let mut attached = AttachedImages::new(data.path());
    for width in 1..=30 {
        attached.add_unnamed(image(width)).unwrap();
    }
    let kept = std::fs::read_dir(data.path().join("chat/images")).unwrap().count();
    assert_eq!(kept, FILES_MAX);
    let typed = attached.as_typed(&image(30).label(30));
    let path = typed.strip_prefix('@').unwrap();
    assert_eq!(std::fs::read(path).unwrap(), image(30).file().unwrap());
}

#[test]
fn images_of_words_that_came_back_are_known_again() {
    let data = tempfile::tempdir().unwrap();
    let mut attached = AttachedImages::new(data.path());
    let words = format!("see {}", image(3).label(7));
    attached.know_again(&words, &[image(3)]);
    assert_eq!(attached.named_in(&words), [image(3)]);
}
