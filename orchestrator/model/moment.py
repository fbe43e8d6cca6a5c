"""A time in a value that can be written and read back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

Moment = Annotated[datetime, Meta(tz=True)]
"""A time with its zone: without one it is not read."""
