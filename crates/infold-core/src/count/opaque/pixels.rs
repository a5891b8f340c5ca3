//! How large an image is, read from the beginning of its file, and how many tokens that is.

/// How much of an image's base64 is decoded: some images have long notes before their size.
const HEAD_CHARS_MAX: usize = 1 << 18;
/// Pixels for each token, where a provider counts pixels.
const PIXELS_PER_TOKEN: f64 = 750.0;
/// Where a provider counts tiles, it first scales the image to fit this square, and then its shorter side to the next
/// figure.
const TILES_EDGE_MAX: f64 = 2_048.0;
const TILES_SHORT_EDGE_MAX: f64 = 768.0;
const TILE_EDGE: f64 = 512.0;
const TILES_BASE_TOKENS: u64 = 70;
const TILE_TOKENS: u64 = 140;

/// The size of an image in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pixels {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Pixels {
    /// Tokens where a provider counts pixels, after it has scaled the longer side down to `edge_max`.
    pub fn pixels_tokens(self, edge_max: u32, tokens_max: u64) -> u64 {
        let (width, height) = self.scaled(f64::from(edge_max) / f64::from(self.width.max(self.height)));
        ((width * height / PIXELS_PER_TOKEN).ceil() as u64).clamp(1, tokens_max)
    }

    /// Tokens where a provider counts tiles of 512 pixels.
    pub fn tiles_tokens(self) -> u64 {
        let (width, height) = self.scaled(TILES_EDGE_MAX / f64::from(self.width.max(self.height)));
        let scale = (TILES_SHORT_EDGE_MAX / width.min(height)).min(1.0);
        let tiles = |side: f64| (side * scale / TILE_EDGE).ceil().max(1.0) as u64;
        TILES_BASE_TOKENS + TILE_TOKENS * tiles(width) * tiles(height)
    }

    /// The sides multiplied by `scale`, but never made larger.
    fn scaled(self, scale: f64) -> (f64, f64) {
        let scale = scale.min(1.0);
        (f64::from(self.width) * scale, f64::from(self.height) * scale)
    }
}

/// The size of a PNG, JPEG, GIF or WebP in base64; `None` if it cannot be read.
pub fn pixels_of_image(base64: &str) -> Option<Pixels> {
    pixels_of_file(&decoded(&base64[..base64.len().min(HEAD_CHARS_MAX)]))
}

/// The size of a PNG, JPEG, GIF or WebP, from the beginning of its file; `None` if it cannot be read.
pub fn pixels_of_file(bytes: &[u8]) -> Option<Pixels> {
    let size = match bytes {
        [0x89, b'P', b'N', b'G', ..] => sides(be32(bytes, 16)?, be32(bytes, 20)?),
        [b'G', b'I', b'F', ..] => sides(le16(bytes, 6)?, le16(bytes, 8)?),
        [b'R', b'I', b'F', b'F', ..] => webp(bytes)?,
        [0xff, 0xd8, ..] => jpeg(bytes)?,
        _ => return None,
    };
    (size.width > 0 && size.height > 0).then_some(size)
}

fn sides(width: u32, height: u32) -> Pixels {
    Pixels { width, height }
}

fn webp(bytes: &[u8]) -> Option<Pixels> {
    match bytes.get(12..16)? {
        b"VP8 " => Some(sides(le16(bytes, 26)? & 0x3fff, le16(bytes, 28)? & 0x3fff)),
        b"VP8L" => {
            let packed = le16(bytes, 21)? | (le16(bytes, 23)? << 16);
            Some(sides((packed & 0x3fff) + 1, ((packed >> 14) & 0x3fff) + 1))
        }
        b"VP8X" => Some(sides(le24(bytes, 24)? + 1, le24(bytes, 27)? + 1)),
        _ => None,
    }
}

/// The size in a JPEG: goes from segment to segment to the one that begins the picture.
fn jpeg(bytes: &[u8]) -> Option<Pixels> {
    let mut at = 2;
    loop {
        let marker = *bytes.get(at + 1)?;
        if *bytes.get(at)? != 0xff {
            return None;
        }
        let begins_picture = (0xc0..=0xcf).contains(&marker) && ![0xc4, 0xc8, 0xcc].contains(&marker);
        if begins_picture {
            return Some(sides(be16(bytes, at + 7)?, be16(bytes, at + 5)?));
        }
        // Markers may be filled up with bytes of their own kind, which have no length.
        at += if marker == 0xff { 1 } else { 2 + be16(bytes, at + 2)? as usize };
    }
}

fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn le24(bytes: &[u8], at: usize) -> Option<u32> {
    Some(le16(bytes, at)? | (u32::from(*bytes.get(at + 2)?) << 16))
}

/// Decodes base64 up to the first character that is not part of it.
fn decoded(base64: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(base64.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for value in base64.bytes().map_while(value_of) {
        bits = (bits << 6) | value;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}

fn value_of(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}
