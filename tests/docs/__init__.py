"""Checks of the documents: snippets run, stated outputs are the real ones, links have targets."""
