"""Hooks of clients: memory that works without the model deciding to use it.

A client calls `mycel hook EVENT` with JSON on standard input, and shows the model what is printed.

- `addresses`       the sockets of warm processes
- `light`           the client side: asks a warm process, without loading anything
- `client_events`   the events of all clients under one name each, and the form of an answer
- `journal`         the switches of a graph's hooks, and what they did
- `quoting`         texts for a model: marked, and the words of others as quotations
- `origins`         who wrote an element, or from where it was imported
- `brief`           the text at the start of a session
- `prompt_words`    the words that a prompt is about
- `statements`      what a turn states, without what it asks
- `prompt_notes`    the notes that fit a prompt
- `session_summary` what was done in a session, from its transcript, without a model
- `capture`         the summary as an Event, on the branch in use or as a proposal
- `answering`       from an event to an answer, within the switches
- `warm_server`     answers over a Unix socket, for the other processes

A hook never fails the client: errors go to its journal, and it exits with 0.
"""
