"""From a parsed command to a plan that a backend can run.

- `catalog`        the facts that the planner needs: numbers of names, indexes, counts
- `bind`           names to numbers, variables to scopes; the first use of the catalog
- `time_literals`  times in a filter, in the spelling of the compared properties
- `rewrites`       one ordered tuple of named passes over the IR; each can be switched off
"""
