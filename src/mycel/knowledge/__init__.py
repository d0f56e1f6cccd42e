"""What an agent knows about its work: concepts, resources and relations by URI.

`mycel.Knowledge` is the door. In the order in which a call passes through them:

    knowledge   the class `Knowledge`: every method is one transaction, or one moment that is read
    uris        what nodes are called, in one form
    nodes       what goes in and comes out: nodes, relations, what became of a write
    vocabulary  types and relation types that come into being when they are first used
    finding     from URIs to elements and back; the closest URIs
    writing     adding, changing, moving and removing nodes
    links       relations; placeholders for what is missing; broken links and how they heal
    traversal   what is near a node, in URIs
    files       reading files of the workspace, and never others
    context     what is loaded just now, and what made room
    limits      every bound of these

    code        facts about source files
    bootstrap   a folder becomes part of the graph
    memory      the graph in the words of the MCP memory server: entities and observations
"""
