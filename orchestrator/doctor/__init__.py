"""What is well and what is wrong on a host that is to run a matrix, and what to do about it."""

from orchestrator.doctor.document import FORMAT, document
from orchestrator.doctor.examination import examine
from orchestrator.doctor.finding import Examination, Finding, Level
from orchestrator.doctor.scope import Scope, scope_of
from orchestrator.doctor.text import render

__all__ = ["FORMAT", "Examination", "Finding", "Level", "Scope", "document", "examine", "render", "scope_of"]
