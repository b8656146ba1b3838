"""What pytest leaves alone here: what only Sphinx reads, and what it writes."""

collect_ignore = ["_build", "_extensions", "_static", "_templates", "api", "conf.py", "gallery"]
