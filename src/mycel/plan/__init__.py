"""From a parsed command to a plan that a backend can run.

- `catalog`   the facts that the planner needs: numbers of names, indexes, counts
- `bind` names to numbers, variables to their scopes; the first stage that uses the catalog
- `time_literals`   times in a filter, spelled as the properties that they are compared with
- `rewrites`  one ordered tuple of named passes over the IR; each can be switched off
"""
