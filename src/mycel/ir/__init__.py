"""The logical plan: the contract between a language and the backends that run it.

- `query`   blocks of patterns and conditions, and what is made of their solutions
- `facts`   what can be told about them without running them

Names are already numbers here: an IR holds no catalog objects and no connections.
"""
