"""The graph over HTTP: commands of KIP, what the server is and whether it is well.

Modules, in the order in which a request passes through them:

- `server`   sockets, the server around the application, and how it stops
- `connection_protocol`  bytes to requests: what comes too slowly, or is no HTTP at all
- `policy`    who may ask, from where, and how much at once
- `request_guard`  asks the policy before anything else sees a request; reads its body
- `app`       the routes, and doors of other layers beside them
- `kip_endpoint`       from the body of a request to its answer
- `worker_pool`   threads for the engine, which is synchronous, and deadlines for those who wait
- `responses`   what is sent back: JSON, and errors in their one form
- `openapi`   the description of all this, for programs

The engine never learns that a client has gone: work that has begun is carried out. So a write is
never cut off in its middle, and whoever stops waiting for it may ask for it again, since writing
the same twice changes nothing.
"""
