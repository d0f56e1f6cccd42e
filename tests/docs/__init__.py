"""The documents say what is true: snippets run, stated outputs are the real ones, links lead on."""
