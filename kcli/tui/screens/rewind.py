"""The dialog of a rewind: choose, review the plan, type the name, and see what was done.

It has no client: a thread of its own does the work (``errands.py``), and the screens below go on living.
"""

from __future__ import annotations

from enum import Enum

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input

from kcli.core.classes import replace
from kcli.flows.monitor.snapshot import Event
from kcli.output.sanitise import visible_line
from kcli.tui.actions import Actions, CancelledError, Proposal, Result, Rewinding, Wish
from kcli.tui.cells import Cell, Line, fitted
from kcli.tui.errands import Done, Errands, Said
from kcli.tui.head import key_cells
from kcli.tui.host import Host
from kcli.tui.rewind_form import (
    VALUE,
    RewindForm,
    overhang,
    proposal_lines,
    prose,
    result_lines,
    trouble_lines,
)
from kcli.tui.shell import rewind_command
from kcli.tui.widgets.lines import Lines
from kcli.tui.widgets.typed_name import TypedName


class Stage(Enum):
    """Where the dialog is."""

    FORM = "choose"
    PLANNING = "planning"
    REVIEW = "review"
    CONFIRM = "confirm"
    RUNNING = "rewinding"
    REPORT = "done"


_KEYS = {
    Stage.FORM: (("↑↓", "row"), ("←→", "choose"), ("↵", "plan"), ("c", "copy"), ("esc", "close")),
    Stage.PLANNING: (("esc", "cancel"),),
    Stage.REVIEW: (
        ("x", "rewind …"),
        ("l", "live or wait"),
        ("c", "copy"),
        ("↑↓", "scroll"),
        ("esc", "back"),
    ),
    Stage.CONFIRM: (("↵", "rewind, once the name is typed"), ("esc", "back")),
    Stage.RUNNING: (("esc", "end it in order"),),
    Stage.REPORT: (("c", "copy the undo"), ("↑↓", "scroll"), ("esc", "close")),
}
_ACTIONS = {
    Stage.FORM: {"row", "choose", "plan", "copy", "back"},
    Stage.PLANNING: {"back"},
    Stage.REVIEW: {"go", "live", "copy", "row", "page", "choose", "back"},
    Stage.CONFIRM: {"page", "back"},
    Stage.RUNNING: {"back"},
    Stage.REPORT: {"copy", "row", "page", "back"},
}
_OWN = frozenset().union(*_ACTIONS.values())
_COLUMNS = 8
"""By which a wide plan is moved with one key."""
_DOING = {
    Stage.PLANNING: "making the plan …",
    Stage.RUNNING: "setting the offsets, and reading them back …",
}
_PLAN, _EXECUTE = "plan", "execute"
_PRINTABLE = r"[^\x00-\x1f\x7f-\x9f]*"


class Rewind(ModalScreen[None]):
    """``plan``: begins with the plan instead of the choice, for an undo."""

    app: Host
    AUTO_FOCUS = ""
    BINDINGS = [
        Binding("up,k", "row(-1)", "the row above", show=False),
        Binding("down,j", "row(1)", "the row below", show=False),
        Binding("left", "choose(-1)", "the choice before, in this row; columns of a wide plan", show=False),
        Binding("right", "choose(1)", "the next choice; columns of a wide plan", show=False),
        Binding("pagedown", "page(1)", "a page down", show=False),
        Binding("pageup", "page(-1)", "a page up", show=False),
        Binding("enter", "plan", "show the plan, which changes nothing", show=False),
        Binding("l", "live", "rewind the group as it runs, or wait until it has no members", show=False),
        Binding("x", "go", "execute the plan: the name of the group has to be typed", show=False),
        Binding("c", "copy", "copy the command that does it; in the end, that undoes it", show=False),
        Binding(
            "escape",
            "back",
            "a step back; what waits is cancelled, what is being set ends in order",
            show=False,
        ),
    ]
    DEFAULT_CSS = """
    Rewind { align: center middle; }
    Rewind #frame { width: 100%; max-width: 124; height: 80%; min-height: 12; max-height: 32; }
    Rewind #frame { border: round $accent; background: $surface; }
    Rewind #body { height: 1fr; }
    Rewind Input { display: none; }
    Rewind Input.open { display: block; }
    """

    def __init__(self, actions: Actions, form: RewindForm, *, plan: bool = False) -> None:
        super().__init__()
        self.form, self.stage = form, Stage.FORM
        self.proposal: Proposal | None = None
        self.result: Result | None = None
        self._actions, self._at_once = actions, plan
        self._errands: Errands[Rewinding] = Errands(actions.rewinding, self.post_message)
        self._said: list[str] = []
        self._passing = ""
        self._shift = 0
        self._notice: tuple[str, str] = "", ""
        self._answer: list[Line] = []
        self.top = Lines(id="top")
        self.body = VerticalScroll(Lines(id="text"), id="body", can_focus=False)
        self.value = Input(id="value", compact=True, restrict=_PRINTABLE)
        self.name_field = TypedName(form.group)
        self.notice = Lines(id="notice")
        self.keys = Lines(id="keyline")

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        with Vertical(id="frame"):
            yield self.top
            yield self.body
            yield self.notice
            yield self.value
            yield self.name_field
            yield self.keys

    def on_mount(self) -> None:
        """The thread ends with the application at the latest."""
        self.app.hire(self._errands)
        if self._at_once:
            self._propose(wait=False)
        else:
            self._to(Stage.FORM)

    def on_unmount(self) -> None:
        """What is begun is ended in order."""
        self._errands.close()

    def on_resize(self) -> None:
        """Lines are cut to the new width."""
        self.call_after_refresh(self._paint)

    # --- stages ------------------------------------------------------------------------------------------------------

    def _to(self, stage: Stage) -> None:
        if stage is Stage.CONFIRM:  # what it affects is below the partitions
            self.body.scroll_end(animate=False)
        elif stage is not self.stage:
            self.body.scroll_home(animate=False)
        self.stage = stage
        self.value.set_class(stage is Stage.FORM and self.form.row == VALUE, "open")
        self.name_field.set_class(stage is Stage.CONFIRM, "open")
        if stage is Stage.CONFIRM:
            self.name_field.value = ""
            self.set_focus(self.name_field)
        elif self.value.has_class("open"):
            self.set_focus(self.value)
        else:
            self.set_focus(None)
        self._paint()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Only what the stage allows."""
        return action not in _OWN or action in _ACTIONS[self.stage]

    def action_row(self, step: int) -> None:
        """Another row of the form, or another line of the text."""
        if self.stage is Stage.FORM:
            self.form = self.form.to_row(step)
            self._to(Stage.FORM)
        else:
            self.body.scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        """Another part of the text."""
        self.body.scroll_relative(y=step * max(1, self.body.size.height - 1), animate=False)

    def action_choose(self, step: int) -> None:
        """Another choice in this row, or other columns of the plan."""
        if self.stage is Stage.REVIEW:
            self._shift = max(0, min(self._shift + step * _COLUMNS, self._overhang))
            self._paint()
            return
        self.form, self._answer = self.form.changed(step), []
        self.value.value = self.form.value
        self._to(Stage.FORM)

    def on_input_changed(self, event: Input.Changed) -> None:
        """The value as it is typed."""
        if event.input is self.value:
            self.form = replace(self.form, value=event.value)
            self._notice = "", ""
            self._paint()

    def on_input_submitted(self) -> None:
        """Enter in the value."""
        self.action_plan()

    def action_plan(self) -> None:
        """Shows the plan."""
        if self.stage is not Stage.FORM:
            return
        if self.form.complete:
            self._propose(wait=False)
        else:
            self._notice = f"a value is missing, as in {self.form.chosen.example}", "warn"
            self.form = replace(self.form, row=VALUE)
            self._to(Stage.FORM)

    def action_live(self) -> None:
        """The other way to deal with members."""
        self.form = replace(self.form, live=not self.form.live)
        self._propose(wait=False)

    def action_go(self) -> None:
        """Goes on to the confirmation; where members prevent the plan, waits until they have left."""
        if self.proposal is None:
            return
        if self.proposal.possible:
            self._notice = f"Type {visible_line(self.form.group)} to confirm:", "warn"
            self._to(Stage.CONFIRM)
        elif self.proposal.occupied:
            self._propose(wait=True)

    def on_typed_name_refused(self, message: TypedName.Refused) -> None:
        """Says why nothing begins."""
        self._notice = message.why, "bad"
        self._paint()

    def on_typed_name_confirmed(self) -> None:
        """Does it."""
        if self.stage is Stage.CONFIRM:
            self._execute()

    def action_back(self) -> None:
        """One step back; what runs is ended in order."""
        self._notice = "", ""
        if self.stage is Stage.PLANNING:
            self._errands.cancel()
            self._notice = "ending …", "warn"
            self._paint()
        elif self.stage is Stage.RUNNING:
            self._errands.cancel()
            self._notice = "ending: offsets that are being set are set and read back first …", "warn"
            self._paint()
        elif self.stage is Stage.REVIEW:
            self._to(Stage.FORM)
        elif self.stage is Stage.CONFIRM:
            self._to(Stage.REVIEW)
        else:
            self.dismiss()

    def action_copy(self) -> None:
        """The command that does what is chosen; in the end, the one that undoes it."""
        wish: Wish | None = self.form.wish if self.stage is Stage.FORM else None
        if self.stage is Stage.REVIEW and self.proposal is not None:
            wish = self.proposal.wish
        if self.stage is Stage.REPORT and self.result is not None:
            wish = self.result.undo
        if wish is not None:
            text = rewind_command(wish, self.app.facts.options)
            self._notice = self.app.copy(text), "ok"
            self._paint()

    # --- work --------------------------------------------------------------------------------------------------------

    def _propose(self, *, wait: bool) -> None:
        wish = self.form.wish
        self.proposal = None
        self._begin(Stage.PLANNING)
        self._errands.do(_PLAN, lambda desk: desk.propose(wish, wait=wait))

    def _execute(self) -> None:
        self._begin(Stage.RUNNING)
        self._errands.do(_EXECUTE, lambda desk: desk.execute(), vital=True)

    def _begin(self, stage: Stage) -> None:
        self._said, self._passing, self._answer, self._notice = [], "", [], ("", "")
        self._to(stage)

    def on_said(self, message: Said) -> None:
        """What the thread reports."""
        if message.passing:
            self._passing = message.text
        else:
            self._said.append(message.text)
            self._passing = ""
        self._paint()

    def on_done(self, message: Done) -> None:
        """A plan, a result, or an error."""
        self._errands.ended.clear()
        self._notice = "", ""
        if isinstance(message.error, CancelledError):
            self._notice = "cancelled: nothing was done", "warn"
            self._to(Stage.FORM)
        elif message.error is not None and not isinstance(message.error, Exception):
            raise message.error
        elif message.error is not None:
            trouble = self._actions.trouble(message.error)
            self._answer = trouble_lines(trouble, self._width)
            self.proposal = None
            self._to(Stage.FORM if message.errand == _PLAN else Stage.REPORT)
        elif isinstance(message.result, Proposal):
            self.proposal, self._shift = message.result, 0
            self._to(Stage.REVIEW)
        elif isinstance(message.result, Result):
            self.result = message.result
            if message.result.event is not None:
                self.app.add_event(
                    Event(self.app.status().at_ms, "rewind", self.form.group, message.result.event)
                )
            if message.result.set_between is not None:
                self.app.feed.exclude(self.form.group, *message.result.set_between)
            self.app.feed.now()
            self._to(Stage.REPORT)

    # --- drawing -----------------------------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        return max(1, self.body.size.width - 2)

    @property
    def _overhang(self) -> int:
        """Columns of the plan that are not in sight."""
        return 0 if self.proposal is None else overhang(self.proposal, self._width)

    def _paint(self) -> None:
        if not self.is_mounted or not self.size.width:
            return
        width = self._width
        title = f"rewind group {self.form.group} on {self.app.facts.name}"
        self.top.show(((Cell(fitted(f"{title} ─ {self.stage.value}", width), "title"),), ()))
        self.body.query_one(Lines).show(self._lines(width))
        text, style = self._notice
        self.notice.show(prose(text, width, style) if text else ())
        self.keys.show((key_cells(self._stage_keys(), width),))

    def _stage_keys(self) -> list[tuple[str, str]]:
        keys = list(_KEYS[self.stage])
        if self.stage is Stage.REVIEW and self.proposal is not None and not self.proposal.possible:
            keys = [("x", "wait until it is empty"), *keys[1:]] if self.proposal.occupied else keys[1:]
        if self.stage is Stage.REVIEW and self._overhang:
            keys.insert(-1, ("←→", "columns"))
        if self.stage is Stage.REPORT and (self.result is None or self.result.undo is None):
            keys = keys[1:]
        return keys

    def _lines(self, width: int) -> list[Line]:
        if self.stage is Stage.FORM:
            return [*self.form.lines(width), (), *self._answer]
        if self.stage in (Stage.REVIEW, Stage.CONFIRM) and self.proposal is not None:
            return proposal_lines(self.proposal, width, min(self._shift, self._overhang))
        if self.stage is Stage.REPORT and self.result is not None:
            return [*self._said_lines(width), *result_lines(self.result, width)]
        return [*self._said_lines(width), *self._answer, *prose(self._waiting, width, "dim")]

    def _said_lines(self, width: int) -> list[Line]:
        return [line for text in self._said for line in prose(text, width)]

    @property
    def _waiting(self) -> str:
        """Shows what is being done, until the thread reports something later."""
        if self._passing or self._said:
            return self._passing
        return _DOING.get(self.stage, "")
