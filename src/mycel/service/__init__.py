"""What every adapter calls: requests in, responses out, and never an exception.

- `envelope`   the request and response structure of KIP
- `malloc_trim`  memory that large calls leave behind, given back
"""
