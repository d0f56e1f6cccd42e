"""The knowledge of agents: concepts, resources and relations by URI.

`mycel.Knowledge` is the API. Modules, in the order in which a call passes through them:

    knowledge        the class `Knowledge`: every method that writes is one transaction
    knowledge_view   its base: every method that reads sees one moment
    input_values     checks lists, limits, and nodes and relations to write
    uris             parses URIs into one normal form
    node_values      nodes, relations, and results of writes
    vocabulary       types and relation types, defined on first use
    node_lookup      from URIs to elements and back
    name_resolution  former URIs, aliases, paths of files and short names; the closest URIs
    short_names      aliases and short names of nodes, in the text index
    node_caveats     reasons for care with nodes: superseded, expired, uncertain
    node_conflicts   open conflicts of merges at nodes and relations
    bootstrap_stamp  the marks of elements that a bootstrap wrote
    author_marks     what another actor wrote, marked as theirs on a server of many people
    stale_notes      notes whose cited files or symbols have changed since
    note_names       titles and paths of notes, from their texts
    node_writer      adds, changes and removes nodes
    node_moves       moves nodes to other URIs
    node_merge       makes one node of two
    several          several workspaces, searched together
    similar_notes    notes that are close to a new one
    relation_writer  relations; placeholders for missing concepts; broken links
    relation_pages   relations of a node, page by page; relations of notes come first
    node_traversal   results of a traversal, with URIs
    submission       changes by URI, submitted to the graph or proposed; reviews of proposals
    submission_changes  such changes as edits of elements
    subgraph         the neighbourhood of nodes, as one workspace gives it to another
    elsewhere        nodes of other workspaces that a traversal meets
    dead_links       links whose end is gone in another workspace, and links to files that are gone
    recalled_nodes   results of a search, with snippets, and with the nodes near them
    workspace_rename  gives a workspace another name, also in the URIs of its nodes
    workspace_files  reads files of the workspace, and no others
    name_mentions    files that mention a name
    references       the uses of a symbol, line by line
    reference_evidence  which symbol a name in a line of code means
    python_views     counts and lists; a workspace as a table or a networkx graph
    active_context   the loaded and the evicted nodes
    limits           every limit of these modules

    code             facts about source files
    documents        facts about documents: sections, links, names
    source_files     reads files, in processes that may be killed
    bootstrap        brings a folder into the graph
    memory           entities and observations, as the official MCP memory server has them
"""
