"""How a page is read, and written again with other outputs."""

from tests.stories.page import Command, Page, Setup

PAGE = """# A story
<!-- clusters: old new -->

<!-- setup:
seq 3 | kcli produce orders
-->

```console
$ kcli groups rewind billing \\
>   --to earliest
> not a continuation
Proceed? [y/N] y
$ python -c 'print(
> 1)'
1
```

```sh
kcli never run
```
"""


def test_steps_are_commands_with_their_output_and_setups() -> None:
    page = Page(PAGE)
    setup, rewind, python = page.steps
    assert setup == Setup("seq 3 | kcli produce orders\n")
    assert isinstance(rewind, Command)
    assert isinstance(python, Command)
    assert rewind.text == "kcli groups rewind billing \\\n  --to earliest\n"
    assert rewind.output == ("> not a continuation", "Proceed? [y/N] y")
    assert rewind.answers == ["y"]
    assert python.text == "python -c 'print(\n1)'\n"
    assert page.clusters == ["old", "new"]
    assert Page("no comment").clusters == ["prod"]
    assert Page("<!-- clusters: none -->").clusters == []


def test_only_outputs_are_replaced() -> None:
    page = Page(PAGE)
    outputs = [step.output for step in page.steps if isinstance(step, Command)]
    assert page.with_outputs(outputs) == page
    changed = page.with_outputs([["done"], []])
    assert changed.text == PAGE.replace("> not a continuation\nProceed? [y/N] y\n", "done\n").replace(
        "\n1\n```", "\n```"
    )


def test_lines_that_vary_are_compared_by_their_pattern() -> None:
    page = Page("<!-- varies: ^ *orders +\\d -->\n")
    assert page.settled(["orders  1  2,3", "  orders 0", "orders", "1 order"]) == [
        r"^ *orders +\d", r"^ *orders +\d", "orders", "1 order",
    ]  # fmt: skip
    assert Page("").settled(["orders 1"]) == ["orders 1"]
