"""The history of a graph: branches, merges, tags, differences, rollback and revert, backups.

history_api    `db.history`: the log, versions, differences, tags, rollback, revert
branches       copies of a graph beside it, each with a history of its own
rollback       the goals of a rollback or a revert
merge_api      `db.merges`: open merges and their conflicts
merge          three-way merge of branches
state_steps    the steps to wanted elements in one transaction, and obstacles
conflict_text  conflicts of a merge as rows of text, side by side
submissions    `db.submissions`: changes to an earlier state, each committed once
proposals      `db.proposals`: changes that wait for a review
saved_views    views of a graph under names, kept beside the knowledge
copies         a graph in another place: a file, or PostgreSQL
backups        verified copies of a graph, and restoring one
"""
