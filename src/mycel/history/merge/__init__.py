"""Three-way merge of a branch, or of edits, into the graph that is open.

merging        from a request to a commit, or to an open merge that waits for decisions
merge_draft    a merge as it was computed, and writing it to a transaction
broken_constraints  conflicts about constraints that do not allow a merge
submitting     edits that are committed at once, or not at all
requests       what is to be merged and how, and what was decided so far
sides          the states that are merged, in one numbering
edits          the same for edits of an earlier state
origins        the origins of values that a merge takes over
merge_plan     the result of the planner
planner        what every element should become, and what has to be decided first
schemas        the merge of schemas, and rows in the names of the merged one
element_merge  the merge of one element
rules          automatic choices between two values
values         the merge of one value: objects, lists, texts
sequences      three-way comparison of lines and items
versions       versions of an element, and the values in them
choices        automatic choices of merges that are done, and taking them back
outcome        `Merge`, `Conflict`, `Choice`
"""
