"""What a number is about, and what was judged of it: rows, tables, judgments, words for them."""
