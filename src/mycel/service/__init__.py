"""Answers requests of KIP with responses, without raising exceptions.

Every adapter calls this layer.

- `envelope`     the request and response structure of KIP
- `malloc_trim`  returns memory to the system after large calls
"""
