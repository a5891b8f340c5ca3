//! Which letters pass for which: a small part of what Unicode calls compatible or confusable, that of Latin letters.

/// Letters with marks, in the order of the letters that they are without.
const MARKED: [(char, &str); 25] = [
    ('a', "àáâãäåāăąǎạảấầẩẫậắằẳẵặ"),
    ('b', "ḃḅ"),
    ('c', "çćĉċč"),
    ('d', "ďđḍ"),
    ('e', "èéêëēĕėęěẹẻẽếềểễệ"),
    ('f', "ḟƒ"),
    ('g', "ĝğġģǧ"),
    ('h', "ĥħḥ"),
    ('i', "ìíîïĩīĭįıǐỉị"),
    ('j', "ĵǰ"),
    ('k', "ķǩḳ"),
    ('l', "ĺļľŀłḷ"),
    ('m', "ṁṃ"),
    ('n', "ñńņňŉṅṇ"),
    ('o', "òóôõöøōŏőǒọỏốồổỗộớờởỡợ"),
    ('p', "ṗ"),
    ('r', "ŕŗřṛ"),
    ('s', "śŝşšșṣſ"),
    ('t', "ţťŧțṭ"),
    ('u', "ùúûüũūŭůűųǔụủứừửữự"),
    ('v', "ṽṿ"),
    ('w', "ŵẁẃẅ"),
    ('x', "ẋẍ"),
    ('y', "ýÿŷỳỵỷỹ"),
    ('z', "źżžẓ"),
];

/// Small letters of other alphabets that look like a Latin one.
const TWINS: [(char, char); 58] = [
    ('а', 'a'),
    ('е', 'e'),
    ('о', 'o'),
    ('р', 'p'),
    ('с', 'c'),
    ('у', 'y'),
    ('х', 'x'),
    ('і', 'i'),
    ('ї', 'i'),
    ('ј', 'j'),
    ('ѕ', 's'),
    ('ԁ', 'd'),
    ('һ', 'h'),
    ('ӏ', 'l'),
    ('в', 'b'),
    ('к', 'k'),
    ('м', 'm'),
    ('н', 'h'),
    ('т', 't'),
    ('ԛ', 'q'),
    ('ԝ', 'w'),
    ('ѵ', 'v'),
    ('г', 'r'),
    ('ё', 'e'),
    ('ѐ', 'e'),
    ('α', 'a'),
    ('β', 'b'),
    ('ε', 'e'),
    ('η', 'n'),
    ('ι', 'i'),
    ('κ', 'k'),
    ('μ', 'u'),
    ('ν', 'v'),
    ('ο', 'o'),
    ('ρ', 'p'),
    ('τ', 't'),
    ('υ', 'u'),
    ('χ', 'x'),
    ('γ', 'y'),
    ('ω', 'w'),
    ('σ', 'o'),
    ('ζ', 'z'),
    ('ϲ', 'c'),
    ('ϳ', 'j'),
    ('ɑ', 'a'),
    ('ɡ', 'g'),
    ('ɩ', 'i'),
    ('օ', 'o'),
    ('ս', 'u'),
    ('ո', 'n'),
    ('հ', 'h'),
    ('ց', 'g'),
    ('զ', 'q'),
    ('ᴏ', 'o'),
    ('ᴄ', 'c'),
    ('ꜱ', 's'),
    ('ɪ', 'i'),
    ('ɴ', 'n'),
];

/// The Latin letter that a small letter looks like.
pub(super) fn twin(c: char) -> Option<char> {
    TWINS.iter().find(|(foreign, _)| *foreign == c).map(|(_, latin)| *latin)
}

/// The ASCII character that a character is a wide, round, mathematical or marked form of, or itself.
pub(super) fn plain_letter(c: char) -> char {
    let small = |at: u32| char::from_u32(u32::from('a') + at % 26).unwrap_or(c);
    match u32::from(c) {
        0..=0x7f => c,
        code @ 0xff01..=0xff5e => char::from_u32(code - 0xff01 + 0x21).unwrap_or(c),
        code @ 0x1d400..=0x1d6a3 => small(code - 0x1d400),
        code @ 0x1d7ce..=0x1d7ff => char::from_u32(u32::from('0') + (code - 0x1d7ce) % 10).unwrap_or(c),
        code @ 0x24b6..=0x24e9 => small(code - 0x24b6),
        code @ (0x1f110..=0x1f129 | 0x1f130..=0x1f149 | 0x1f150..=0x1f169 | 0x1f170..=0x1f189 | 0x1f1e6..=0x1f1ff) => {
            let from = [0x1f110, 0x1f130, 0x1f150, 0x1f170, 0x1f1e6].into_iter().rev().find(|from| *from <= code);
            small(code - from.unwrap_or(code))
        }
        code @ 0x249c..=0x24b5 => small(code - 0x249c),
        0xa0 | 0x2000..=0x200a | 0x202f | 0x205f | 0x3000 => ' ',
        0x2018 | 0x2019 | 0x201b | 0x2bc => '\'',
        0x201c..=0x201f => '"',
        0x2010..=0x2015 | 0x2212 => '-',
        _ => marked(c),
    }
}

fn marked(c: char) -> char {
    let lower = c.to_lowercase().next().unwrap_or(c);
    MARKED.iter().find(|(_, forms)| forms.contains(lower)).map_or(c, |(plain, _)| *plain)
}
