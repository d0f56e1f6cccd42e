"""Tools for users of Mycel to test against it.

The modules are disks that fail, tear writes or lose power, in the order in which an operation of
SQLite passes through them:

- `native`  SQLite's VFS structures by ctypes: Python decides about every change to a file
- `faults`  the disks themselves: operations are counted, and fail, tear or kill as planned
- `disk`    the model of a disk with a volatile cache, and of a power cut
"""

from mycel.testing.faults import FaultPlan, FaultVFS, Operation, PowerLossVFS

__all__ = ["FaultPlan", "FaultVFS", "Operation", "PowerLossVFS"]
