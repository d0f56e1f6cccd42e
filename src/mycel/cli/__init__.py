"""The `mycel` command: a thin adapter over the public API, for people and for scripts.

- `app`        the root command; `run` is one call, from arguments to an exit status
- `frame`      what all commands share: options, parameters, output, errors
- `commands`   the commands, one module for each group of them
- `session`    the interactive session of `mycel kip`
- `reference`  `docs/cli.md`, generated from the commands: `python -m mycel.cli.reference`

Modules here import the engine inside their commands, not at their top: loading it takes longer than
`mycel --help` should. `session` is loaded as a whole when it is needed.
"""

from mycel.cli.app import main

__all__ = ["main"]
