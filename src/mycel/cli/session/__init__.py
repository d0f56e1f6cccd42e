"""The interactive session of `mycel kip`.

- `completion`   completeness, completion and colours of the text being typed; knows no terminal
- `shell`        the session on a terminal
"""
