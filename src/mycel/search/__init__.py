"""Finding by words: what of an element is searched, and how text is cut into terms.

Modules:

- `analysis`   the text of an element, and the terms of a query, for the full-text index
- `embedding`  what turns text into vectors, and the modes of a search
"""
