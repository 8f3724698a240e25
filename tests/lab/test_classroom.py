"""The lab for a lecture hall: answers shared and kept, fair turns, no files, and a code that leads there."""

import asyncio
import re
from hashlib import sha256

import pytest

from ftheta.catalogue import index, settings_of
from ftheta.cli import run as run_command
from ftheta.lab import qr
from ftheta.lab.ahead import Ahead, popular_lines, presets_of
from ftheta.lab.answer_jobs import KeptAnswers, SharedJobs, share
from ftheta.lab.background import BackgroundJobs
from ftheta.lab.classroom import order_of_lessons
from ftheta.lab.guard import Door
from ftheta.lab.pool import Pool
from ftheta.lab.positions import STOPS, stops_of
from ftheta.lab.protocol import Run, Size, State
from ftheta.lab.serve import address_of, reachable_name
from ftheta.lab.subject_store import SubjectStore
from ftheta.lab.workers import Job
from ftheta.logic import UsageError

from .clients import eventually, running
from .test_tabs import kinds

LINK = "http://192.168.1.20:8417/?token=Wm0v-"
SEGNO = {  # bytes of the text: SHA-256 of the code that segno 1.6.6 makes of it (level M, bytes), begun
    14: "f517aef85bb9b6a8",
    26: "e260840e3e4a12ae",
    42: "078360ef0a1b5941",
    62: "28a8d4a3333f8e86",
    84: "434e7ae77d78e0f7",
    106: "ac8a794829a818ba",
    122: "fd542e4745b32004",
    152: "7d953ff611c83c11",
    180: "a0f2181a964985e3",
    213: "c20cc78280d8b8cd",
}


@pytest.fixture(scope="module")
def hall(own_cache):
    with running(classroom=LINK) as found:
        yield found


# -- the code -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "length"), list(enumerate(SEGNO, 1)))
def test_a_full_code_of_every_version_is_the_one_that_segno_draws_with_one_of_the_masks(
    version, length
):
    text = (LINK * 8)[:length]
    bits = [
        word >> k & 1 == 1
        for word in qr._codewords(text.encode(), version)
        for k in range(7, -1, -1)
    ]
    drawn = [qr._draw(bits, version, mask) for mask in range(8)]
    written = ["\n".join("".join(".#"[on] for on in row) for row in modules) for modules in drawn]
    assert SEGNO[length] in [sha256(each.encode()).hexdigest()[:16] for each in written]
    assert qr.encode(text) in drawn


def test_a_code_has_a_quiet_zone_and_a_text_that_is_too_long_is_refused():
    modules = qr.encode("fθ")
    assert len(modules) == 21
    lines = [re.sub("\x1b.*?m", "", line) for line in qr.to_terminal(modules).splitlines()]
    assert {len(line) for line in lines} == {25} and lines[0].strip() == lines[-1].strip() == ""
    assert 'viewBox="0 0 29 29"' in qr.to_svg(modules)
    with pytest.raises(UsageError, match="too long"):
        qr.encode("x" * 214)


def test_the_address_of_a_class_is_one_that_others_reach():
    assert reachable_name(Door("192.168.1.20", 8417, "t")) == "192.168.1.20"
    wide = Door("0.0.0.0", 8417, "Sesame-open")
    name = reachable_name(wide)
    assert wide.knows(f"{name}:8417")
    assert (
        address_of(wide, "hat-function", name=name)
        == f"http://{name}:8417/?token=Sesame-open#/hat-function"
    )
    assert Door("localhost", 1, "t").local and not wide.local


# -- answers that are kept ------------------------------------------------------------------------------


def run(n: int, width: float = 800, **state) -> Run:
    return Run(
        type="run", n=n, state=State(theorem="fast", **state), size=Size(width=width, height=450)
    )


def test_pages_that_are_nearly_as_large_ask_for_the_same():
    assert share(run(3, 801)) == share(run(9, 999.5)) != share(run(3, 1000))
    assert share(run(3)) != share(run(3, dark=True)) and share(run(3)) != share(run(3, seed=1))
    size = share(run(3, 250)).size
    assert size is not None and size.width == 250  # never larger than its place


def test_a_browser_and_a_program_that_write_a_whole_number_in_two_ways_ask_for_the_same():
    assert share(run(1, knobs={"b": 2, "a": 50.0})) == share(run(1, knobs={"a": 50, "b": 2.0}))
    assert share(run(1, knobs={"a": 50.5})) != share(run(1, knobs={"a": 50}))
    assert share(run(1, knobs={"a": True})).state.knobs == {"a": True}


def test_answers_are_found_again_by_another_lab_and_not_if_they_were_cut_short(tmp_path):
    KeptAnswers(tmp_path).put("key", b"answer")
    again = KeptAnswers(tmp_path)
    assert again.get("key") == b"answer" and again.get("other") is None
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert KeptAnswers(tmp_path).get("key") is None


def test_memory_is_bounded_and_the_disk_keeps_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr("ftheta.lab.answer_jobs._KEPT", 25)
    kept = KeptAnswers(tmp_path)
    for i in range(5):
        kept.put(str(i), b"ten bytes.")
    assert list(kept.memory) == ["3", "4"] and kept.size == 20
    assert all(kept.get(str(i)) == b"ten bytes." for i in range(5))


def test_the_second_page_is_answered_without_a_computation_and_by_its_own_number(hall):
    with hall.tab() as first, hall.tab() as second:
        first.run(3, "fast", seed=11)
        assert kinds(first.until("result")) == ["started", "result"]
        second.run(7, "fast", seed=11)
        heard = second.until("result")
    assert kinds(heard) == ["result"] and heard[0]["n"] == 7


def test_pages_that_ask_the_same_share_a_computation_which_goes_on_when_one_leaves(hall):
    before = hall.lab.jobs.misses
    with hall.tab() as second:
        with hall.tab() as first:
            first.run(1, "sleep 0.6", seed=5)
            first.until("started")
            second.run(2, "sleep 0.6", seed=5)
            second.until("started")
        assert second.until("result", "cancelled")[-1]["type"] == "result"
    assert hall.lab.jobs.misses == before + 1


def test_one_computation_is_drawn_in_the_sizes_of_all_pages(hall):
    def ask(tab, n: int, width: int, seed: int):
        size = {"width": width, "height": 450}
        tab.say({"type": "run", "n": n, "state": {"theorem": "fast", "seed": seed}, "size": size})
        return tab.until("result")[-1]

    with hall.tab() as small, hall.tab() as large:
        ask(small, 1, 400, seed=20)
        ask(large, 1, 1200, seed=20)  # both sizes are known now
        before = hall.lab.jobs.misses
        assert ask(small, 2, 400, seed=21)["size"]["width"] == 400
        heard = ask(large, 5, 1200, seed=21)
    assert (heard["n"], heard["size"]["width"]) == (5, 1200)
    assert hall.lab.jobs.misses == before + 1


def test_a_computation_that_nobody_waits_for_is_stopped(hall):
    with hall.tab() as only:
        only.run(1, "sleep 15", seed=6)
        only.until("started")
        eventually(lambda: any(w.job for w in hall.lab.pool.workers))
    eventually(lambda: not any(w.job for w in hall.lab.pool.workers), 5)


def test_who_has_waited_longest_is_next():
    async def given() -> list[str]:
        pool = Pool(1)
        jobs = [
            Job({"kind": "run"}, theorem, turn=turn)
            for theorem, turn in (("c", 3.0), ("a", 1.0), ("b", 1.0))
        ]
        taken: list[str] = []

        class Idle:
            idle = True
            job = None
            stopping = None
            kept: tuple = ()
            warm: tuple = ()

            def give(self, job: Job) -> None:
                taken.append(job.theorem)

        pool.workers = [Idle()]  # type: ignore[list-item]
        pool.waiting.extend(jobs)
        pool._dispatch()
        return taken

    assert asyncio.run(given()) == ["a", "b", "c"]


def test_presets_come_first_in_the_order_of_the_course():
    order = order_of_lessons("hat-function", "murari")
    assert order[0] == "hat-function" and len(order) == len(set(order)) > 100
    states = [r.state for r in presets_of("gd-strongly-convex", None)]
    assert states[0].preset is None and not states[0].force
    assert [s.preset for s in states if s.force] == ["broken on purpose"]


# -- what is computed ahead -----------------------------------------------------------------------------


def moved(**knobs) -> State:
    return State(theorem="gd-strongly-convex", knobs=knobs)


def test_every_stop_of_a_class_is_a_value_that_its_knob_takes():
    for entry in index().values():
        for setting in settings_of(entry):
            stops = stops_of(setting)
            assert len(stops) <= STOPS + 2
            assert [setting.parse(stop) for stop in stops] == stops
            if setting.type in ("int", "float"):
                assert stops == sorted(stops) and setting.default in stops


def test_the_slider_that_a_class_moves_comes_first_and_its_nearest_stops_before_others():
    line, *others = popular_lines([moved(kappa=20.0), moved(kappa=50.0), moved(kappa=70.0)])
    assert line.setting.name == "kappa" and line.state.knobs == {}
    visited = [float(state.knobs["kappa"]) for state in line.states()]
    assert visited[0] == pytest.approx(70, rel=0.04) and set(visited) == set(stops_of(line.setting))
    assert max(visited[:5]) < 90 < max(visited)  # 70 was asked for last
    assert {other.setting.name for other in others} >= {"step"}


def test_what_a_class_looks_at_is_computed_before_the_presets_and_nothing_twice(tmp_path):
    async def order() -> list[list[str]]:
        pool = Pool(1)
        jobs = SharedJobs(pool, SubjectStore(None, None, tmp_path), KeptAnswers(tmp_path))  # type: ignore[arg-type]
        ahead = Ahead(jobs, BackgroundJobs(pool), ["hat-function"])
        assert ahead.next_runs() == []  # no page was open
        for kappa in (70, 10):
            asked = run(1).model_copy(update={"state": moved(kappa=kappa)})
            assert jobs.recall(asked) is None
        seen = []
        while runs := ahead.next_runs():
            for each in runs:
                parts = [{"size": each.size and each.size.model_dump(), "length": 1}]
                jobs.keep(each, {"parts": parts}, b"x")
            seen += runs
        assert len({share(each).model_dump_json() for each in seen}) == len(seen)
        assert jobs.recall(asked) == "x"
        return [sorted(each.state.knobs) for each in seen if each.state.theorem != "hat-function"]

    knobs = asyncio.run(order())
    assert knobs[0] == ["kappa"] and ["kappa", "step"] in knobs


def test_one_computation_ahead_serves_all_sizes_of_the_class(tmp_path):
    async def sizes() -> list[float]:
        jobs = SharedJobs(Pool(1), SubjectStore(None, None, tmp_path), KeptAnswers(tmp_path))  # type: ignore[arg-type]
        for width in (400, 800, 800):
            jobs.recall(run(1, width))
        return [size["width"] for size in jobs.job_of(share(run(1, 800, seed=3))).order["sizes"]]

    assert sorted(asyncio.run(sizes())) == [400, 800]


# -- who may do what ------------------------------------------------------------------------------------


def test_files_and_audits_are_refused(hall):
    refused = hall.post("/api/subjects?name=net.npz", b"x")
    assert refused.status == 400 and "classroom" in refused.json["error"]["what"]
    with hall.tab() as tab:
        tab.say({"type": "audit", "n": 1, "model": "digits-mlp"})
        assert "classroom" in tab.until("audit-error")[-1]["error"]["what"]


def test_the_link_is_shown_to_those_who_are_in_and_every_check_stays(hall, site):
    page = hall.get("/join")
    assert page.status == 200 and "<svg" in page.body.decode() and LINK in page.body.decode()
    assert hall.get("/join", Cookie="").status == 401
    assert hall.get("/join", Host="evil.example").status == 421
    assert hall.post("/api/subjects?name=a.npz", b"x", Origin="http://evil.example").status == 403
    assert site.get("/join").status == 400  # a lab of one's own invites nobody
    assert hall.get("/api/catalogue").json["classroom"] is True
    assert site.get("/api/catalogue").json["classroom"] is False


def test_a_class_has_no_subject_of_the_command_line(capsys):
    assert run_command(["lab", "--classroom", "--on", "digits-mlp"]) == 2
    assert "no files" in capsys.readouterr().err
