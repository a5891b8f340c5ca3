//! What each kind of block looks like.

use insta::assert_snapshot;

use super::{shown, toned};

#[test]
fn headings_and_paragraphs() {
    assert_snapshot!(toned("# One\ntext\nmore\n## Two *it*\n\nThree\n=====\nFour\n---\n", 30), @"
    *_<One>

    text more

    *<Two >*/<it>

    *_<Three>

    *<Four>
    ");
}

#[test]
fn emphasis_code_and_links() {
    let text =
        "a **b *c* d** ~~e~~ `f g` [h](https://i.example/j \"t\") <https://k.example> ![l](m.png) <me@n.example>";
    assert_snapshot!(toned(text, 200), @"a *<b >*/<c>*< d> ~<e> `f g` _<h>.< (https://i.example/j)> _<https://k.example> [image: l].< (m.png)> _<me@n.example>");
}

#[test]
fn lists_inside_of_lists() {
    let text = "- one\n  - two words that wrap\n    1. three\n    1. four\n- [ ] open\n- [x] done\n\n  second paragraph\n\n3) five\n4) six\n-\n- seven";
    assert_snapshot!(shown(text, 16), @"
    - one
      - two words
        that wrap
        1. three
        2. four
    - [ ] open
    - [x] done

      second
      paragraph

    3) five
    4) six
    -
    - seven
    ");
}

#[test]
fn quotes() {
    assert_snapshot!(shown("> one two three four\n> > five\n>\n> - six\n> seven\nlazy\n\nafter", 14), @"
    │ one two
    │ three four
    │ │ five
    │
    │ - six seven
    │   lazy

    after
    ");
}

#[test]
fn code_in_fences_and_indented() {
    let text = "```rust title=x\nfn\tmain() {\n\n}\n```\ntext\n\n    indented\n\n      more\n\n~~~\n```\n~~~\n- a\n  ```\n    x\n  ```";
    assert_snapshot!(toned(text, 30), @"
    .<```rust title=x>
    fn  main() {

    }
    .<```>

    text

        indented

          more

    .<~~~>
    ```
    .<~~~>

    .<- >a
    .<  >.<```>
    .<  >  x
    .<  >.<```>
    ");
    assert_snapshot!(shown("```\nabcdefghij\n", 4), @"
    ```
    abcd
    efgh
    ij
    ");
}

#[test]
fn rules() {
    assert_snapshot!(shown("a\n\n---\n\n> ***\n", 10), @"
    a

    ──────────

    │ ────────
    ");
}

#[test]
fn tables_fit_wrap_or_become_lists() {
    let text =
        "| Name | Value of it | N |\n|---|:---:|--:|\n| one | a **b** | 1 |\n| two | some longer words here | 100 |\n";
    assert_snapshot!(shown(text, 60), @"
    Name │      Value of it       │   N
    ─────┼────────────────────────┼────
    one  │          a b           │   1
    two  │ some longer words here │ 100
    ");
    assert_snapshot!(shown(text, 28), @"
    Name │   Value of it   │   N
    ─────┼─────────────────┼────
    one  │       a b       │   1
    ─────┼─────────────────┼────
    two  │   some longer   │ 100
         │   words here    │
    ");
    assert_snapshot!(shown(text, 16), @"
    Name: one
    Value of it: a b
    N: 1

    Name: two
    Value of it:
    some longer
    words here
    N: 100
    ");
    assert_snapshot!(shown(&format!("- item\n\n  {}", text.replace('\n', "\n  ")), 60), @"
    - item

      Name │      Value of it       │   N
      ─────┼────────────────────────┼────
      one  │          a b           │   1
      two  │ some longer words here │ 100
    ");
}

#[test]
fn html_is_text() {
    assert_snapshot!(shown("<div class=\"a\">\nb\n</div>\n\nc <b>d</b> <!-- e -->", 40), @r#"
    <div class="a">
    b
    </div>

    c <b>d</b> <!-- e -->
    "#);
}

#[test]
fn definitions_of_addresses_stay() {
    assert_snapshot!(shown("see [a][1]\n\n[1]: https://b.example 'c'\n", 40), @"
    see [a][1]

    [1]: https://b.example 'c'
    ");
}

#[test]
fn hard_breaks_and_escapes() {
    assert_snapshot!(shown("one  \ntwo\\\nthree \\*no\\* &amp; &lt;\n1986\\. A year\n2. not a list", 40), @"
    one
    two
    three *no* & < 1986. A year 2. not a
    list
    ");
}

#[test]
fn wide_characters_are_wrapped_by_their_width() {
    assert_snapshot!(shown("- 漢字漢字漢字 and 👩\u{200d}👧 e\u{301}\n", 9), @"
    - 漢字漢
      字漢字
      and 👩‍👧
      é
    ");
}

#[test]
fn nothing_steers_the_terminal() {
    let text = "a\u{1b}[31mb &#27;[2J &#x202e;c\u{202e} `\u{9b}K`\r\n\r\n```\n\u{1b}]0;x\u{7}\n```\n";
    assert_snapshot!(shown(text, 60), @"
    a␛[31mb ␛[2J c ␛K

    ```
    ␛]0;x
    ```
    ");
}

#[test]
fn the_tone_of_code_is_there_without_colour_too() {
    assert_eq!(toned("a `b` c", 20), "a `b` c");
    assert_eq!(shown("a `b` c", 20), "a b c");
}
