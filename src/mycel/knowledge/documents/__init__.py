"""Documents as sections: headings, texts, links and names. No graph, no I/O.

Modules, in the order in which a document passes through them:

- `document_reading`   turns the text of a file into facts, by its format
- `text_lines`         lines and headings of a document
- `markdown_blocks`    headings and texts of Markdown
- `restructured_text`, `asciidoc`, `html_blocks`, `notebooks`, `pdf_pages`  of other formats
- `module_docs`        the documentation of a source file as a whole
- `front_matter`       properties, tags and aliases at the beginning of a note
- `markdown_links`     links, wikilinks and tags of Markdown
- `text_names`         names in a text that may be files or symbols
- `sections`           from headings and texts to sections with names and bounds
- `document_relations` from links and names to files, symbols and other sections
"""
