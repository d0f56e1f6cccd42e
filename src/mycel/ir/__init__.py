"""The logical plan: the contract between the planner and the backends.

- `query`  blocks of patterns and conditions, and the outputs of their solutions
- `facts`  variables of a query, and whether rows can repeat

Names are already numbers here: an IR holds no catalog objects and no connections.
"""
