"""What every adapter calls: requests in, responses out, and never an exception.

- `envelope`   the request and response structure of KIP
- `presence`   whether the file of an open graph is still in its place
- `leftovers`  memory that large calls leave behind, given back
"""
