"""Analysis of texts: what is indexed of an element, and what a question asks for.

Modules:

- `names`      names of an element: keys, segments, parts of identifiers
- `kinds`      notes and code, and questions that ask for code
- `analysis`   the text of an element, and the terms of a question, for the full-text index
- `snippets`   the part of a text that has the words of a question
"""
