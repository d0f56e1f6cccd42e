"""What users of Mycel need to test against it.

- `faults`: disks that fail, tear writes, lose power or kill the process.
"""

__all__: list[str] = []
