"""What a run found, told in the issues of a GitHub repository: opened, updated, and closed when it is fixed."""

from __future__ import annotations

from orchestrator.announce.decide import Act, Action, Reason, decide
from orchestrator.announce.gh import GitHub
from orchestrator.announce.marker import Told
from orchestrator.announce.text import Page, page
from orchestrator.announce.thread import Thread

__all__ = ["Act", "Action", "GitHub", "Page", "Reason", "Thread", "Told", "decide", "page"]
