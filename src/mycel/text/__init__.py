"""Analysis of texts: the indexed text of an element, and the terms of a question.

Modules:

- `names`      names of an element: keys, segments, parts of identifiers
- `kinds`      notes and code, and questions that ask for code
- `analysis`   the text of an element, and the terms of a question, for the full-text index
- `queries`    queries of the text index: some or all of a few phrases
- `bm25`       the weight of a term in a text, as FTS5 computes it
- `redaction`  secrets in a text, and their replacement
- `snippets`   the part of a text that has the words of a question
"""
