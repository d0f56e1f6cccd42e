"""Finding by words: what of an element is searched, and how well it fits a question.

Modules:

- `names`      what an element is called: keys, segments, parts of identifiers
- `analysis`   the text of an element, and the terms of a question, for the full-text index
- `snippets`   the part of a text that has the words of a question
- `ranking`    the stages of a search, and what each is worth
- `embedding`  what turns text into vectors, and the modes of a search
"""
