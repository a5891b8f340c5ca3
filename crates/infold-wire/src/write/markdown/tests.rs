//! Tests of a transcript as Markdown.

use crate::testing::everything;
use crate::write::write_markdown;

const EVERYTHING: &str = r#"# Session s

## Instructions

```
rules
```

## User

go

## Model

> hm

yes

Call of `Read` (c1):

```json
{"path": "a"}
```

Call of `patch` (c2):

```json
*** Begin
```

## Results

Result of `Read` (c1, succeeded):

```
whole
```

Result of `patch` (c2, failed, no longer shown to the model):

```
old
```

## Results cleared

Calls: c2

## Compaction

what was

## Other content

Content of the kind `image`:

```json
{"type":"image","source":{}}
```

## Model

Call of `Read` (c3):

```json
{}
```
"#;

#[test]
fn every_kind_of_item_has_its_place() {
    assert_eq!(write_markdown(&everything()).text, EVERYTHING);
}

#[test]
fn fences_are_longer_than_any_in_the_text() {
    let mut text = String::new();
    super::fenced(&mut text, "", "a\n````\nb");
    assert_eq!(text, "\n`````\na\n````\nb\n`````\n");
}
