"""The part of a server that many people and agents share, apart from HTTP.

workspace_folder   the graphs in a folder, by name
workspace_database the graphs in a database, by name
scopes             what a token may do, where
oauth              tokens of an external issuer
tokens             tokens: made, listed, revoked, recognised
write_scope        the guard that holds every write inside the scopes
element_filter     the elements that a token for some paths may see
scoped_copy        a copy of a graph that has these alone
copy_follower      replays the graph in the copy
pass_on            the guard that writes changes of the copy to the graph
copy_steps         elements of one graph as goals in the other
folder_backup      a backup of a whole folder of workspaces
audit_log          the caller, target and outcome of requests
"""
