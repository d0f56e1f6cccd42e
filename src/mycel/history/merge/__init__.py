"""Three-way merge of a branch, or of edits, into the graph that is open.

merging        from a request to a commit, or to an open merge that waits for decisions
merge_draft    the draft of a merge, and writing it to a transaction
broken_constraints  conflicts about constraints that prevent a merge
submitting     edits that are committed in one step, or refused
requests       the sources, options and decisions of merges
sides          the states that are merged, in one numbering
edits          the states of a merge of edits of an earlier state
origins        the origins of values that a merge takes over
merge_plan     the result of the planner
planner        the goals of a merge, and its conflicts
heirs          the elements into which one side has merged an element in conflict
schemas        the merge of schemas, and rows with the names of the merged schema
element_merge  the merge of one element
periods        the merge of the periods in which an element holds
rules          automatic choices between two values
values         the merge of one value: objects, lists, texts
sequences      three-way comparison of lines and items
versions       versions of an element, and the values in them
choices        automatic choices of committed merges, and undoing them
outcome        `Merge`, `Conflict`, `Choice`
"""
