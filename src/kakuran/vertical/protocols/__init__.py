"""The ways to one regression: moments under encryption, or S2's exchange of fitted parts."""
