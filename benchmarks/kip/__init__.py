"""The benchmarks of KIP beside SQL written by hand.

`finds` compares FIND with the SQL in `handwritten` on the same file. `language` measures parsing
and the cache of plans, `capsules` a large UPSERT, `sweeps` changes of very many elements, and
`others` further commands for information.
"""
