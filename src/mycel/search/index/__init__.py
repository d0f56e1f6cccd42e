"""Derived data of search: passages, mentions and vectors, in memory and in tables of their own.

Modules, in the order in which data passes through them:

- `passages`         from a concept to its text, its names, its actor, its episode and its time
- `phrases`          phrases as hashes over word pieces, and which of them a text mentions
- `passage_columns`  passages on their way into memory, one buffer for each field
- `blocks`           arrays of passages as they are stored, for the next process
- `corpus`           all passages in memory, as arrays
- `derivation`       from a concept to the row that is stored of it
- `note_vectors`     vectors of notes and sections by the sentence model
- `passage_index`    the corpus of a store, kept in step with what is committed
- `setting`          the embedder that was chosen for a graph, in a file beside it
- `mentions`         known concepts that texts mention
- `vector_matrix`    vectors in memory, and the nearest among them
- `vector_columns`   the vectors of `Vector` properties, written or made by `@embed`
- `search_index`     all of it, made when a search first needs it
- `embeddings`       the state of the vectors, another embedder, and a rebuild
"""
