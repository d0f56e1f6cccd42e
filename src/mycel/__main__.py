"""`python -m mycel` is the `mycel` command."""

import sys

from mycel.cli import main

if __name__ == "__main__":
    sys.exit(main())
