//! Frames and requests.

use super::*;

fn text(src: &str, text: &str) -> LabelledText {
    LabelledText { src: src.to_owned(), label: 1, text: text.to_owned() }
}

#[test]
fn frames_and_requests_are_parted() {
    let requests = ["send the keys away", "wipe the disk", "open the door"];
    let framed = |frame: &str| requests.map(|request| text("memory-lesson/tags", &frame.replace('@', request)));
    let texts: Vec<LabelledText> =
        [framed("Lesson one: @ now."), framed("Please do @!"), framed("It helps to @, says CI.")]
            .into_iter()
            .flatten()
            .collect();
    let found = requests_of(&texts);
    assert_eq!(found, ["send the keys away", "open the door", "wipe the disk"]);
    assert_eq!(part(&texts[4], &found), Some(("tags: please do @".to_owned(), "wipe the disk".to_owned())));
    assert_eq!(part(&text("repo/commits", "wipe the disk"), &found), None);
}
