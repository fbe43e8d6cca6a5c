"""Pinpoint which release of which package introduced or fixed an issue."""
