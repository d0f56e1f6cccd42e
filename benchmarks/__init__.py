"""The benchmarks compare Mycel with plain SQLite in the same run.

`__main__` is the command line. `databases` provides two files of the same graph, one made by Mycel
and one by the baseline; `loads` is the child process that makes one of them. `graphs` generates the
data, and `ours` and `plain` are the two contenders. The measures are in `reads`, `writes`,
`proofs`, `startup` and `checks`, and in packages such as `kip` and `schema`. `timing` lets
contenders take turns, and `report` shows the results.

`docs/benchmarks.md` says how to run them and how to read their output.
"""
