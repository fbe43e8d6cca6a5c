from orchestrator.doctor.finding import BOTH, Finding, Level, conclude
from orchestrator.doctor.text import render


def plain(_role, text):
    return text


def finding(identity, level, **more):
    return Finding(id=identity, level=level, summary=f"about {identity}", **more)


def test_a_line_for_each_and_what_to_do_below():
    examined = conclude(
        [
            finding("engine", Level.PROBLEM, detail="more", hint="start it", stops=("docker",)),
            finding("disk.store", Level.OK, detail="not shown", hint="nor this"),
            finding("index.x", Level.NOTE),
        ],
        BOTH,
    )
    assert render(examined, plain).splitlines() == [
        "! problem  engine      about engine",
        "                       more",
        "                       hint: start it",
        "✓ ok       disk.store  about disk.store",
        "• note     index.x     about index.x",
        "",
        "1 problem, 1 note; a run works in virtual environments, not in containers",
    ]


def test_nothing_wrong_and_nothing_possible():
    assert render(conclude([finding("a", Level.OK)], ["venv"]), plain).endswith(
        "\n\nnothing is wrong; a run works in virtual environments\n"
    )
    nothing = conclude([finding(name, Level.PROBLEM, stops=(name,)) for name in BOTH], BOTH)
    assert render(nothing, plain).endswith(
        "\n\n2 blockers; a run cannot work in containers or in virtual environments\n"
    )


def test_colours_are_around_words_and_do_not_move_what_follows():
    def style(role, text):
        return f"<{role}>{text}</>"

    first, second, *_ = render(
        conclude([finding("a", Level.OK), finding("b", Level.NOTE)], BOTH), style
    ).splitlines()
    assert first == "<ok>✓ ok</>       a  about a"
    assert second == "<unknown>• note</>     b  about b"
