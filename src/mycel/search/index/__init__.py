"""Derived data of search: passages, mentions and vectors, in memory and in tables of their own.

Modules, in the order in which data passes through them:

- `passages`         the text, names, actor, episode and time of a concept
- `phrases`          phrases as hashes over word pieces, and the search for them in texts
- `passage_columns`  passages in columns, one buffer for each field
- `blocks`           the stored form of the arrays of passages
- `corpus`           all passages in memory, as arrays
- `derivation`       the row that is stored for a concept
- `note_vectors`     vectors of notes and sections by the sentence model
- `passage_index`    the corpus of a store, which follows the commits
- `setting`          the embedder that was chosen for a graph, in a file beside it
- `mentions`         known concepts that texts mention
- `vector_matrix`    vectors in memory, and the nearest among them
- `vector_columns`   the vectors of `Vector` properties, written or made by `@embed`
- `search_index`     creates the index when a search first needs it
- `embeddings`       the state of the vectors, the choice of an embedder, and a rebuild
"""
