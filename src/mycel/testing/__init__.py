"""What users of Mycel need to test against it: disks that fail, tear writes or lose power.

Modules, in the order in which an operation of SQLite passes through them:

- `native`  SQLite's VFS structures by ctypes: every change to a file is asked of Python
- `faults`  the disks themselves: operations are counted, and fail, tear or kill as planned
- `disk`    the model of a disk with a volatile cache: what a power cut could leave
"""

from mycel.testing.faults import FaultPlan, FaultVFS, Operation, PowerLossVFS

__all__ = ["FaultPlan", "FaultVFS", "Operation", "PowerLossVFS"]
