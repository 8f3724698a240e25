"""Worker processes for the audit, the lab and sweeps; and what the process of a command needs: Ctrl-C, streams, cache.

`worker.Worker` is one process as its client sees it, `pool.Pool` several of them, and `serving.connect` is what a
worker itself calls. Messages are frames (`framing`). Every worker starts in the same `environment`: one thread, kept
compilations, the client's import path, a limit of memory. A worker ends with its client, however that ended.

Nothing is imported here: a command watches Ctrl-C (`interrupts`) before it imports anything else.
"""
