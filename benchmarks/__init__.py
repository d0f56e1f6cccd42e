"""The benchmarks: what Mycel costs beside plain SQLite, measured in one and the same run.

`__main__` is the command line. It asks `databases` for two files of the same graph, one of ours and
one of the baseline; `loads` is the child process that makes one of them. `graphs` generates the
data, `ours` and `plain` are the two contenders. The measures are in `reads`, `writes`, `proofs`,
`startup` and `checks`, and in the packages `kip` and `schema`; `timing` is how they take turns, and
`report` what becomes of the numbers.

`docs/benchmarks.md` says how to run them and how to read what they print.
"""
