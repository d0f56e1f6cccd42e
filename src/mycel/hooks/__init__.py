"""Hooks of clients: memory that works without the model deciding to use it.

A client calls `mycel hook EVENT` with JSON on standard input, and shows its output to the model.

- `addresses`       the sockets of warm processes
- `light`           the client side: asks a warm process, without loading anything
- `client_events`   the events of all clients under one name each, and the form of an answer
- `journal`         the switches of a graph's hooks, and a record of their calls
- `quoting`         marks texts for a model, and quotes the words of others
- `origins`         who wrote an element, or from where it was imported
- `brief`           the text at the start of a session
- `prompt_words`    the words that a prompt is about
- `statements`      the statements of a turn, without its questions
- `prompt_notes`    the notes that fit a prompt
- `session_summary` the summary of a session from its transcript, made without a model
- `capture`         the summary as an Event, on the branch in use or as a proposal
- `answering`       from an event to an answer, within the switches
- `warm_server`     answers over a Unix socket, for the other processes

A hook never fails the client: errors go to its journal, and it exits with 0.
"""
