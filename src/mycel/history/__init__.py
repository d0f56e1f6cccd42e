"""Work with the history of a graph: branches, tags, differences, and ways back to an earlier state.

graph     `Graph`, which `mycel.open` returns
branches  copies of a graph beside it, each with a history of its own
rollback  what a rollback and a revert should lead to
goals     the steps that lead there, and the obstacles
backups   checked copies of a graph, and the way back
open_branches  the branches that a server keeps open
conflict_text  conflicts of a merge as rows of text, side by side
merge     three-way merge of branches
"""
