"""Networks that no command runs: the papers' own tables are made with them."""
