"""The Git mirror: a repository with one file for each concept, and the import of edited files.

paths         the path of the file of a URI
core          documents that every graph has, which are left out
new_graph     the documents of a new graph
documents     the content of a file: YAML front matter and a Markdown body
projection    the documents of a state, and those that a range of the journal changed
repository    calls of git
settings      the file beside the graph that names its mirror
commits       Git commits from transactions: authors, messages, trailers
export        Git objects from documents, by `git fast-import`
folder        the files that people see and edit
git_commits   commits of others: authors, times, files
inspection    the position of the mirror, and the files that were edited
foreign_files files of the user, merged by lines
front_matter  reading a file, as written or as edited
edits         from edited files to the documents before and after
changes       from these to changes of the graph
declarations  from edited schema files to a schema to apply
document_merge  three-way merge of documents
merge_driver  the same, for Git
sync          the order of writes to the repository, and when none are made
creation      all files as one commit, for a new mirror or a rewritten one
upstream      fetched commits, as changes of the graph
import_edits  the merge of edited files into the graph
joining       a graph that shares the mirror of others
mirror        `Mirror`: create, join, status, fetch, push, import_edits
follower      a thread that keeps the mirror up to date while a process writes
"""
