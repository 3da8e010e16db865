"""One large gradient step on a two-layer network, and the spiked random features that describe it."""
