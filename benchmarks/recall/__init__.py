"""Search by meaning: its recall, its time, and the cost of its derived data.

- `facts.tsv`    facts with two questions each: in their own words, and in other words
- `corpora`      the graphs that are searched: facts, chains of facts, symbols, many passages
- `values.json`  the accepted recall, with which runs are compared
- `notes/`       notes about code bases, with questions in other words; `notes` asks them
- `repeated.jsonl`  some of these notes in other words; `similar` looks for them
- `recall`       the measures
- `prompts`      false alarms of the prompt hook; runs by itself
"""
