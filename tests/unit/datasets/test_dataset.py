"""Datasets: kinds, columns, versions, splits, tags; the first mistake is named."""

import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.conversation import Conversation, Message
from simeval.datasets.dataset import Dataset, Example, Kind, check_dataset, decode_example, encode_example
from simeval.errors import DefinitionError
from tests.support.records import conversation
from tests.support.rows import said

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
SIDE = st.dictionaries(st.text(), JSON, max_size=3)


def dataset(*examples: Any, name: str = "orders", kind: Kind | None = None) -> Dataset:
    return check_dataset(lambda: examples, name=name, kind=kind)


def asked(*questions: str, **changes: Any) -> list[Example]:
    return [Example(inputs={"question": question}, outputs={"answer": "yes"}, **changes) for question in questions]


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (Example(inputs={"input": "hi"}, outputs={"output": "hello"}), "llm"),
        (Example(inputs={"input": "hi"}), "llm"),
        (Example(inputs={"input": "hi"}, outputs={"answer": "hello"}), "kv"),
        (Example(inputs={"input": [said("user", "hi")]}, outputs={"output": [said("assistant", "hello")]}), "chat"),
        (Example(inputs={"input": ["no", "messages"]}), "kv"),
        (Example(inputs={"input": 5}), "kv"),
        (Example(inputs={"question": "hi", "input": "x"}), "kv"),
        (Example(conversation=conversation("hi", "hello")), "chat"),
        (Example(conversation=conversation("hi", "hello"), outputs={"label": "greeting"}), "kv"),
    ],
)
def test_the_kind_is_that_of_the_first_example(example: Example, expected: Kind) -> None:
    assert dataset(example).kind == expected


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs", "message"),
    [
        ("llm", {"input": 5}, {}, "input is 5; kind llm takes input: a text"),
        ("llm", {"question": "hi"}, {}, r"the inputs are \['question'\]; kind llm takes input"),
        ("llm", {"input": "hi", "context": "x"}, {}, "input is 'hi'; kind llm takes input: a text, and nothing else"),
        ("llm", {"input": "hi"}, {"output": None}, "output is None; kind llm takes output: a text"),
        ("chat", {"input": "hi"}, {}, "input is 'hi'; kind chat takes input: a list of messages"),
        ("chat", {"input": [{"role": "user"}]}, {}, "kind chat takes input"),
        ("chat", {"input": []}, {}, r"input is \[\]"),
    ],
)
def test_what_is_not_of_the_kind_is_named(kind: Kind, inputs: Any, outputs: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=f"dataset 'orders', example 1: .*{message}"):
        dataset(Example(inputs=inputs, outputs=outputs), kind=kind)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(DefinitionError, match="found 'table'; use one of kv, llm, chat"):
        dataset(*asked("a"), kind="table")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (Example(inputs={"query": "c"}, outputs={"answer": "x"}), "inputs lack 'question' and also have 'query'"),
        (Example(inputs={"question": "c"}), "outputs lack 'answer'"),
        (Example(inputs={"question": "c", "n": 1}, outputs={"answer": "x"}), "inputs also have 'n'"),
        (Example(inputs={"question": "c", **{str(n): n for n in range(20)}}, outputs={"answer": "x"}), ".*, 12 more;"),
    ],
)
def test_the_first_example_with_other_columns_is_named(example: Example, message: str) -> None:
    with pytest.raises(DefinitionError, match=f"dataset 'orders', example 3: its {message}"):
        dataset(*asked("a", "b"), example, Example())


@pytest.mark.parametrize(
    ("example", "message"),
    [
        ({"question": "a"}, "example 1: found .*dataset_of"),
        (Example(inputs="a"), "example 1, inputs: found 'a'"),  # type: ignore[arg-type]
        (Example(inputs={1: "a"}), "example 1, inputs: found {1"),  # type: ignore[dict-item]
        (Example(inputs={"a": 1}, metadata=["a"]), "example 1, metadata"),  # type: ignore[arg-type]
        (Example(inputs={"a": 1}, tags="hard"), "example 1, tags: found 'hard'; give a tuple"),  # type: ignore[arg-type]
        (Example(outputs={"answer": "a"}), "neither inputs nor a conversation"),
    ],
)
def test_what_is_no_example_is_named(example: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        dataset(example)


def test_an_empty_dataset_is_refused() -> None:
    with pytest.raises(DefinitionError, match="dataset 'orders': it has no example"):
        dataset()


def test_a_place_of_its_own_is_asked_for_at_each_example() -> None:
    with pytest.raises(DefinitionError, match="page 2, row 2: its inputs"):
        check_dataset(lambda: [*asked("a"), Example(inputs={"b": 1})], name="x", where=lambda n: f"page {n}, row {n}")


@pytest.mark.parametrize(
    "changed",
    [
        asked("a", "c"),
        asked("b", "a"),
        asked("a", "b", split="test"),
        asked("a", "b", tags=("hard",)),
        asked("a", "b", metadata={"n": 1}),
        [*asked("a", example_id="x"), *asked("b")],
        asked("a", "b", conversation=conversation("hi", "hello")),
        asked("a", "b", "b"),
    ],
)
def test_the_version_is_another_for_other_content(changed: Sequence[Example]) -> None:
    assert dataset(*changed).version != dataset(*asked("a", "b")).version


@pytest.mark.parametrize(
    ("side", "name"),
    [
        ("inputs", "output"),
        ("inputs", "conversation"),
        ("inputs", "seed"),
        ("outputs", "conversation"),
        ("outputs", "seed"),
    ],
)
def test_a_column_that_scorers_could_never_see_is_refused(side: str, name: str) -> None:
    sides: dict[str, Any] = {"inputs": {"question": "why?"}, "outputs": {}}
    sides[side] = {**sides[side], name: 5}

    with pytest.raises(DefinitionError, match=f"'orders', example 1: the {side} have a column '{name}'"):
        dataset(Example(**sides))


def test_two_examples_of_one_id_are_named() -> None:
    examples = [*asked("a", example_id="x"), *asked("b", example_id="y"), *asked("c"), *asked("d", example_id="x")]

    with pytest.raises(DefinitionError, match="example 4: its id 'x' is also that of dataset 'orders', example 1"):
        dataset(*examples)


def test_ids_take_few_bytes_while_they_are_checked() -> None:
    def source() -> Iterator[Example]:
        return (Example(inputs=inputs, example_id=f"example {number}") for number in range(20_000))

    inputs = {"question": "why?"}
    tracemalloc.start()
    found = check_dataset(source, name="x")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found.size == 20_000
    assert peak < 20_000 * 24  # a set of their hashes would take 100 each


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"input": "why?", "topic": "orders"}, "why?"),
        ({"question": "why?"}, "why?"),
        ({"question": "why?", "topic": "orders"}, '{"question":"why?","topic":"orders"}'),
        ({"input": None, "topic": "orders"}, '{"input":null,"topic":"orders"}'),
        ({"input": {"a": 1}, "topic": "orders"}, '{"a":1}'),
        ({"input": [said("user", "hi"), said("user", "why?")], "topic": "orders"}, "why?"),
        ({"n": 5}, '{"n":5}'),
    ],
)
def test_what_an_app_is_told_is_the_input_where_there_is_one(inputs: Mapping[str, Any], text: str) -> None:
    assert Example(inputs=inputs).text == text


def test_the_version_depends_on_the_content_alone() -> None:
    there = Example(inputs={"a": 1, "b": [1, 2]}, outputs={"c": 1.0})
    same = Example(inputs={"b": (1, 2), "a": 1}, outputs={"c": 1.0})

    assert dataset(there).version == dataset(same, name="other", kind="kv").version
    assert dataset(there).version == "19cb5cf6f06bd6a6"


def test_a_dataset_reads_its_source_each_time() -> None:
    read: list[int] = []

    def source() -> Iterator[Example]:
        read.append(len(read))
        yield from asked("a", "b")

    found = check_dataset(source, name="x")

    assert [len(list(found)), len(list(found)), len(found)] == [2, 2, 2]
    assert len(read) == 3


def test_splits_tags_and_filters_give_datasets() -> None:
    examples = [
        *asked("a", split="train", tags=("hard",)),
        *asked("b", "c", split="test"),
        *asked("d", tags=("hard", "new")),
    ]
    found = dataset(*examples)

    parts = [
        found.split("test"),
        found.tagged("hard"),
        found.first(3),
        found.first(9),
        found.split("train").tagged("hard"),
        found.only(lambda example: example.inputs["question"] > "b"),
    ]

    texts = ["".join(example.text for example in part) for part in parts]
    assert texts == ["bc", "ad", "abc", "abcd", "a", "cd"]
    assert parts[3].version == found.version
    assert len({part.version for part in parts}) == 6
    assert {(part.name, part.kind) for part in parts} == {("orders", "kv")}


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (lambda found: found.split("tset"), "no example for split 'tset'; name one there is: 'test', 'train'"),
        (lambda found: found.split(""), "no example for split ''"),
        (lambda found: found.tagged("hard"), "no example for tag 'hard'; its examples have no tag"),
        (lambda found: found.only(lambda _: False, "the query"), "no example for the query"),
        (lambda found: found.first(0), "use a whole number of 1 or more"),
        (lambda found: found.first(-1), "use a whole number of 1 or more"),
    ],
)
def test_an_empty_part_is_refused(part: Callable[[Dataset], Dataset], message: str) -> None:
    found = dataset(*asked("a", split="train"), *asked("b", split="test"))

    with pytest.raises(DefinitionError, match=message):
        part(found)


def test_the_key_is_the_id_or_depends_on_what_is_asked_alone() -> None:
    example = Example(inputs={"a": 1, "b": 2}, outputs={"c": 1})
    same = Example(inputs={"b": 2, "a": 1}, outputs={"c": 2}, metadata={"n": 1}, split="test")
    logged = [Example(conversation=conversation("hi", answer)) for answer in ("hello", "bye")]

    assert replace(example, example_id="e-1").key == "e-1"
    assert example.key == same.key
    assert logged[0].key == logged[1].key != Example(conversation=conversation("ho", "hello")).key
    assert len({example.key, logged[0].key, Example(inputs={"a": 1}).key}) == 3


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (Example(inputs={"question": "why?"}), "why?"),
        (Example(inputs={"input": [said("system", "be kind"), said("user", "why?")]}), "why?"),
        (
            Example(inputs={"input": [said("user", [{"type": "text", "text": "look"}, {"type": "image_url"}])]}),
            "look\n[image]",
        ),
        (Example(inputs={"input": [said("user", None)]}), ""),
        (Example(inputs={"b": 1, "a": "é"}), '{"a":"é","b":1}'),
        (Example(conversation=conversation("hi", "hello", "bye")), "hi"),
        (Example(), ""),
    ],
)
def test_the_inputs_are_one_text(example: Example, expected: str) -> None:
    assert example.text == expected


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (
            Example(inputs={"q": "a", "x": 1}, outputs={"answer": "b", "x": 2}, metadata={"x": 3, "n": 4}),
            {"q": "a", "x": 1, "answer": "b", "n": 4},
        ),
        (Example(inputs={"q": "a"}, outputs={"answer": 5}), {"q": "a", "answer": 5, "reference": 5}),
        (Example(inputs={"q": "a"}, outputs={"output": "b", "why": "c"}), {"q": "a", "why": "c", "reference": "b"}),
        (
            Example(inputs={"q": "a"}, outputs={"why": "b"}, metadata={"reference": "a book"}),
            {"q": "a", "why": "b", "reference": "b"},
        ),
        (Example(inputs={"q": "a", "reference": "r"}, outputs={"b": "b"}), {"q": "a", "reference": "r", "b": "b"}),
        (
            Example(inputs={"input": [said("user", "hi")]}, outputs={"output": [said("assistant", "hello")]}),
            {"messages": [said("user", "hi")], "reference": "hello"},
        ),
        (Example(inputs={"seed": 1, "conversation": 2, "q": 3}, metadata={"output": 4}), {"q": 3}),
    ],
)  # fmt: skip
def test_columns_are_inputs_then_outputs_then_metadata(example: Example, expected: Any) -> None:
    assert example.columns() == expected


def test_the_columns_of_a_dataset_are_those_that_every_example_has() -> None:
    found = dataset(*asked("a", metadata={"n": 1, "more": 2}), *asked("b", metadata={"n": 1, "other": 3}))

    assert set(found.columns) == {"question", "answer", "reference", "n"}


def test_a_dataset_is_recorded_where_every_example_is() -> None:
    recorded = asked("a", conversation=conversation("a", "yes"))

    assert dataset(*recorded).recorded
    assert not dataset(*recorded, *asked("b")).recorded


@given(inputs=SIDE, outputs=SIDE, metadata=SIDE, key=st.text(), split=st.text(), tags=st.lists(st.text(), max_size=3))
def test_an_example_is_read_as_it_was_written(
    inputs: Any, outputs: Any, metadata: Any, key: str, split: str, tags: list[str]
) -> None:
    example = Example(inputs=inputs, outputs=outputs, metadata=metadata, example_id=key, split=split, tags=tuple(tags))

    assert decode_example(encode_example(example)) == example


def test_a_recorded_conversation_is_read_as_it_was_written() -> None:
    calls = ({"name": "track", "arguments": {"order": 7}},)
    spoken = Message(role="assistant", content="\ud83d", tool_calls=calls, metadata={"model": "m"})
    example = Example(conversation=Conversation(messages=(*conversation("hi").messages, spoken), ended="recorded"))

    assert decode_example(encode_example(example)) == example


def recorded(*answers: str, question: str = "q") -> list[Example]:
    talks = [conversation(f"{question}{n}", answer) for n, answer in enumerate(answers)]
    return [Example(conversation=talk) for talk in talks]


def test_what_was_answered_elsewhere_is_the_baseline_of_the_same_example() -> None:
    found = dataset(*recorded("new 0", "new 1")).against(dataset(*recorded("old 0", "old 1", "old 2")))

    assert [(each.conversation and each.conversation.output, each.columns()["baseline"]) for each in found] == [
        ("new 0", "old 0"),
        ("new 1", "old 1"),
    ]


def test_the_baseline_of_a_longer_conversation_is_all_that_was_said() -> None:
    [found] = dataset(Example(conversation=conversation("a", "b", "c", "d"), example_id="one")).against(
        dataset(Example(conversation=conversation("a", "B", "c", "D"), example_id="one"))
    )

    assert [each["content"] for each in found.columns()["baseline"]] == ["a", "B", "c", "D"]


def test_records_without_a_common_example_are_not_held_against_each_other() -> None:
    with pytest.raises(DefinitionError, match="no example in common"):
        dataset(*recorded("a")).against(dataset(*recorded("a", question="other ")))


def test_a_baseline_that_is_there_is_not_replaced() -> None:
    with pytest.raises(DefinitionError, match='a column "baseline" of its own'):
        dataset(*asked("q", metadata={"baseline": "mine"})).against(dataset(*recorded("a")))
