"""The benchmarks of `mycel bootstrap`: a first run, and a run without changes.

- `corpus`  a project of 3,000 files, copied from the standard library and installed packages
- `runs`    the measures
- `references` uses of symbols, compared with those that a type-aware tool finds
"""
