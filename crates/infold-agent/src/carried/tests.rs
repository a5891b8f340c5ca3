//! What a compaction keeps of images.

use infold_core::Family;

use super::*;

fn image(id: u64, bytes: u64) -> AttachedImage {
    let (name, media_type) = (format!("{id}.png"), "image/png".to_owned());
    AttachedImage { id, name, media_type, width: 750, height: 100, bytes, data: None }
}

fn said(images: Vec<AttachedImage>) -> ThreadEntry {
    ThreadEntry::User { text: "look".to_owned(), by: SpokenBy::Person, images }
}

#[test]
fn the_newest_images_that_fit_stay_and_the_others_are_named() {
    let counter = Counter::new(Family::Claude);
    let entries = [said(vec![image(1, 60), image(2, 30)]), said(vec![image(3, 50)]), said(vec![image(3, 50)])];
    let bounds = CarryBounds { bytes_max: 100, tokens_max: 1_000 };
    let carried = CarriedImages::of(&entries, bounds, &counter);
    assert_eq!(carried.tokens(&counter), 200);
    let entry = carried.entry(&[ThreadPiece::Summary { text: String::new() }], &entries).unwrap();
    let ids: Vec<u64> = entry.images().iter().map(|image| image.id).collect();
    assert_eq!(ids, [2, 3]);
    let ThreadEntry::User { text, by: SpokenBy::Agent, .. } = &entry else { panic!("{entry:?}") };
    assert!(text.contains("sent earlier: 2.png, 750×100, 1 KB; 3.png"), "{text}");
    assert!(text.contains("no room for them: 1.png, 750×100, 1 KB."), "{text}");

    // The next compaction names it again.
    let entries = [entry, said(vec![image(4, 90)])];
    let next = CarriedImages::of(&entries, bounds, &counter);
    let entry = next.entry(&[ThreadPiece::Kept { item: 1 }], &entries).unwrap();
    let ThreadEntry::User { text, .. } = &entry else { panic!("{entry:?}") };
    assert!(text.contains("no room for them: 1.png, 750×100, 1 KB; 2.png"), "{text}");
}

#[test]
fn an_image_whose_words_stay_is_not_said_twice() {
    let counter = Counter::new(Family::Claude);
    let entries = [said(vec![image(1, 10)]), said(vec![image(2, 10)])];
    let bounds = CarryBounds { bytes_max: 100, tokens_max: 150 };
    let carried = CarriedImages::of(&entries, bounds, &counter);
    let entry = carried.entry(&[ThreadPiece::Kept { item: 1 }], &entries).unwrap();
    assert_eq!(entry.images(), [], "the second is where it was, the first is beyond the bound of tokens");
    let all = CarriedImages::of(&entries, CarryBounds { bytes_max: 100, tokens_max: 500 }, &counter);
    assert!(all.entry(&[ThreadPiece::Kept { item: 0 }, ThreadPiece::Kept { item: 1 }], &entries).is_none());
}
