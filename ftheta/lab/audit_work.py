"""What runs inside the process of an audit: it audits, tells what it finds, and stays to compute parts of it again."""

import re
import signal
import tempfile
import threading
import traceback
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from ftheta.logic import Audit, AuditFinding, AuditProgress, FthetaError, Section, UsageError
from ftheta.processes.framing import Frame
from ftheta.processes.serving import connect

from .audit_answers import ended_message, findings_message, progress_message, section_message
from .protocol import told

if TYPE_CHECKING:
    from ftheta.subjects import Network

_UNUSUAL = re.compile(r"[^\w.()+-]+")
_LONGEST_NAME = 60


def main() -> None:
    """Serve one audit."""
    with tempfile.TemporaryDirectory() as folder:
        AuditDesk(Path(folder)).serve()


class AuditDesk:
    """One audit and what is asked of it. `folder` gives uploaded files the names that people know them by."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.auditing = False
        self.main = threading.main_thread().ident or 0
        self.channel = connect(self._on_frame, signal.default_int_handler)
        self.sections: dict[str, Section] = {}
        self.parts: dict[str, Section] = {}
        self.findings: list[AuditFinding] = []
        self.audit: Audit | None = None

    def _on_frame(self, frame: Frame) -> bool:
        """Stop at once: the main thread is at work."""
        if frame[0]["kind"] != "stop":
            return False
        if self.auditing:
            signal.pthread_kill(self.main, signal.SIGINT)
        return True

    def serve(self) -> None:
        """Audit, then answer for as long as somebody listens."""
        frame = self.channel.receive()
        assert frame is not None
        order = frame[0]
        self._guard(order["n"], lambda: self._audit(order))
        self.channel.send({"kind": "ended"})
        while (frame := self.channel.receive()) is not None:
            part = frame[0]
            self._guard(part["n"], lambda part=part: self._answer(part))

    def _guard(self, n: int, do: Any) -> None:
        """Whatever goes wrong is told."""
        try:
            do()
        except KeyboardInterrupt:
            error = {
                "what": "Stopped before anything was found.",
                "where": "",
                "got": "",
                "remedy": "run it again",
            }
            self.channel.send({"kind": "failed", "n": n, "error": error})
        except FthetaError as error:
            said = {name: self._without_folder(text) for name, text in told(error).items()}
            self.channel.send({"kind": "failed", "n": n, "error": said})
        except Exception as error:
            what = f"Internal error: {type(error).__name__}."
            said = {
                "what": what,
                "where": "",
                "got": str(error)[:200],
                "remedy": "please report it",
            }
            trace = traceback.format_exc()
            self.channel.send({"kind": "failed", "n": n, "error": said, "traceback": trace})

    def _without_folder(self, text: str) -> str:
        return text.replace(f"{self.folder}/", "")

    def _say(self, text: str) -> None:
        self.channel.send({"kind": "said"}, text.encode())

    # -- the audit -----------------------------------------------------------------------------------------------------

    def _audit(self, order: dict[str, Any]) -> None:
        from ftheta.auditing.judging import sort_findings
        from ftheta.auditing.subjects import Recipe
        from ftheta.auditing.whole import audit

        n = order["n"]
        look = {"dark": order["dark"], "width": order["width"]}
        words = {name: self._words(source) for name, source in order["sources"].items()}
        self.recipe = Recipe(words["model"], words.get("data"), train=words.get("train"))

        def on_finding(finding: AuditFinding) -> None:
            self.findings = list(sort_findings((*self.findings, finding)))
            self._say(findings_message(n, self.findings))

        def on_section(section: Section) -> None:
            self.sections[section.id] = section
            self._say(section_message(n, section, **look))

        def on_progress(progress: AuditProgress) -> None:
            self._say(progress_message(n, progress))

        begun = monotonic()
        self.auditing = True
        options = {"budget": order["budget"], "seed": order["seed"], "progress": on_progress}
        found = audit(self.recipe, **options, on_finding=on_finding, on_section=on_section)
        self.auditing = False
        name = order["sources"]["model"]["name"]
        self.audit = replace(
            found, subject=name, asked=replace(found.asked, **_names(order["sources"]))
        )
        self._say(ended_message(n, self.audit, monotonic() - begun))

    def _words(self, source: dict[str, str]) -> str:
        """The words of a subject; an uploaded file gets a link of the name that it came with, made harmless."""
        if "words" in source:
            return source["words"]
        path = Path(source["path"])
        suffix = "".join(path.suffixes)
        stem = (
            _UNUSUAL.sub("_", source["name"].removesuffix(suffix)).strip(".")[:_LONGEST_NAME]
            or "file"
        )
        for place in (self.folder / f"{stem}{end}{suffix}" for end in ("", "-2", "-3")):
            if not place.exists():
                place.symlink_to(path)
                return str(place)
        raise UsageError("This file was given too often.", got=source["name"])

    # -- parts of it ---------------------------------------------------------------------------------------------------

    def _answer(self, part: dict[str, Any]) -> None:
        look = {"dark": part["dark"], "width": part["width"]}
        if part["part"] == "look":
            for section in self.sections.values():
                self._say(section_message(part["n"], section, **look))
            for section in self.parts.values():
                self._say(section_message(part["n"], section, **look, kind="audit-part"))
        elif part["part"] in ("html", "json"):
            self._send_file(part)
        else:
            section = self._row(part) if part["part"] == "row" else self._slice(part)
            self.parts[section.id] = section
            self._say(section_message(part["n"], section, **look, kind="audit-part"))

    def _send_file(self, part: dict[str, Any]) -> None:
        from ftheta.report.save import save_audit

        from .answers import strict_json

        if self.audit is None:
            raise UsageError("The audit is not finished.", remedy="wait, or stop it")
        format = part["part"]
        path = self.folder / f"report.{format}"
        save_audit(self.audit, path)
        stem = Path(self.audit.subject).stem or "network"
        text = path.read_text(encoding="utf-8")
        head = {
            "type": "audit-file",
            "n": part["n"],
            "format": format,
            "name": f"{stem}-audit.{format}",
        }
        self._say(strict_json({**head, "text": text}))

    def _on_rows(self, rows: list[int], count: int) -> "Network":
        """The network with these rows alone as its data."""
        net = self.recipe.network
        if net.data is None:
            raise UsageError("This needs data.", remedy="run the audit with data")
        if len(rows) != count or not all(row < len(net.data) for row in rows):
            raise UsageError(
                f"Give {count} row numbers.", got=rows, remedy=f"from 0 to {len(net.data) - 1}"
            )
        labels = None if net.data.y is None else net.data.y[rows]
        return net.with_data(replace(net.data, x=net.data.x[rows], y=labels, notes=()))

    def _row(self, part: dict[str, Any]) -> Section:
        """One row: what the network says of it, and how far it can be moved."""
        from ftheta.auditing.again import describe_row, perform_fact

        net = self._on_rows(part["rows"], 1)
        row = part["rows"][0]
        return describe_row(net, row, perform_fact("certified-rows", net, 0))

    def _slice(self, part: dict[str, Any]) -> Section:
        """The pieces on the plane through three rows."""
        from ftheta.auditing.again import perform_fact, section_of

        rows = part["rows"]
        if len(set(rows)) < 3:
            raise UsageError("Three different rows span a plane.", got=rows)
        net = self._on_rows(rows, 3)
        title = f"The plane through rows {rows[0]}, {rows[1]} and {rows[2]}"
        return section_of("slice", title, perform_fact("pieces-on-a-slice", net, 0))


def _names(sources: dict[str, dict[str, str]]) -> dict[str, str]:
    """How the subjects are called in the command that repeats the audit."""
    return {name: source.get("words", source["name"]) for name, source in sources.items()}
