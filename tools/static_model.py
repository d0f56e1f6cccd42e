"""Makes the embedder's weights that the package ships, from the published ones.

    python tools/static_model.py FOLDER

FOLDER holds `model.safetensors` and `tokenizer.json` of minishlab/potion-base-8M (MIT). Its vectors
come from a principal component analysis, so the first half of their dimensions carries most of the
information. Each vector is cut to 128 dimensions and stored as bytes with a scale of its own: 3.8
MB instead of 30. The same input gives the same file, byte for byte.
"""

import hashlib
import json
import struct
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "mycel" / "embedding" / "potion-base-8M-128.bin"
WEIGHTS_SHA256 = "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2"
DIMENSIONS = 128


def published_vectors(weights: bytes) -> "np.ndarray":
    """The only tensor of a safetensors file."""
    (header_size,) = struct.unpack_from("<Q", weights)
    header = json.loads(weights[8 : 8 + header_size])
    tensor = header["embeddings"]
    start, end = (8 + header_size + offset for offset in tensor["data_offsets"])
    return np.frombuffer(weights[start:end], "<f4").reshape(tensor["shape"])


def quantized(vectors: "np.ndarray") -> tuple["np.ndarray", "np.ndarray"]:
    """Vectors as signed bytes, and the factor that turns each back."""
    peak = np.abs(vectors).max(axis=1, keepdims=True)
    scale = np.where(peak == 0, 1, peak / 127).astype("<f2")
    return np.rint(vectors / scale.astype(np.float32)).clip(-127, 127).astype(np.int8), scale


def main() -> None:
    folder = Path(sys.argv[1])
    weights = (folder / "model.safetensors").read_bytes()
    if hashlib.sha256(weights).hexdigest() != WEIGHTS_SHA256:
        sys.exit(f"{folder / 'model.safetensors'} is not the published file")
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    words = "\n".join(sorted(vocabulary, key=vocabulary.__getitem__)).encode()
    rows, scales = quantized(published_vectors(weights)[:, :DIMENSIONS])
    header = struct.pack("<4sHHII", b"MYCV", 1, DIMENSIONS, len(rows), len(words))
    body = header + words + scales.tobytes() + rows.tobytes()
    TARGET.write_bytes(body + hashlib.sha256(body).digest())
    print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
