"""Search by words: the text of an element, and its fit to a question.

Modules:

- `names`      names of an element: keys, segments, parts of identifiers
- `kinds`      notes and code, and questions that ask for code
- `analysis`   the text of an element, and the terms of a question, for the full-text index
- `snippets`   the part of a text that has the words of a question
- `ranking`    the stages of a search, and their scores
- `validity`   values that say that an element may no longer be true
- `embedding`  the interface of embedders, and the modes of a search
"""
