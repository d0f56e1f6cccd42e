"""The history of a graph: branches, merges, tags, differences, rollback and revert, backups.

graph          `Graph`, which `mycel.open` returns
branches       copies of a graph beside it, each with a history of its own
open_branches  the branches that a server keeps open
rollback       the elements that a rollback or a revert should lead to
merge          three-way merge of branches
state_steps    the steps to such elements as one transaction, and the obstacles
conflict_text  conflicts of a merge as rows of text, side by side
saved_views    views of a graph under names, kept beside the knowledge
backups        verified copies of a graph, and restoring one
"""
