"""Reads untrusted files, in processes that may be killed.

A parser of a source file can take minutes or gigabytes for a hostile megabyte. So each file is read
in a child process with limits on processor time and memory. If reading a file exceeds them, only
its symbols are missing from the graph.

    reader_pool     starts the processes, asks them, and replaces those that die
    reader_process  the main function of such a process, and its bounds
    file_facts      reads one file: hash, lines, facts of its source

The process imports as little as it can: it starts with every bootstrap.
"""
