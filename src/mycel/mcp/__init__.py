"""The Model Context Protocol: the graph as tools, resources and prompts of an agent.

In the order in which a call passes through them:

    messages    messages of JSON-RPC, and what the sender of something else is told
    stdio       standard input and output as a connection
    web         an HTTP application for one path of a larger one
    server      one server over one graph, for any transport: which handler answers what
    tools       the tools: what they say about themselves, what they take
    arguments   what a call passes, checked
    desk        what a tool works on
    reading     the tools that read: search, get, traverse, describe, the active context
    writing     the tools that write: remember, update, relate, forget, bootstrap
    language    the tools that run KIP
    sources     source lines of symbols, and of the calls of them
    hints       what to do next, in the words of these tools
    rendering   nodes and relations in short lines
    envelopes   responses of KIP, small enough for every client
    results     what a call gives back, and how it is made small enough
    resources   nodes and files as resources
    prompts     what the server says to a model
    compat      the tools of the official memory server, over the same graph
    reference   the reference of tools, resources and prompts, written from all this

How the connection is made is known to `stdio` and `web` alone.
"""
