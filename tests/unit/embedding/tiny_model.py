"""Makes the sentence model in `tiny/`: `python -m tests.unit.embedding.tiny_model` (needs onnx).

A table of vectors of four numbers for a few words. Padding has a vector as well, a large one: it
shows in every vector if padding is not left out.
"""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).with_name("tiny")
WORDS = {
    "[PAD]": (9, 9, 9, 9),
    "[UNK]": (0, 0, 0, 1),
    "car": (1, 0, 0, 0),
    "automobile": (1, 0.1, 0, 0),
    "repair": (0, 1, 0, 0),
    "honey": (0, 0, 1, 0),
    "bee": (0, 0.1, 1, 0),
}


def main() -> None:
    """Write the model and its tokenizer."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    table = numpy_helper.from_array(np.array(list(WORDS.values()), np.float32), "table")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["texts", "tokens", 4]
    )
    node = helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    graph = helper.make_graph([node], "tiny", inputs, [output], [table])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8, producer_name="mycel"
    )
    onnx.checker.check_model(model)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "model.onnx").write_bytes(model.SerializeToString())
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(WORDS)},
            "unk_token": "[UNK]",
        },
    }
    (FOLDER / "tokenizer.json").write_text(json.dumps(tokenizer, indent=1) + "\n")


if __name__ == "__main__":
    main()
