"""Requests in, responses out, and never an exception: the layer that every adapter calls.

- `envelope`     the request and response structure of KIP
- `malloc_trim`  memory that large calls leave behind, given back
"""
