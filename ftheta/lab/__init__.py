"""The lab: every theorem in the browser, with sliders. One server process, a few worker processes, one page.

`serve` starts it; `app` holds the routes; `guard` says who may speak to it, `connections` for how long; `tabs` are the
conversations with the pages, in the words of `protocol`; `pool`, `workers` and `background` share the computing. `work`
and `jobs` run inside a worker, and `answers` says what the page shows of a result.
"""
