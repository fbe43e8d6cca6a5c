"""Run probes in prepared environments."""
