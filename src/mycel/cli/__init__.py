"""The `mycel` command: a thin adapter over the public API, for people and for scripts.

- `app`        the root command; `run` is one call, from arguments to an exit status
- `console`    what all commands share: options, parameters, output, errors
- `commands`   the commands, one module for each group of them
- `session`    the interactive session of `mycel kip`

Modules here import the engine, and rich, inside their functions, not at their top: loading them
takes longer than help and the message about a typing error should. `session` is loaded as a whole.
"""

from mycel.cli.app import main

__all__ = ["main"]
