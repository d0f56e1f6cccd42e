"""Work with the history of a graph: tags, differences, and ways back to an earlier state.

graph     `Graph`, which `mycel.open` returns
rollback  what a rollback and a revert should lead to
goals     the steps that lead there, and the obstacles
"""
