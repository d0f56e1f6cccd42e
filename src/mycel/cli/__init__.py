"""The `mycel` command: a thin adapter over the public API, for people and for scripts.

- `app`        the root command; `run` is one call, from arguments to an exit status
- `console`    what all commands share: options, parameters, output, errors
- `commands`   the commands, one module for each group of them
- `session`    the interactive session of `mycel kip`

Modules here import the engine and rich inside their functions, because help and messages about
typing errors should not wait for them to load. `session`, and modules that a command imports when
it runs, import them at their top. If a warm process answers a hook, none of these modules is
loaded.
"""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> int:
    """Run one command line, by default the process's own, and return its exit status."""
    words = sys.argv[1:] if args is None else args
    if len(words) > 1 and words[0] == "hook":
        # Imported late: a hook runs at every prompt, and should load as little as possible.
        from mycel.hooks.light import run

        status = run([*words[1:]])
        if status is not None:
            return status
    from mycel.cli.app import main as run_whole

    return run_whole(args)
