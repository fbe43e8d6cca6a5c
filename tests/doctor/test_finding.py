from hypothesis import given
from hypothesis import strategies as st

from orchestrator.doctor.finding import BOTH, Finding, Level, conclude


def finding(level=Level.PROBLEM, *, stops=()):
    return Finding(id="x", level=level, summary="x", stops=stops)


def test_what_stops_one_of_two_runtimes_is_a_problem():
    examined = conclude([finding(stops=("docker",)), finding(Level.OK)], BOTH)
    assert [one.level for one in examined.findings] == [Level.PROBLEM, Level.OK]
    assert examined.runtimes == {"docker": False, "venv": True}
    assert examined.usable


def test_what_stops_the_only_runtime_asked_for_is_a_blocker():
    examined = conclude([finding(stops=("docker",)), finding()], ["docker"])
    assert [one.level for one in examined.findings] == [Level.BLOCKER, Level.PROBLEM]
    assert not examined.usable


def test_two_problems_that_together_leave_nothing():
    examined = conclude([finding(stops=("docker",)), finding(stops=("venv",)), finding(Level.NOTE)], BOTH)
    assert [one.level for one in examined.findings] == [Level.BLOCKER, Level.BLOCKER, Level.NOTE]


def test_what_stops_a_runtime_that_nobody_asked_for():
    examined = conclude([finding(stops=("docker",))], ["venv"])
    assert examined.usable
    assert examined.findings[0].level is Level.PROBLEM


stops = st.lists(st.sampled_from(BOTH), unique=True).map(tuple)


@given(
    st.lists(st.tuples(st.sampled_from([Level.OK, Level.NOTE, Level.PROBLEM]), stops)),
    st.lists(st.sampled_from(BOTH), unique=True, min_size=1),
)
def test_there_is_a_blocker_where_and_only_where_nothing_can_run(seen, asked):
    examined = conclude([finding(level, stops=names) for level, names in seen], asked)
    works = [name for name in asked if not any(name in names for _, names in seen)]
    assert examined.usable is bool(works)
    assert any(one.level is Level.BLOCKER for one in examined.findings) is not bool(works)
    kept = [(one.level, one.stops) for one in examined.findings if one.level is not Level.BLOCKER]
    assert kept == [one for one in seen if works or not set(one[1]) & set(asked)]
