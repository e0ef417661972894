"""Mutants' changes of texts, and the choice of mutants by name."""

from collections.abc import Callable

import pytest

from simeval.errors import DefinitionError
from simeval.extras.mutate.mutants import STANDARD, flipped, named, other_values, own, without_fact


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("I can help. Order A123 arrives on Friday. Anything else?", "I can help. Anything else?"),
        ("It costs 49.90 euros.\nPlease pay soon.", "Please pay soon."),
        ("Ihre Bestellung kommt am Freitag. Bis bald!", "Bis bald!"),
    ],
)
def test_the_first_sentence_with_a_value_is_dropped(answer: str, left: str) -> None:
    assert without_fact(answer) == left


def test_an_answer_of_nothing_but_a_fact_keeps_its_courtesy() -> None:
    left = without_fact("Order A123 arrives on Friday.")

    assert left
    assert "A123" not in left
    assert "Friday" not in left


@pytest.mark.parametrize("change", [without_fact, other_values, flipped])
def test_a_rule_that_finds_nothing_leaves_an_answer_as_it_is(change: Callable[[str], str | None]) -> None:
    assert change("Hello there, how are you?") is None


@pytest.mark.parametrize("answer", ["It costs 20 euros.", "It opens at 9:30.", "Returns take 30 days."])
def test_a_changed_value_differs(answer: str) -> None:
    made = other_values(answer)

    assert made not in (None, answer)


@pytest.mark.parametrize(
    ("answer", "contrary"),
    [
        ("You can return it.", "You can not return it."),
        ("You cannot return it.", "You can return it."),
        ("Shipping is free.", "Shipping is charged in full."),
        ("Sie dürfen es nicht öffnen.", "Sie dürfen es öffnen."),
        ("No puede devolver el pedido.", "puede devolver el pedido."),
    ],
)
def test_a_policy_becomes_its_contrary(answer: str, contrary: str) -> None:
    assert (flipped(answer) or answer) == contrary


def test_there_are_twelve_standard_mutants_with_a_name_each() -> None:
    assert len({each.name for each in STANDARD}) == 12
    assert named([]) == [*STANDARD]


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(DefinitionError, match="did you mean 'refuses'"):
        named(["refuse"])


def test_a_mutant_named_twice_is_refused() -> None:
    with pytest.raises(DefinitionError, match="twice"):
        named(["refuses", "refuses"])


def test_what_is_no_function_is_no_mutant() -> None:
    with pytest.raises(DefinitionError, match="a function of the answer"):
        own(3)  # type: ignore[arg-type]


def test_an_own_mutant_is_named_and_described_by_its_function() -> None:
    def shouts(answer: str) -> str:
        """Write capitals."""
        return answer.upper()

    [mutant] = named([shouts])

    assert (mutant.name, mutant.about) == ("shouts", "Write capitals")
