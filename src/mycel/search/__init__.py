"""Search: from a question to the elements that answer it. `docs/search.md` explains the ranking.

Modules, in the order in which a question passes through them:

- `search`           the entrance: modes, filters, sections
- `question`         a question, read once
- `modes`            the modes of a search
- `concept_hits`     concepts that fit, by names, words and meaning
- `passage_ranking`  passages that fit, by the weighted sum of their evidence
- `evidence`         evidence from each signal: words, meaning, pieces, names, links, episodes
- `passage_links`    ways between passages: mentions, links, shared mentions
- `name_match`       the fit of names and words
- `notes_about`      notes about nodes that a question names
- `former_names`     concepts whose former name is the question
- `link_hits`        links that fit, read as sentences
- `hits`             hits and their order
- `outdated`         lower scores for outdated hits, and their successors
- `caveats`, `validity`  warnings about elements: superseded, expired, uncertain
- `similar_texts`    texts with much the same content
- `changed_citations`  citations of notes whose targets have changed since
- `near`             the filter that prefers elements near another one
- `sections`         the two sections of an answer: notes and code
- `weights`          every weight that the others use

The package `index` has the data that is derived from concepts: passages, mentions and vectors.
"""
