"""Rows, tables and judgments of results, and the words for them."""
