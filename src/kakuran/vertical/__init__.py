"""One regression over columns that several companies hold and none shows the others (S2)."""
