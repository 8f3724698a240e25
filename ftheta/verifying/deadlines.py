"""An answer when the time is over, also where a step of the search takes longer than it should."""

import time
from collections.abc import Callable
from dataclasses import replace

from ftheta.certify.searches import Verification
from ftheta.processes import interrupts
from ftheta.processes.compilation import clock

SLACK = 1.0
"""Seconds beyond its time in which a search may end by itself, with its best enclosure; then it is interrupted."""


def decide_in_time(ask: Callable[[], Verification], seconds: float) -> Verification:
    """What `ask()` has found after so many seconds by the clock and `SLACK`: "timeout" where it did not end by then.

    This is for the process of a command, where an alarm can be set; elsewhere `ask` alone looks at the clock.
    """
    began = clock()
    began_cpu = time.process_time()
    with interrupts.alarm_at(began + seconds + SLACK) as alarm:
        try:
            result = ask()
        except KeyboardInterrupt:
            if not alarm.rang:
                raise
            interrupts.heed()
            result = None
    if result is None:
        cpu_seconds = time.process_time() - began_cpu
        return Verification(
            "timeout", None, "no search", "no function yet", 0, 1, clock() - began, cpu_seconds
        )
    if not (alarm.rang and result.interrupted):
        return result
    return replace(
        result, answer="timeout" if result.holds is None else result.answer, interrupted=False
    )
