"""Seeds that depend on a seed and a path alone."""

from hypothesis import given
from hypothesis import strategies as st

from simeval.core import seeds

PATHS = st.lists(st.one_of(st.text(), st.integers()), max_size=4)


def test_a_seed_is_the_same_on_every_machine() -> None:
    # int.from_bytes(blake2b(b"(7, 'trial', 3)", digest_size=8).digest(), "big") >> 1
    assert seeds.derive(7, "trial", 3) == 291400083752733957


@given(st.integers(), PATHS)
def test_a_seed_fits_into_a_signed_64_bit_integer(seed: int, path: list[str | int]) -> None:
    assert 0 <= seeds.derive(seed, *path) < 2**63


@given(st.tuples(st.integers(), PATHS), st.tuples(st.integers(), PATHS))
def test_equal_paths_have_equal_seeds_and_distinct_paths_distinct_ones(
    one: tuple[int, list[str | int]], other: tuple[int, list[str | int]]
) -> None:
    same = one == other

    assert (seeds.derive(one[0], *one[1]) == seeds.derive(other[0], *other[1])) == same


def test_parts_of_a_path_do_not_run_together() -> None:
    paths: list[tuple[str | int, ...]] = [("a", "b"), ("ab",), ("a", "b", ""), ("1",), (1,), ("a, 'b'",), ("a'", "b")]

    assert len({seeds.derive(0, *path) for path in paths}) == len(paths)


def test_the_seeds_of_many_trials_are_distinct() -> None:
    derived = {seeds.derive(run, "scenario", index) for run in range(20) for index in range(1000)}

    assert len(derived) == 20_000


def test_a_generator_gives_the_same_numbers_again() -> None:
    one, again, other = seeds.generator(1, "a"), seeds.generator(1, "a"), seeds.generator(1, "b")

    drawn = [one.random() for _ in range(5)]
    assert drawn == [again.random() for _ in range(5)]
    assert drawn != [other.random() for _ in range(5)]


def test_drawing_from_one_generator_leaves_another_alone() -> None:
    one, other, expected = seeds.generator(1, "a"), seeds.generator(1, "b"), seeds.generator(1, "b")

    one.random()

    assert other.random() == expected.random()
