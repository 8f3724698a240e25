"""Everything that can be said of one network within a budget of time; and two networks, fact by fact."""

from .comparing import compare as compare
from .whole import audit as audit
