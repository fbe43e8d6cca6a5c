"""Wheels on their way into environments: one cache, an index that serves from it, and what the installer reads."""
