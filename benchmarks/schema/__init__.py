"""The benchmarks of schemas: what it costs that a graph knows what may be in it.

`catalogs` measures a schema of five hundred types, whose text `texts` makes: reading it, planning
changes of it, writing to a graph that has it. `loads` loads the rows that `people` makes into
graphs with and without constraints; `uniques` looks at single writes and look-ups by the index of
properties, and `migrations` at changes of a schema whose types have instances.
"""
