"""Graphs in other places: the protocol between workspaces, without a server.

registry     known workspaces: addresses, tokens and pinned roots, in a file of TOML
http_client  requests to a server, within limits
sources      a workspace elsewhere: on a server, or in a file
copying      clone, pull and push
proposals    the proposals of a workspace on a server
following    a pull after each commit there
signing      keys of workspaces, and heads that they have signed
witness      the heads that a remote has shown, kept to find rewritten history
pages        the history of a graph in its wire form, which servers and copies read
"""
