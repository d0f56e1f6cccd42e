"""The benchmarks of schemas: the costs of declaring the content of a graph.

`catalogs` measures a schema of five hundred types, whose text `texts` makes: reading it, planning
changes, and writing to a graph with it. `loads` loads the rows that `people` makes into graphs with
and without constraints. `uniques` measures single writes and look-ups with the index of properties,
and `migrations` changes of a schema whose types have instances.
"""
