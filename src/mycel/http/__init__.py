"""The graph over HTTP: KIP commands, information about the server, its health.

Modules, in the order in which a request passes through them:

- `server`               sockets, the server around the application, and stopping it
- `stop_watch`           a process that ends the server if even its threads cannot run
- `supervisor`           several processes that serve one graph
- `connection_protocol`  the bytes of HTTP, limits on slow clients and on connections
- `request_head`         checks of its target and its framing
- `exchange`             one request and its response, as an application sees them
- `policy`               hosts, origins, token and limits
- `request_guard`        checks a request against the policy, and reads its body
- `request_body`         the body of a request, within limits of size and time
- `token_throttle`       addresses from which too many wrong tokens came
- `jobs`                 the limits of one request while it runs: deadline, turns, bytes
- `app`                  the routes of one graph, and applications of other layers
- `team_app`             a server of many workspaces
- `workspace_mounts`     its workspaces, each an application of its own
- `metrics`              counters, in the format of Prometheus
- `kip_endpoint`         from the body of a request to the response
- `endpoints`            tables of endpoints, and the routes that are made from them
- `branch_routes`        branches, merges and their conflicts
- `query_routes`         named queries, listed and run
- `remote_routes`        the history and neighbourhoods of a graph, for other workspaces
- `submission_routes`    submissions and proposals
- `request_values`       the branch and the parameters of a request
- `page_routes`          the page of the explorer, and sessions of people
- `explorer_routes`      the views and writes of the explorer
- `live_stream`          commits as server-sent events
- `sessions`             tickets and tokens of people in a browser
- `worker_pool`          threads that run the synchronous engine, cheap requests first
- `interruption`         stops work that goes on after its answer was given
- `responses`            JSON, and errors in their wire form
- `openapi`              the description of the server
- `branch_openapi`       the part of it that is made from the tables of endpoints
- `explorer_openapi`     the part of it about the page of the explorer

A write that has begun is finished even if its client has left, unless it exceeds its limits. The
client may send it again: the same write twice changes nothing. A read whose client has left is
dropped.
"""
