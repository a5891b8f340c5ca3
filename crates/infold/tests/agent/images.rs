//! Images that a person sends: how each provider gets them, and that nothing that happens to a session loses them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use infold_testkit::model::{Fault, Received, Script, Step};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::scene::{ASKED, Scene, ended, normalised, signal};

const PROVIDERS: [&str; 4] = ["anthropic", "openai", "openai-chat", "ollama"];

/// A file that says it is a PNG of 1200×800 pixels, and has this many bytes behind that.
pub fn png(filling: u8, bytes: usize) -> Vec<u8> {
    sized((1200, 800), filling, bytes)
}

/// The same with other columns and rows.
pub fn sized((width, height): (u32, u32), filling: u8, bytes: usize) -> Vec<u8> {
    let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice();
    [head, &width.to_be_bytes(), &height.to_be_bytes(), &vec![filling; bytes]].concat()
}

/// Writes an image into the working folder.
pub fn put(scene: &Scene, name: &str, file: &[u8]) {
    std::fs::write(scene.file(name), file).unwrap();
}

/// The images of a request, as files.
pub fn files(received: &Received) -> Vec<Vec<u8>> {
    received.images().iter().map(|image| STANDARD.decode(&image.base64).unwrap()).collect()
}

#[tokio::test]
async fn each_provider_gets_the_images_of_a_prompt_and_again_after_a_resume_and_in_a_fork() {
    for provider in PROVIDERS {
        let scene = Scene::start(Script::new([Step::text("A button."), Step::text("Red."), Step::text("Blue.")])).await;
        // The name is no matter.
        let (first, second) = (png(1, 60_000), png(2, 500));
        put(&scene, "screen.jpg", &first);
        put(&scene, "two", &second);
        let arguments = ["--provider", provider, "--image", "screen.jpg", "--image", "two", ASKED];
        let ran = scene.exec(&arguments).await;
        assert_eq!(ran.finished(0)["answer"], "A button.", "{provider}");
        std::fs::remove_file(scene.file("screen.jpg")).unwrap();
        scene.exec(&["--provider", provider, "--resume", &ran.session(), "Which colour?"]).await.finished(0);
        scene.exec(&["--provider", provider, "--fork", &ran.session(), "And else?"]).await.finished(0);

        let turns = scene.turns();
        for turn in &turns {
            assert_eq!(files(turn), [first.clone(), second.clone()], "{provider}: {}", turn.shape());
            assert!(turn.holds("[image 1: screen.jpg, 1200×800, 61 KB]"), "{provider}: {}", turn.shape());
            assert!(turn.holds("[image 2: two, 1200×800, 1 KB]"), "{provider}: {}", turn.shape());
        }
        assert_eq!(turns.len(), 3, "{provider}");
    }
}

#[tokio::test]
async fn the_bytes_of_an_image_are_in_the_log_once_and_it_is_shown_as_its_provider_counts_it() {
    let scene = Scene::start(Script::new([Step::text("One."), Step::text("Two.")])).await;
    put(&scene, "a.png", &png(7, 300_000));
    let ran = scene.exec(&["--image", "a.png", ASKED]).await;
    ran.finished(0);
    scene.exec(&["--resume", &ran.session(), "--image", "a.png", "The same again."]).await.finished(0);
    let base64 = STANDARD.encode(png(7, 300_000));
    let log = scene.log();
    let with_bytes = log.iter().filter(|record| record.to_string().contains(&base64[..1_000])).count();
    assert_eq!(with_bytes, 1);
    let image = log.iter().find(|record| record["happened"] == "image").unwrap();
    assert_eq!((&image["media_type"], &image["data"]), (&json!("image/png"), &json!(base64)));
    let exported = scene.run(&["export", &ran.session()]).await;
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    assert!(exported.stdout.contains(&base64), "an export has everything");

    // Claude counts a token for each 750 pixels: 1,280 for each of the two messages with the image.
    let plain = Scene::start(Script::new([Step::text("One."), Step::text("Two.")])).await;
    let without = plain.exec(&[ASKED]).await;
    without.finished(0);
    plain.exec(&["--resume", &without.session(), "The same again."]).await.finished(0);
    let more = context_tokens(&scene, &ran).await - context_tokens(&plain, &without).await;
    assert!((2 * 1_280..2 * 1_280 + 200).contains(&more), "{more}");
}

async fn context_tokens(scene: &Scene, ran: &super::scene::Ran) -> u64 {
    let shown = scene.run(&["show", "--json", &ran.session()]).await;
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    shown["context_tokens"].as_u64().unwrap()
}

#[tokio::test]
async fn after_a_kill_the_next_request_has_the_same_bytes() {
    let stalled = Step::failing(Fault::StallAfter { bytes: 0 });
    let scene = Scene::start(Script::new([stalled, Step::text("A button.")])).await;
    put(&scene, "a.png", &png(3, 2_000_000));
    let child = scene.begin(&["--image", "a.png", ASKED]);
    scene.model.until_sent(|_| true).await;
    signal(&child, Signal::KILL);
    ended(child).await;
    std::fs::remove_file(scene.file("a.png")).unwrap();
    scene.exec(&["--continue"]).await.finished(0);
    let turns = scene.turns();
    assert_eq!(files(&turns[0]), [png(3, 2_000_000)]);
    assert_eq!(normalised(&turns[0]), normalised(&turns[1]));
}

#[tokio::test]
async fn going_back_gives_the_same_request_with_its_image_and_without_a_later_one() {
    let steps = ["One.", "Two.", "Another two."].map(Step::text);
    let scene = Scene::start(Script::new(steps)).await;
    put(&scene, "a.png", &png(1, 1_000));
    put(&scene, "b.png", &png(2, 1_000));
    let ran = scene.exec(&["--image", "a.png", ASKED]).await;
    ran.finished(0);
    scene.exec(&["--resume", &ran.session(), "--image", "b.png", "Now this."]).await.finished(0);
    let listed = scene.run(&["rewind", &ran.session(), "--json"]).await;
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let points = listed["points"].as_array().unwrap();
    let answered = points.iter().find(|point| point["words"] == "One.").unwrap()["record"].to_string();
    assert_eq!(scene.run(&["rewind", &ran.session(), "--to", &answered]).await.code, 0);
    scene.exec(&["--resume", &ran.session(), "Now this."]).await.finished(0);
    let turns = scene.turns();
    assert_eq!(files(&turns[1]), [png(1, 1_000), png(2, 1_000)]);
    assert_eq!(files(&turns[2]), [png(1, 1_000)]);
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_with_a_reason_before_anything_happens() {
    let scene = Scene::start(Script::new([Step::text("Never.")])).await.set("agent.image_bytes_max=5000");
    put(&scene, "long.png", &png(1, 6_000));
    put(&scene, "text.png", b"hello");
    std::fs::create_dir(scene.file("folder.png")).unwrap();
    for (file, why) in [
        ("long.png", "long.png has 6,024 bytes, and an image may have 5,000"),
        ("text.png", "those are PNG, JPEG, GIF and WebP"),
        ("folder.png", "is no file"),
        ("missing.png", "cannot read missing.png"),
    ] {
        let ran = scene.exec(&["--image", file, ASKED]).await;
        assert_eq!(ran.code, 3, "{file}: {ran:?}");
        assert!(ran.stderr.contains(why) || ran.stdout.contains(why), "{file}: {ran:?}");
    }
    assert_eq!(scene.log(), Vec::<Value>::new());
    let scene = Scene::start(Script::new([Step::text("One.")])).await.set("agent.images_bytes_max=3000");
    put(&scene, "a.png", &png(1, 2_000));
    put(&scene, "b.png", &png(2, 2_000));
    let ran = scene.exec(&["--image", "a.png", ASKED]).await;
    ran.finished(0);
    let more = scene.exec(&["--resume", &ran.session(), "--image", "b.png", "And this?"]).await;
    assert!(more.finished(3)["problem"].to_string().contains("4,048 bytes together"), "{more:?}");
}

#[tokio::test]
async fn a_model_that_takes_no_images_leaves_the_session_as_it_was() {
    for provider in PROVIDERS {
        let scene = Scene::start(Script::new([Step::text("Hello."), Step::text("Without.")])).await;
        put(&scene, "a.png", &png(1, 1_000));
        let flags = ["--provider", provider, "--model", "text-only-1"];
        let ran = scene.exec(&[&flags[..], &[ASKED]].concat()).await;
        ran.finished(0);
        let session = ran.session();
        let resumed = [&flags[..], &["--resume", &session]].concat();
        let refused = scene.exec(&[&resumed[..], &["--image", "a.png", "See this."]].concat()).await;
        let problem = refused.finished(6)["problem"].to_string();
        assert!(problem.contains("image") && problem.contains("choose another model"), "{provider}: {problem}");
        let after = scene.exec(&[&resumed[..], &["Go on without it."]].concat()).await;
        assert_eq!(after.finished(0)["answer"], "Without.", "{provider}");
        let last = scene.model.turns().pop().unwrap();
        assert!(!last.holds("See this.") && files(&last).is_empty(), "{provider}: {}", last.shape());
    }
}

#[tokio::test]
async fn older_images_are_left_out_for_a_model_that_takes_none_and_the_work_goes_on() {
    let scene = Scene::start(Script::new([Step::text("A button."), Step::text("I see none.")])).await;
    put(&scene, "a.png", &png(1, 1_000));
    let ran = scene.exec(&["--image", "a.png", ASKED]).await;
    ran.finished(0);
    let after = scene.exec(&["--resume", &ran.session(), "--model", "text-only-1", "Which colour?"]).await;
    assert_eq!(after.finished(0)["answer"], "I see none.");
    assert!(after.warnings().iter().any(|warning| warning.contains("left out")), "{:?}", after.warnings());
    let last = scene.model.turns().pop().unwrap();
    assert!(last.holds("Images of this message are left out") && files(&last).is_empty(), "{}", last.shape());
}
