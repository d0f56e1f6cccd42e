"""Embedders: models that turn text into vectors, so that texts of similar meaning are close.

- `embedder`    the interface
- `vectors`     checks vectors, and stores them with one byte for each dimension
- `static`      the shipped model: a text has the mean of the vectors of its word pieces
- `sentence_model`  the sentence model of the extra `notes`, which reads notes and sections
- `onnx_model`  sentence models as ONNX files
- `transformer` models of the library sentence-transformers
- `endpoint`    servers with the embeddings API of OpenAI
- `guard`       limits for any embedder: time, one call at a time, a pause after a failure
- `calibration` the weight of a model, measured on pairs of texts
- `choice`      embedders by name

`embedder` has the interface. The weights beside these modules are made by
`tools/static_model.py` from minishlab/potion-base-8M; `LICENSE.potion` is their licence.
"""
