"""What every adapter calls: requests in, responses out, and never an exception.

- `envelope`   the request and response structure of KIP
- `file_presence`   whether the file of an open graph is still in its place
- `malloc_trim`  memory that large calls leave behind, given back
"""
