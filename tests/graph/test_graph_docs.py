"""The page about the graph runs as it is printed."""

import re
from pathlib import Path

import jax

PAGE = Path(__file__).parents[2] / "docs" / "graph.md"


def test_the_examples_of_the_page_run_in_order():
    names: dict[str, object] = {}
    with jax.enable_x64(False):  # a fresh interpreter computes in single precision
        for example in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
            exec(compile(example, "graph.md", "exec"), names)
    assert str(names["graph"]).startswith("id  name  primitive")
