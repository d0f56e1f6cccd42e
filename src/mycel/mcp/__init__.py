"""The Model Context Protocol: the graph as tools, resources and prompts for an agent.

Modules, in the order in which a call passes through them:

    messages       JSON-RPC messages, and errors for invalid ones
    stdio          standard input and output as a connection
    web            an HTTP application for one path of a larger one
    server         one server over one graph, for any transport
    tool_list      names, descriptions and schemas of the tools
    arguments      checks the arguments of a call against a schema
    tool_context   the graph, knowledge and contexts that a call works on
    search_tool    search, and the context of an answer
    read_tools     get, traverse, describe, the active context
    several_tools  search, get and traverse over several workspaces of a user
    mention_tools  nodes that a text names, in answers
    write_tools    remember, update, forget, bootstrap
    history_tools  the log, differences, tags and ways back
    proposal_actions  submissions and proposals
    branch_actions list, switch, create and delete branches
    merge_tools    merge branches, and decide conflicts
    upkeep_tool    the next task of upkeep, and its decision
    inquiries      questions about conflicts, put to the client's model or user
    kip_tools      the tools that run KIP
    query_tools    named queries as tools
    source_lines   source lines of symbols and of the uses of them
    app_view       the explorer's page beside a chat, for clients that show it
    hints          hints that name tools
    node_text      nodes and relations in short lines
    change_text    differences between two states, in short lines
    type_text      types and relation types in a few lines
    kip_responses  responses of KIP, cut to the size of an answer
    results        the answer to a call, within the limits of clients
    resources      nodes and files as resources
    prompts        the instructions and prompts of the server
    memory_tools   the tools of the official memory server, over the same graph

Only `stdio` and `web` know the transport.
"""
