"""The benchmarks of KIP: what the language costs beside SQL written by hand.

`finds` compares FIND with what `handwritten` gets from the same file; `language` measures parsing
and the cache of plans, `capsules` a large UPSERT, `sweeps` changes of very many elements, and
`others` the rest, for information.
"""
