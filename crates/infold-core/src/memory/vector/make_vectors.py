#!/usr/bin/env python3
"""Makes `vectors.bin` from WordLlama's wheel: `pip download --no-deps wordllama==0.4.0.post1`, then
`python3 make_vectors.py WHEEL vectors.bin`. Needs nothing but Python.

Of 32,000 tokens those are kept that the reader of `vector.rs` can find: letters of ASCII, or one digit, at the beginning
of a word (written with a blank in front) or inside it. Of 256 numbers each the first 64 are kept, as signed bytes,
rare tokens with larger ones.

The file: the number of tokens (u32, little endian), the numbers of a vector (u32), the tokens in order, each with its
length in a byte before it, and then the vectors in the same order.
"""
import json
import re
import struct
import sys
import zipfile

DIMENSIONS = 64
WEIGHTS = "wordllama/weights/l2_supercat_256.safetensors"
TOKENS = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"


def worth(row):
    """What a token counts: those that are common come first in the vocabulary, and say less."""
    return ((row + 100) / 32_100) ** 0.5


def main(wheel_path, out_path):
    with zipfile.ZipFile(wheel_path) as wheel:
        weights, tokenizer = wheel.read(WEIGHTS), json.loads(wheel.read(TOKENS))
    header_bytes = struct.unpack_from("<Q", weights)[0]
    tensor = json.loads(weights[8 : 8 + header_bytes])["embedding.weight"]
    assert tensor["dtype"] == "F16", tensor
    width, start = tensor["shape"][1], 8 + header_bytes + tensor["data_offsets"][0]

    vocabulary = tokenizer["model"]["vocab"]
    usable = re.compile("\u2581?([A-Za-z]+|[0-9])")
    tokens = {text.replace("\u2581", " "): row for text, row in vocabulary.items() if usable.fullmatch(text)}
    vectors = {
        text: [number * worth(row) for number in struct.unpack_from(f"<{DIMENSIONS}e", weights, start + 2 * width * row)]
        for text, row in tokens.items()
    }
    scale = 127 / max(abs(number) for vector in vectors.values() for number in vector)
    order = sorted(tokens, key=lambda text: text.encode())
    with open(out_path, "wb") as out:
        out.write(struct.pack("<II", len(order), DIMENSIONS))
        for text in order:
            out.write(bytes([len(text)]) + text.encode())
        for text in order:
            out.write(struct.pack(f"{DIMENSIONS}b", *(round(number * scale) for number in vectors[text])))


if __name__ == "__main__":
    main(*sys.argv[1:])
