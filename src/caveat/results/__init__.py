"""What a number is about, and what was judged of it: rows, tables, judgements, words for them."""
