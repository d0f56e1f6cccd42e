"""Imports of the memory of other programs into the graph: conversations, notes, and memories.

- `kinds`          the sources that can be imported: their names, usual places, and recognition
- `text_streams`   lines and items of large files, in bounded memory
- `turns`          the one model of conversations: turns, and problems of a source
- `transcripts`    turns of sessions of Claude Code and Codex
- `exports`        turns of the exports of ChatGPT and Claude, and of plain turn files
- `note_files`     notes of folders of Markdown, and of mem0
- `claude_mem`     notes of the SQLite file of claude-mem
- `session_words`  words that correct, decide or ask for nothing
- `turn_writer`    turns as Events, by their ids, with links to mentioned elements
- `note_writer`    notes as nodes, linked by their links
- `run`            a preview, and an import, of any source

Every text is redacted (`text.redaction`) before it is written. Nothing here asks a model.
"""
